/*
 * A line of parts that drops the least important ones until it fits.
 */
#ifndef KS_TUI_DRAW_STRIP_H
#define KS_TUI_DRAW_STRIP_H

#include "tui/draw/glyphs.h"
#include "tui/draw/grid.h"

struct ks_part {
    const char *text; /* "": the part is not there. A bar has none */
    int role;
    int keep;        /* the lowest is dropped first; the highest stays and is cut */
    const char *gap; /* before it, unless it is the first on its side */
    bool right;      /* stands at the right end of the line */
    int bar;         /* columns of a progress bar in place of text, 0: none */
    double fraction; /* of the bar, 0..1 */
    int shrinks;     /* the columns to which it is cut before anything is dropped, 0: none */
    /* Out: where it was drawn; columns 0: dropped. */
    int x, columns;
};

/* Draws the parts in columns x..x+width-1 of row y. */
void ks_strip_draw(struct ks_grid *g, const struct ks_glyphs *glyphs, int x, int y, int width,
                   struct ks_part *parts, size_t n);

/* A progress bar of n columns. */
void ks_strip_bar(struct ks_grid *g, const struct ks_glyphs *glyphs, int x, int y, int n,
                  double fraction);

#endif

/*
 * The picture: a grid of cells that panes draw into and one file (term/term.c) puts on a terminal.
 *
 * A cell has text, the role it plays (theme.h gives roles their looks), and whether it lies in the
 * selected row. Whatever is drawn outside the grid is cut; a wide character that only half fits, or
 * is half overwritten, leaves spaces.
 *
 * A grid belongs to one thread.
 */
#ifndef KS_TUI_DRAW_GRID_H
#define KS_TUI_DRAW_GRID_H

#include "engine/base/bytes.h"
#include "engine/base/error.h"
#include "tui/draw/text.h"

struct ks_rect {
    int x, y, w, h; /* w or h 0: nothing */
};

bool ks_rect_has(struct ks_rect r, int x, int y);

struct ks_cell {
    uint32_t text[KS_CLUSTER_CODEPOINTS]; /* text[0] 0: the right half of the cell before */
    uint8_t role;                         /* enum ks_role */
    bool selected;
};

struct ks_grid {
    int width, height;
    bool ascii;            /* draw nothing beyond ASCII */
    struct ks_cell *cells; /* (height, width) */
};

/* Larger terminals are used up to this. */
#define KS_GRID_MAX_WIDTH  1000
#define KS_GRID_MAX_HEIGHT 500

/* Zero-initialize first, but for ascii. The content is lost. */
int ks_grid_resize(struct ks_grid *g, int width, int height, struct ks_error *err);
void ks_grid_finish(struct ks_grid *g);
void ks_grid_clear(struct ks_grid *g);

/* Draw text in columns x..x+columns-1 of row y; return the columns used. _part takes the first len
 * bytes, _fit ends a text that is too long in an ellipsis, _right aligns it to the right (and cuts
 * like _fit). */
int ks_grid_text(struct ks_grid *g, int x, int y, int columns, int role, const char *text);
int ks_grid_part(struct ks_grid *g, int x, int y, int columns, int role, const char *text,
                 size_t len);
int ks_grid_fit(struct ks_grid *g, int x, int y, int columns, int role, const char *text);
int ks_grid_right(struct ks_grid *g, int x, int y, int columns, int role, const char *text);

/* Draws text over as many rows as it needs, at most r.h; returns the rows used. */
int ks_grid_wrap(struct ks_grid *g, struct ks_rect r, int role, const char *text);

/* n copies of a one-column glyph, to the right and down. */
void ks_grid_repeat(struct ks_grid *g, int x, int y, int n, int role, const char *glyph);
void ks_grid_repeat_down(struct ks_grid *g, int x, int y, int n, int role, const char *glyph);

/* Gives the cells of r another role; or the look of the selected row. The text stays. */
void ks_grid_tint(struct ks_grid *g, struct ks_rect r, int role);
void ks_grid_select(struct ks_grid *g, struct ks_rect r);

/* The text alone, a line a row without the spaces at its end. */
int ks_grid_dump(const struct ks_grid *g, struct ks_buf *out, struct ks_error *err);

#endif

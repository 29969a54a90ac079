/*
 * What the screen draws beside letters, twice: in UTF-8, and in ASCII for everybody else. Each
 * glyph is one column wide in both, so the same drawing code makes both pictures.
 */
#ifndef KS_TUI_DRAW_GLYPHS_H
#define KS_TUI_DRAW_GLYPHS_H

#include <stdbool.h>

enum ks_glyph_id {
    KS_GLYPH_CORNER_TL,
    KS_GLYPH_CORNER_TR,
    KS_GLYPH_CORNER_BL,
    KS_GLYPH_CORNER_BR,
    KS_GLYPH_LINE,
    KS_GLYPH_SIDE,
    /* The same of the pane that has the keys. */
    KS_GLYPH_FOCUS_TL,
    KS_GLYPH_FOCUS_TR,
    KS_GLYPH_FOCUS_BL,
    KS_GLYPH_FOCUS_BR,
    KS_GLYPH_FOCUS_LINE,
    KS_GLYPH_FOCUS_SIDE,
    /* Marks. */
    KS_GLYPH_SELECTED,
    KS_GLYPH_FAILED,
    KS_GLYPH_DROPPED,
    KS_GLYPH_WAITING,
    KS_GLYPH_ASCENDING,
    KS_GLYPH_DESCENDING,
    KS_GLYPH_ABOVE, /* more lies above, below */
    KS_GLYPH_BELOW,
    KS_GLYPH_SEPARATOR,
    /* A run's states. */
    KS_GLYPH_PREPARING,
    KS_GLYPH_RUNNING,
    KS_GLYPH_PAUSED,
    KS_GLYPH_DONE,
    KS_GLYPH_STOPPED,
    KS_GLYPH_RUN_FAILED,
    /* Axes and bars. */
    KS_GLYPH_AXIS,
    KS_GLYPH_AXIS_TICK,
    KS_GLYPH_AXIS_CORNER,
    KS_GLYPH_AXIS_SIDE,
    KS_GLYPH_AXIS_SIDE_TICK,
    KS_GLYPH_QUANTILE,
    KS_GLYPH_PROGRESS,
    KS_GLYPH_PROGRESS_LEFT,
    KS_GLYPH_COUNT,
};

/* Bars rise in steps: bar[0] is empty, bar[bars - 1] full. Sparks of one series: low to high. */
#define KS_GLYPH_MAX_STEPS 9

struct ks_glyphs {
    bool ascii;
    const char *one[KS_GLYPH_COUNT];
    const char *bar[KS_GLYPH_MAX_STEPS];
    int bars;
    const char *spark[KS_GLYPH_MAX_STEPS];
    int sparks;
    const char *plus_minus, *delta; /* in column heads; the ASCII ones may be two wide */
};

const struct ks_glyphs *ks_glyphs_get(bool ascii);

#endif

#include "tui/draw/glyphs.h"

static const struct ks_glyphs utf8 = {
    .ascii = false,
    .one =
        {
            [KS_GLYPH_CORNER_TL] = "\u256d",     [KS_GLYPH_CORNER_TR] = "\u256e",
            [KS_GLYPH_CORNER_BL] = "\u2570",     [KS_GLYPH_CORNER_BR] = "\u256f",
            [KS_GLYPH_LINE] = "\u2500",          [KS_GLYPH_SIDE] = "\u2502",
            [KS_GLYPH_FOCUS_TL] = "\u250f",      [KS_GLYPH_FOCUS_TR] = "\u2513",
            [KS_GLYPH_FOCUS_BL] = "\u2517",      [KS_GLYPH_FOCUS_BR] = "\u251b",
            [KS_GLYPH_FOCUS_LINE] = "\u2501",    [KS_GLYPH_FOCUS_SIDE] = "\u2503",
            [KS_GLYPH_SELECTED] = "\u25b8",      [KS_GLYPH_FAILED] = "!",
            [KS_GLYPH_DROPPED] = "\u00d7",       [KS_GLYPH_WAITING] = "\u00b7",
            [KS_GLYPH_ASCENDING] = "\u25b4",     [KS_GLYPH_DESCENDING] = "\u25be",
            [KS_GLYPH_ABOVE] = "\u2191",         [KS_GLYPH_BELOW] = "\u2193",
            [KS_GLYPH_SEPARATOR] = "\u2502",     [KS_GLYPH_PREPARING] = "\u25cc",
            [KS_GLYPH_RUNNING] = "\u25cf",       [KS_GLYPH_PAUSED] = "\u2016",
            [KS_GLYPH_DONE] = "\u2713",          [KS_GLYPH_STOPPED] = "\u25a0",
            [KS_GLYPH_RUN_FAILED] = "\u2717",    [KS_GLYPH_AXIS] = "\u2500",
            [KS_GLYPH_AXIS_TICK] = "\u252c",     [KS_GLYPH_AXIS_CORNER] = "\u2514",
            [KS_GLYPH_AXIS_SIDE] = "\u2502",     [KS_GLYPH_AXIS_SIDE_TICK] = "\u2524",
            [KS_GLYPH_QUANTILE] = "\u25b4",      [KS_GLYPH_PROGRESS] = "\u2501",
            [KS_GLYPH_PROGRESS_LEFT] = "\u2500",
        },
    .bar = {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"},
    .bars = 9,
    .spark = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586",
              "\u2587"}, /* never full, so that rows stay apart */
    .sparks = 7,
    .plus_minus = "\u00b1",
    .delta = "\u0394",
};

static const struct ks_glyphs ascii = {
    .ascii = true,
    .one =
        {
            [KS_GLYPH_CORNER_TL] = "+",     [KS_GLYPH_CORNER_TR] = "+",
            [KS_GLYPH_CORNER_BL] = "+",     [KS_GLYPH_CORNER_BR] = "+",
            [KS_GLYPH_LINE] = "-",          [KS_GLYPH_SIDE] = "|",
            [KS_GLYPH_FOCUS_TL] = "+",      [KS_GLYPH_FOCUS_TR] = "+",
            [KS_GLYPH_FOCUS_BL] = "+",      [KS_GLYPH_FOCUS_BR] = "+",
            [KS_GLYPH_FOCUS_LINE] = "=",    [KS_GLYPH_FOCUS_SIDE] = "|",
            [KS_GLYPH_SELECTED] = ">",      [KS_GLYPH_FAILED] = "!",
            [KS_GLYPH_DROPPED] = "x",       [KS_GLYPH_WAITING] = ".",
            [KS_GLYPH_ASCENDING] = "^",     [KS_GLYPH_DESCENDING] = "v",
            [KS_GLYPH_ABOVE] = "^",         [KS_GLYPH_BELOW] = "v",
            [KS_GLYPH_SEPARATOR] = "|",     [KS_GLYPH_PREPARING] = "~",
            [KS_GLYPH_RUNNING] = "*",       [KS_GLYPH_PAUSED] = "=",
            [KS_GLYPH_DONE] = "+",          [KS_GLYPH_STOPPED] = "#",
            [KS_GLYPH_RUN_FAILED] = "!",    [KS_GLYPH_AXIS] = "-",
            [KS_GLYPH_AXIS_TICK] = "+",     [KS_GLYPH_AXIS_CORNER] = "+",
            [KS_GLYPH_AXIS_SIDE] = "|",     [KS_GLYPH_AXIS_SIDE_TICK] = "+",
            [KS_GLYPH_QUANTILE] = "^",      [KS_GLYPH_PROGRESS] = "#",
            [KS_GLYPH_PROGRESS_LEFT] = ".",
        },
    .bar = {" ", ".", ":", "#"},
    .bars = 4,
    .spark = {"_", ".", ":", "-", "=", "+", "*", "#"},
    .sparks = 8,
    .plus_minus = "+-",
    .delta = "d",
};

const struct ks_glyphs *ks_glyphs_get(bool want_ascii)
{
    return want_ascii ? &ascii : &utf8;
}

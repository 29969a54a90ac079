/*
 * Roles and looks. Panes say what a cell means; a theme says how that looks. A theme gives every
 * role a colour out of the 256 of xterm's table, one of the first 16 for terminals with fewer, and
 * attributes that stand alone where there is no colour at all. The background is the terminal's.
 *
 * No meaning rests on colour: whatever a role tells is also a symbol or a word.
 */
#ifndef KS_TUI_DRAW_THEME_H
#define KS_TUI_DRAW_THEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ks_role {
    KS_ROLE_TEXT,
    KS_ROLE_DIM, /* there, but not what one looks at first */
    KS_ROLE_BORDER,
    KS_ROLE_BORDER_FOCUS,
    KS_ROLE_TITLE,
    KS_ROLE_TITLE_FOCUS,
    KS_ROLE_PROGRAM,
    KS_ROLE_COLUMN_HEAD,
    KS_ROLE_COLUMN_SORTED,
    KS_ROLE_REFERENCE,
    KS_ROLE_BROKEN, /* an arm's failure */
    KS_ROLE_TREND,
    KS_ROLE_BAR,
    KS_ROLE_BAR_TAIL, /* past p99 */
    KS_ROLE_AXIS,
    KS_ROLE_QUANTILE,
    KS_ROLE_LABEL,
    KS_ROLE_PROGRESS,
    KS_ROLE_PROGRESS_LEFT,
    KS_ROLE_PREPARING,
    KS_ROLE_RUNNING,
    KS_ROLE_PAUSED,
    KS_ROLE_DONE,
    KS_ROLE_STOPPED,
    KS_ROLE_FAILED,
    KS_ROLE_FROZEN, /* the big PAUSED */
    KS_ROLE_LOG_INFO,
    KS_ROLE_LOG_WARNING,
    KS_ROLE_LOG_ERROR,
    KS_ROLE_KEY,
    KS_ROLE_HINT,
    KS_ROLE_PROMPT,
    KS_ROLE_NOTICE,
    KS_ROLE_COUNT,
};

enum {
    KS_LOOK_BOLD = 1,
    KS_LOOK_FAINT = 2,
    KS_LOOK_REVERSE = 4,
    KS_LOOK_UNDERLINE = 8,
};

#define KS_COLOUR_DEFAULT (-1)

struct ks_look {
    int16_t colour;    /* 0..255, or KS_COLOUR_DEFAULT */
    int16_t colour_16; /* 0..15, or KS_COLOUR_DEFAULT */
    uint8_t attributes;
    bool given; /* every role of every theme says so itself */
};

struct ks_theme {
    const char *name;
    struct ks_look looks[KS_ROLE_COUNT];
    int16_t selected, selected_16; /* background of the selected row */
    uint8_t selected_attributes;   /* added where there is no background */
};

/* By name, NULL where there is none. */
const struct ks_theme *ks_theme_find(const char *name);
/* The themes in the order of the help; NULL past the end. */
const struct ks_theme *ks_theme_at(size_t i);

#endif

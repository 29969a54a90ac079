/*
 * Where things are: a pure function of the terminal's size and what is zoomed.
 *
 * The rectangles that are there tile the screen: each lies inside, is not empty, and no two
 * overlap. What has no room is dropped (w = h = 0), first the second header line and the log, last
 * of all the arms; at every size from 1x1 on there is at least one pane.
 */
#ifndef KS_TUI_SCREEN_LAYOUT_H
#define KS_TUI_SCREEN_LAYOUT_H

#include "tui/draw/grid.h"

enum ks_pane_id { KS_PANE_ARMS, KS_PANE_HISTOGRAM, KS_PANE_LOG, KS_PANE_COUNT };

struct ks_layout_wish {
    int width, height;
    bool zoomed;
    enum ks_pane_id zoom; /* where zoomed */
    bool preparing;       /* there is no histogram yet: the log takes its place */
    int arm_rows;         /* lines the arms pane could fill, without its border */
    int notice_rows;      /* lines of a message over the panes, 0: none */
};

struct ks_layout {
    struct ks_rect header; /* 0..2 rows at the top */
    struct ks_rect notice;
    struct ks_rect panes[KS_PANE_COUNT];
    struct ks_rect hints; /* the last row */
};

struct ks_layout ks_layout_make(struct ks_layout_wish wish);

/* From this size on a pane has a border, and its content is one smaller on each side. */
#define KS_BORDER_MIN_WIDTH  12
#define KS_BORDER_MIN_HEIGHT 4

#endif

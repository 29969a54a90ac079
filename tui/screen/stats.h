/*
 * An arm's numbers beside its histogram.
 */
#ifndef KS_TUI_SCREEN_STATS_H
#define KS_TUI_SCREEN_STATS_H

#include "tui/screen/axis.h"
#include "tui/screen/screen.h"

/* A line a number in r; where there are not enough rows the less important ones are left out. What
 * lies to the left of the axis is counted as well. */
void ks_stats_draw(const struct ks_screen *s, struct ks_grid *g, struct ks_rect r,
                   const struct ks_numbers *numbers, const struct ks_axis *axis);

/* The most important ones in one line. */
void ks_stats_draw_line(struct ks_grid *g, struct ks_rect r, const struct ks_numbers *n);

#endif

/*
 * How the bins of a KLD histogram become columns of a chart. Bins are never split over columns, so
 * that a bar's height is a count and nothing else.
 *
 * Pure functions; any thread.
 */
#ifndef KS_TUI_SCREEN_AXIS_H
#define KS_TUI_SCREEN_AXIS_H

#include <stdint.h>

#include "engine/engine.h"

struct ks_axis {
    int low, high;       /* the powers of ten at the ends */
    int bins_per_column; /* one of these is 1 */
    int columns_per_bin;
    int columns; /* of the whole axis, at most the width asked for */
};

/* An axis of at least the decades low..high (within the histogram's), as wide as width allows. */
struct ks_axis ks_axis_make(int low, int high, int width);

/* Positions above 0 that lie to the left of the axis. */
uint64_t ks_axis_below(const struct ks_axis *axis, const struct ks_numbers *numbers);
/* The count that column shows. */
uint64_t ks_axis_count(const struct ks_axis *axis, const uint64_t *hist, int column);
/* The column that holds a value, -1 below the axis, `columns` above it. 0 is below. */
int ks_axis_column(const struct ks_axis *axis, double nats);
/* The column in which a power of ten begins. */
int ks_axis_decade(const struct ks_axis *axis, int power);
/* Every how many decades there is room for a label of four columns. */
int ks_axis_label_step(const struct ks_axis *axis);

/* The smallest number that is n or more and easy to read: 1, 1.5, 2, 3, 4, 5, 6, 8 by powers of
 * ten, and whole. */
uint64_t ks_axis_nice(uint64_t n);

#endif

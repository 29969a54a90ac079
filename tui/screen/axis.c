#include "tui/screen/axis.h"

#include <math.h>

#define BINS_A_DECADE 10
#define MAX_BIN_WIDTH 3
#define HIGHEST       (KS_HIST_MIN + KS_HIST_BINS / BINS_A_DECADE)

static int columns_of(const struct ks_axis *axis, int decades)
{
    return decades * BINS_A_DECADE * axis->columns_per_bin / axis->bins_per_column;
}

/* All columns of so many decades; the last one may have fewer bins than the others. */
static int columns_for(const struct ks_axis *axis, int decades)
{
    int bins = decades * BINS_A_DECADE, each = axis->bins_per_column;
    return (bins + each - 1) / each * axis->columns_per_bin;
}

/* The finest scale at which the decades fit. */
static void choose_scale(struct ks_axis *axis, int decades, int width)
{
    static const int coarse[] = {1, 2, 3, 4, 5, 10, 20, 40, 80, 160};
    int bins = decades * BINS_A_DECADE;
    axis->bins_per_column = axis->columns_per_bin = 1;
    if (width >= bins) {
        int times = width / bins;
        axis->columns_per_bin = times < MAX_BIN_WIDTH ? times : MAX_BIN_WIDTH;
        return;
    }
    for (int i = 0; i < 10 && bins > width * axis->bins_per_column; i++)
        axis->bins_per_column = coarse[i];
}

/* Empty decades on both sides, as far as there is room and the histogram reaches. */
static void extend(struct ks_axis *axis, int width)
{
    for (int turn = 0; columns_for(axis, axis->high - axis->low + 1) <= width; turn++) {
        bool can_rise = axis->high<HIGHEST, can_fall = axis->low> KS_HIST_MIN;
        if (!can_rise && !can_fall)
            return;
        if (can_rise && (turn % 2 == 0 || !can_fall))
            axis->high++;
        else
            axis->low--;
    }
}

struct ks_axis ks_axis_make(int low, int high, int width)
{
    struct ks_axis axis = {.low = low < KS_HIST_MIN ? KS_HIST_MIN : low,
                           .high = high > HIGHEST ? HIGHEST : high};
    choose_scale(&axis, axis.high - axis.low, width);
    if (axis.bins_per_column <= BINS_A_DECADE)
        extend(&axis, width);
    axis.columns = columns_for(&axis, axis.high - axis.low);
    return axis;
}

uint64_t ks_axis_below(const struct ks_axis *axis, const struct ks_numbers *numbers)
{
    uint64_t count = numbers->hist_below;
    for (int b = 0; b < (axis->low - KS_HIST_MIN) * BINS_A_DECADE; b++)
        count += numbers->hist[b];
    return count;
}

uint64_t ks_axis_count(const struct ks_axis *axis, const uint64_t *hist, int column)
{
    int from = (axis->low - KS_HIST_MIN) * BINS_A_DECADE +
               column / axis->columns_per_bin * axis->bins_per_column;
    int end = (axis->high - KS_HIST_MIN) * BINS_A_DECADE;
    uint64_t count = 0;
    for (int b = from; b < from + axis->bins_per_column && b < end; b++)
        count += hist[b];
    return count;
}

int ks_axis_column(const struct ks_axis *axis, double nats)
{
    if (!(nats > 0))
        return -1;
    double bin = floor((log10(nats) - axis->low) * BINS_A_DECADE);
    if (bin < 0)
        return -1;
    if (bin >= (axis->high - axis->low) * BINS_A_DECADE)
        return axis->columns;
    int column = (int)bin / axis->bins_per_column * axis->columns_per_bin;
    return column < axis->columns ? column : axis->columns;
}

int ks_axis_decade(const struct ks_axis *axis, int power)
{
    return columns_of(axis, power - axis->low);
}

int ks_axis_label_step(const struct ks_axis *axis)
{
    int step = 1;
    while (columns_of(axis, step) < 5 && step < 16)
        step++;
    return step;
}

uint64_t ks_axis_nice(uint64_t n)
{
    static const unsigned tenths[] = {10, 15, 20, 30, 40, 50, 60, 80};
    for (uint64_t power = 1; power <= UINT64_MAX / 100; power *= 10) {
        for (unsigned i = 0; i < 8; i++) {
            uint64_t nice = tenths[i] * power;
            if (nice % 10 == 0 && nice / 10 >= n)
                return nice / 10;
        }
    }
    return n;
}

#include <math.h>

#include "engine/kernels/elementary/lanes.h"
#include "engine/kernels/elementary/math.h"
#include "engine/ruler/rows.h"

static size_t find_above(const float *row, size_t from, size_t n, float most)
{
    while (from < n && row[from] <= most)
        from++;
    return from;
}

static size_t count_above(const float *row, size_t n, float least, bool or_equal)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += or_equal ? row[i] >= least : row[i] > least;
    return count;
}

static struct ks_reference_sums reference(const float *row, size_t n, float max)
{
    double exp[KS_LANES] = {0}, exp_x[KS_LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        size_t l = i % KS_LANES;
        double x = (double)row[i] - (double)max, p = ks_exp(x);
        exp[l] += p;
        if (p > 0)
            exp_x[l] = fma(p, x, exp_x[l]);
    }
    return (struct ks_reference_sums){ks_lanes_sum_f64(exp), ks_lanes_sum_f64(exp_x)};
}

static struct ks_arm_sums arm(const float *reference_row, float max_r, const float *arm_row,
                              float max_a, size_t n)
{
    double exp[KS_LANES] = {0}, forward[KS_LANES] = {0}, reverse[KS_LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        size_t l = i % KS_LANES;
        double x = (double)reference_row[i] - (double)max_r, p = ks_exp(x);
        double y = (double)arm_row[i] - (double)max_a, q = ks_exp(y);
        double d = x - y;
        exp[l] += q;
        if (p > 0)
            forward[l] = fma(p, d, forward[l]);
        if (q > 0)
            reverse[l] = fma(q, d, reverse[l]);
    }
    return (struct ks_arm_sums){ks_lanes_sum_f64(exp), ks_lanes_sum_f64(forward),
                                ks_lanes_sum_f64(reverse)};
}

const struct ks_rows ks_rows_scalar = {find_above, count_above, reference, arm};

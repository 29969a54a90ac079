/*
 * Exact ranks of a growing pile of doubles, cheap enough to ask ten times a second.
 *
 * A pile keeps its values as sorted runs whose lengths at least double from the newest to the
 * oldest: adding a sorted batch merges it with the short runs at the end, so each value is moved
 * O(log n) times in all and there are never more than about log2 n runs. A rank is found by
 * bisecting all runs of all piles at once, in O(log^2 n) reads and without moving anything. Memory
 * is at most 18 bytes a value.
 *
 * A pile belongs to one thread at a time; reading piles that nobody adds to is safe from any.
 */
#ifndef KS_ENGINE_RULER_ORDER_H
#define KS_ENGINE_RULER_ORDER_H

#include <stddef.h>

#include "engine/base/error.h"

#define KS_ORDER_RUNS 64 /* lengths double, so this is enough for any size_t */

/* Zero-initialize. Private to order.c but for `n`. */
struct ks_order {
    double *values;
    size_t n, cap;
    size_t starts[KS_ORDER_RUNS + 1]; /* of each run; one more while a new run is merged in */
    int n_runs;
    double *scratch; /* (cap / 2 + 1): the shorter side of a merge */
};

/* Makes room for `more` values, so that ks_order_add cannot fail. */
int ks_order_reserve(struct ks_order *o, size_t more, struct ks_error *err);
/* Sorts values[n] where they lie and adds them. No NaN; room was reserved. */
void ks_order_add(struct ks_order *o, double *values, size_t n);
void ks_order_finish(struct ks_order *o);

/* out[i] = the nearest-rank quantile q[i] of all values in piles[n_piles] together: rank ceil(q n)
 * clamped to 1..n; +inf sorts last. There is at least one value. */
int ks_order_quantiles(const struct ks_order *piles, size_t n_piles, const double *q, size_t n_q,
                       double *out, struct ks_error *err);

/* ceil(q n) clamped to 1..n, n > 0. */
size_t ks_nearest_rank(double q, size_t n);

#endif

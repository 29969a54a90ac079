#include "engine/ruler/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/ruler/tally.h"

size_t ks_nearest_rank(double q, size_t n)
{
    double rank = ceil(q * (double)n);
    if (!(rank > 1))
        return 1;
    return rank >= (double)n ? n : (size_t)rank;
}

/* ------------------------------------------------------------------ one array */

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

/* Quickselect with a three-way partition: most positions of a faithful arm are equal to 0, which
 * would make a two-way one quadratic. The pivots come from a fixed seed. */
double ks_quantile(double *values, size_t n, double q)
{
    size_t low = 0, high = n, at = ks_nearest_rank(q, n) - 1;
    uint64_t seed = n;
    while (high - low > 1) {
        double pivot = values[low + ks_random_below(&seed, high - low)];
        size_t below = low, above = high;
        for (size_t i = low; i < above;) {
            if (values[i] < pivot)
                swap(&values[i++], &values[below++]);
            else if (values[i] > pivot)
                swap(&values[i], &values[--above]);
            else
                i++;
        }
        if (at < below)
            high = below;
        else if (at >= above)
            low = above;
        else
            return pivot;
    }
    return values[at];
}

/* ------------------------------------------------------------------ adding */

int ks_order_reserve(struct ks_order *o, size_t more, struct ks_error *err)
{
    size_t need;
    if (__builtin_add_overflow(o->n, more, &need) || need > SIZE_MAX / sizeof(double) / 2)
        return ks_fail_memory(err, UINT64_MAX, "the divergences of an arm");
    if (need <= o->cap)
        return 0;
    size_t cap = o->cap + o->cap / 2;
    if (cap < need)
        cap = need;
    double *values = realloc(o->values, cap * sizeof *values);
    if (!values)
        return ks_fail_memory(err, cap * sizeof *values, "the divergences of an arm");
    o->values = values;
    double *scratch = realloc(o->scratch, (cap / 2 + 1) * sizeof *scratch);
    if (!scratch)
        return ks_fail_memory(err, (cap / 2 + 1) * sizeof *scratch, "sorting divergences");
    o->scratch = scratch;
    o->cap = cap;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Merges a[na] and the b[nb] that follows it, through a copy of the shorter one. */
static void merge(double *a, size_t na, size_t nb, double *scratch)
{
    double *b = a + na, *to;
    if (nb <= na) {
        memcpy(scratch, b, nb * sizeof *b);
        to = b + nb;
        while (nb > 0)
            *--to = na > 0 && a[na - 1] > scratch[nb - 1] ? a[--na] : scratch[--nb];
    } else {
        memcpy(scratch, a, na * sizeof *a);
        to = a;
        const double *from = scratch, *end = scratch + na, *b_end = b + nb;
        while (from < end)
            *to++ = b < b_end && *b < *from ? *b++ : *from++;
    }
}

void ks_order_add(struct ks_order *o, double *values, size_t n)
{
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, ascending);
    memcpy(o->values + o->n, values, n * sizeof *values);
    o->starts[o->n_runs++] = o->n;
    o->n += n;
    while (o->n_runs > 1) {
        size_t *at = &o->starts[o->n_runs - 2];
        size_t before = at[1] - at[0], last = o->n - at[1];
        if (before >= 2 * last)
            break;
        merge(o->values + at[0], before, last, o->scratch);
        o->n_runs--;
    }
}

void ks_order_finish(struct ks_order *o)
{
    free(o->values);
    free(o->scratch);
    *o = (struct ks_order){0};
}

/* ------------------------------------------------------------------ asking */

/* What is still in question of a run: values[low..high). */
struct range {
    const double *values;
    size_t length, low, high;
    size_t below, up_to; /* how far the pivot reaches: values < pivot, values <= pivot */
};

static size_t first_not_below(const struct range *r, double pivot)
{
    size_t low = r->low, high = r->high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->values[middle] < pivot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t first_above(const struct range *r, double pivot)
{
    size_t low = r->below, high = r->high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->values[middle] <= pivot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct range *longest(const struct range *ranges, size_t n)
{
    const struct range *best = ranges;
    for (size_t i = 1; i < n; i++) {
        if (ranges[i].high - ranges[i].low > best->high - best->low)
            best = &ranges[i];
    }
    return best;
}

/* The value with `rank` others before it. Each round halves the longest range at least. */
static double select_rank(struct range *ranges, size_t n, size_t rank)
{
    for (size_t i = 0; i < n; i++) {
        ranges[i].low = 0;
        ranges[i].high = ranges[i].length;
    }
    for (;;) {
        const struct range *r = longest(ranges, n);
        double pivot = r->values[r->low + (r->high - r->low) / 2];
        size_t below = 0, equal = 0;
        for (size_t i = 0; i < n; i++) {
            ranges[i].below = first_not_below(&ranges[i], pivot);
            ranges[i].up_to = first_above(&ranges[i], pivot);
            below += ranges[i].below - ranges[i].low;
            equal += ranges[i].up_to - ranges[i].below;
        }
        if (rank >= below && rank < below + equal)
            return pivot;
        bool left = rank < below;
        for (size_t i = 0; i < n; i++) {
            if (left)
                ranges[i].high = ranges[i].below;
            else
                ranges[i].low = ranges[i].up_to;
        }
        if (!left)
            rank -= below + equal;
    }
}

int ks_order_quantiles(const struct ks_order *piles, size_t n_piles, const double *q, size_t n_q,
                       double *out, struct ks_error *err)
{
    size_t n_runs = 0, n = 0, at = 0;
    for (size_t p = 0; p < n_piles; p++) {
        n_runs += (size_t)piles[p].n_runs;
        n += piles[p].n;
    }
    struct range *ranges = calloc(n_runs, sizeof *ranges);
    if (!ranges)
        return ks_fail_memory(err, n_runs * sizeof *ranges, "finding quantiles");
    for (size_t p = 0; p < n_piles; p++) {
        const struct ks_order *o = &piles[p];
        for (int r = 0; r < o->n_runs; r++) {
            size_t end = r + 1 < o->n_runs ? o->starts[r + 1] : o->n;
            ranges[at++] =
                (struct range){.values = o->values + o->starts[r], .length = end - o->starts[r]};
        }
    }
    for (size_t i = 0; i < n_q; i++)
        out[i] = select_rank(ranges, n_runs, ks_nearest_rank(q[i], n) - 1);
    free(ranges);
    return 0;
}

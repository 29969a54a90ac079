#include "engine/ruler/ruler.h"

#include <float.h>
#include <math.h>

#include "engine/kernels/elementary/math.h"
#include "engine/ruler/rows.h"

/* ------------------------------------------------------------------ the largest k */

/* Largest first, ties to the lowest index. */
struct top {
    float value[KS_TOP_MAX];
    int32_t index[KS_TOP_MAX];
    int n;
};

/* Called with rising indices, so an equal value goes behind those that are there. */
static void insert(struct top *top, int k, float value, size_t index)
{
    int at = top->n < k ? top->n++ : k - 1;
    while (at > 0 && value > top->value[at - 1]) {
        top->value[at] = top->value[at - 1];
        top->index[at] = top->index[at - 1];
        at--;
    }
    top->value[at] = value;
    top->index[at] = (int32_t)index;
}

/*
 * One pass finds the maximum, the top k and what makes a row no measurement: once k values are
 * known, a value that is not <= the k-th is a new one of the top, +inf or NaN, and there are only
 * about k ln(n/k) of the first kind in a row in random order.
 */
static bool find_top(const struct ks_rows *rows, const float *row, size_t n, int k, struct top *top)
{
    top->n = 0;
    size_t first = n < (size_t)k ? n : (size_t)k;
    for (size_t i = 0; i < first; i++) {
        if (!(row[i] <= FLT_MAX))
            return false;
        insert(top, k, row[i], i);
    }
    for (size_t i = first;; i++) {
        i = rows->find_above(row, i, n, top->value[top->n - 1]);
        if (i == n)
            return top->value[0] >= -FLT_MAX;
        if (!(row[i] <= FLT_MAX))
            return false;
        insert(top, k, row[i], i);
    }
}

static int32_t rank_of(const struct ks_rows *rows, const float *row, size_t n,
                       const struct top *top, int32_t target)
{
    for (int i = 0; i < top->n; i++) {
        if (top->index[i] == target)
            return i + 1;
    }
    size_t t = (size_t)target;
    size_t before = rows->count_above(row, t, row[t], true) +
                    rows->count_above(row + t + 1, n - t - 1, row[t], false);
    return (int32_t)(before + 1);
}

/* ------------------------------------------------------------------ a position */

/* The first of a top list with their log-probabilities. */
static void show_top(const struct top *top, double lse, int32_t *index, float *logprob)
{
    for (int i = 0; i < top->n && i < KS_TOP_SHOWN; i++) {
        index[i] = top->index[i];
        logprob[i] = (float)((double)top->value[i] - (double)top->value[0] - lse);
    }
}

static int check(enum ks_isa isa, size_t vocab, int32_t target, int k, struct ks_error *err)
{
    if (!ks_rows(isa))
        return ks_fail(err, KS_INTERNAL, "the ruler has no code for the CPU path %d", (int)isa);
    if (k < 1 || k > KS_TOP_MAX)
        return ks_fail(err, KS_BAD_INPUT, "top_k is %d; it can be 1 to %d", k, KS_TOP_MAX);
    if (vocab == 0 || vocab > INT32_MAX)
        return ks_fail(err, KS_BAD_INPUT, "a row of logits is %zu wide", vocab);
    if (target < 0 || (size_t)target >= vocab)
        return ks_fail(err, KS_BAD_INPUT,
                       "the next token is %d, but a row of logits has the tokens 0 to %zu", target,
                       vocab - 1);
    return 0;
}

int ks_ruler_reference(enum ks_isa isa, const float *row, size_t vocab, int32_t target, int k,
                       struct ks_ref_row *out, struct ks_error *err)
{
    if (check(isa, vocab, target, k, err))
        return -1;
    const struct ks_rows *rows = ks_rows(isa);
    struct top top;
    if (!find_top(rows, row, vocab, k, &top)) {
        *out =
            (struct ks_ref_row){.max = NAN, .sum = NAN, .lse = NAN, .logprob = NAN, .entropy = NAN};
        return 0;
    }
    struct ks_reference_sums sums = rows->reference(row, vocab, top.value[0]);
    double lse = ks_log(sums.exp);
    *out = (struct ks_ref_row){
        .measurement = true,
        .max = (double)top.value[0],
        .sum = sums.exp,
        .lse = lse,
        .logprob = (double)row[target] - (double)top.value[0] - lse,
        .entropy = lse - sums.exp_x / sums.exp,
        .n_top = top.n,
        .rank = rank_of(rows, row, vocab, &top, target),
    };
    for (int i = 0; i < top.n; i++)
        out->top[i] = top.index[i];
    show_top(&top, lse, out->top, out->top_logprob);
    return 0;
}

static int32_t overlap(const struct ks_ref_row *ref, const struct top *top)
{
    int32_t common = 0;
    for (int i = 0; i < ref->n_top; i++) {
        for (int j = 0; j < top->n; j++)
            common += ref->top[i] == top->index[j];
    }
    return common;
}

int ks_ruler_arm(enum ks_isa isa, const float *reference, size_t vocab,
                 const struct ks_ref_row *ref, const float *arm, size_t arm_vocab, int32_t target,
                 int k, struct ks_arm_row *out, struct ks_error *err)
{
    if (arm_vocab != vocab)
        return ks_fail(err, KS_BAD_INPUT,
                       "the reference's rows are %zu tokens wide, the arm's %zu: only models of "
                       "one vocabulary can be compared",
                       vocab, arm_vocab);
    if (check(isa, vocab, target, k, err))
        return -1;
    const struct ks_rows *rows = ks_rows(isa);
    struct top top;
    if (!ref->measurement || !find_top(rows, arm, vocab, k, &top)) {
        *out = (struct ks_arm_row){.kld = NAN, .reverse = NAN, .logprob = NAN};
        return 0;
    }
    if (top.n != ref->n_top)
        return ks_fail(err, KS_INTERNAL, "the reference has a top-%d, the arm a top-%d", ref->n_top,
                       top.n);
    struct ks_arm_sums sums = rows->arm(reference, (float)ref->max, arm, top.value[0], vocab);
    double lse = ks_log(sums.exp);
    *out = (struct ks_arm_row){
        .measurement = true,
        .kld = sums.forward / ref->sum + (lse - ref->lse),
        .reverse = (ref->lse - lse) - sums.reverse / sums.exp,
        .logprob = (double)arm[target] - (double)top.value[0] - lse,
        .rank = rank_of(rows, arm, vocab, &top, target),
        .overlap = overlap(ref, &top),
        .top1 = ref->top[0] == top.index[0],
    };
    show_top(&top, lse, out->top, out->top_logprob);
    return 0;
}

#include <math.h>
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/kernels/elementary/math.h"
#include "engine/ruler/tally_private.h"

struct ks_tally *ks_tally_create(size_t n_corpora, size_t n_documents_total, size_t n_positions_max,
                                 struct ks_error *err)
{
    struct ks_tally *t = calloc(1, sizeof *t);
    if (!t) {
        ks_fail_memory(err, sizeof *t, "a tally");
        return NULL;
    }
    t->n_corpora = n_corpora;
    t->n_positions_max = n_positions_max;
    t->by_document = n_documents_total > 1;
    t->corpora = calloc(n_corpora + 1, sizeof *t->corpora);
    t->klds = calloc(n_corpora + 1, sizeof *t->klds);
    if (!t->corpora || !t->klds) {
        ks_fail_memory(err, n_corpora * sizeof *t->klds, "a tally's corpora");
        ks_tally_destroy(t);
        return NULL;
    }
    return t;
}

void ks_tally_destroy(struct ks_tally *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->klds && i < t->n_corpora; i++)
        ks_order_finish(&t->klds[i]);
    free(t->corpora);
    free(t->klds);
    free(t->clusters);
    free(t->trend);
    free(t->window_klds);
    free(t);
}

size_t ks_tally_windows(const struct ks_tally *t)
{
    return t->n_windows;
}

/* ------------------------------------------------------------------ before a window is added */

static int check_window(const struct ks_tally *t, const struct ks_tally_window *w,
                        const struct ks_ref_row *ref, bool is_reference, size_t n,
                        struct ks_error *err)
{
    if (w->corpus >= t->n_corpora)
        return ks_fail(err, KS_INTERNAL, "window %zu is of corpus %u, but the tally has %zu",
                       t->n_windows, w->corpus, t->n_corpora);
    if (n > t->n_positions_max - t->n_positions)
        return ks_fail(err, KS_INTERNAL,
                       "window %zu has %zu positions, but only %zu of %zu are left to the tally",
                       t->n_windows, n, t->n_positions_max - t->n_positions, t->n_positions_max);
    if (t->n_windows > 0 && is_reference != t->is_reference)
        return ks_fail(err, KS_INTERNAL, "window %zu %s, unlike those before it", t->n_windows,
                       is_reference ? "has no rows of an arm" : "has rows of an arm");
    if (t->n_clusters > 0 && w->document < t->clusters[t->n_clusters - 1].document)
        return ks_fail(err, KS_INTERNAL, "window %zu is of document %u, after one of document %u",
                       t->n_windows, w->document, t->clusters[t->n_clusters - 1].document);
    int32_t n_top = t->n_top;
    for (size_t i = 0; i < n; i++) {
        if (!ref[i].measurement)
            continue;
        if (n_top != 0 && ref[i].n_top != n_top)
            return ks_fail(err, KS_INTERNAL, "window %zu has a top-%d among rows of top-%d",
                           t->n_windows, ref[i].n_top, n_top);
        n_top = ref[i].n_top;
    }
    return 0;
}

/* Everything that can fail, before anything is counted. */
static int make_room(struct ks_tally *t, uint32_t corpus, size_t n, struct ks_error *err)
{
    struct cluster *clusters =
        ks_grow(t->clusters, &t->cap_clusters, t->n_clusters, sizeof *clusters, "a tally", err);
    if (!clusters)
        return -1;
    t->clusters = clusters;
    float *trend = ks_grow(t->trend, &t->cap_windows, t->n_windows, sizeof *trend, "a tally", err);
    if (!trend)
        return -1;
    t->trend = trend;
    double *klds =
        ks_grow(t->window_klds, &t->cap_window_klds, n, sizeof *klds, "a window's KLDs", err);
    if (!klds)
        return -1;
    t->window_klds = klds;
    if (t->is_reference)
        return 0;
    return ks_order_reserve(&t->klds[corpus], n, err);
}

/* ------------------------------------------------------------------ counting */

/* 10^(KS_HIST_MIN + b / 10). */
static double bin_edge(int b)
{
    static const double decades[] = {1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5,
                                     1e-4,  1e-3,  1e-2,  1e-1, 1e0,  1e1,  1e2,  1e3};
    static const double tenths[] = {1.0,
                                    1.2589254117941673,
                                    1.5848931924611136,
                                    1.9952623149688795,
                                    2.5118864315095801,
                                    3.1622776601683795,
                                    3.9810717055349725,
                                    5.0118723362727229,
                                    6.3095734448019325,
                                    7.9432823472428150};
    _Static_assert(KS_HIST_MIN == -12 && KS_HIST_BINS == 160, "the decades above");
    return decades[b / 10] * tenths[b % 10];
}

static void count_bin(struct ks_tally *t, double kld)
{
    if (kld <= 0) {
        t->hist_zero++;
    } else if (kld < bin_edge(0)) {
        t->hist_below++;
    } else if (kld >= 1e4) {
        t->hist_above++;
    } else {
        int low = 0, high = KS_HIST_BINS; /* edge(low) <= kld < edge(high) */
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (kld < bin_edge(middle))
                high = middle;
            else
                low = middle;
        }
        t->hist[low]++;
    }
}

static void count_nonfinite(struct ks_tally *t, const struct ks_tally_window *w, size_t i)
{
    if (t->nonfinite++ > 0)
        return;
    t->nonfinite_document = w->document;
    t->nonfinite_offset = (uint32_t)w->offsets[i];
}

static void add_reference(struct sums *s, const struct ks_ref_row *ref)
{
    s->n++;
    s->clustered[NLL_REF] -= ref->logprob;
}

static void add_arm(struct sums *s, const struct ks_ref_row *ref, const struct ks_arm_row *arm)
{
    s->clustered[NLL_ARM] -= arm->logprob;
    s->clustered[NLL_DIFFERENCE] += ref->logprob - arm->logprob;
    s->clustered[KLD] += arm->kld;
    s->infinite += arm->kld > 0 && isinf(arm->kld);
    s->reverse += arm->reverse;
    double delta_p = ks_exp(arm->logprob) - ks_exp(ref->logprob);
    s->delta_p += delta_p;
    s->delta_p_squared += delta_p * delta_p;
    s->top1 += arm->top1;
    s->overlap += (size_t)arm->overlap;
}

static void add_sums(struct sums *total, const struct sums *window)
{
    total->n += window->n;
    total->infinite += window->infinite;
    total->top1 += window->top1;
    total->overlap += window->overlap;
    for (int i = 0; i < N_CLUSTERED; i++)
        total->clustered[i] += window->clustered[i];
    total->reverse += window->reverse;
    total->delta_p += window->delta_p;
    total->delta_p_squared += window->delta_p_squared;
}

static void add_cluster(struct ks_tally *t, uint32_t document, const struct sums *window)
{
    struct cluster *c = t->n_clusters > 0 ? &t->clusters[t->n_clusters - 1] : NULL;
    if (!c || !t->by_document || c->document != document) {
        c = &t->clusters[t->n_clusters++];
        *c = (struct cluster){.document = document};
    }
    c->n += window->n;
    for (int i = 0; i < N_CLUSTERED; i++)
        c->sum[i] += window->clustered[i];
}

/* The window's own p99 falls out of sorting its values for the pile. */
static void add_klds(struct ks_tally *t, uint32_t corpus, size_t n)
{
    t->trend[t->n_windows] = (float)NAN;
    if (n == 0)
        return;
    ks_order_add(&t->klds[corpus], t->window_klds, n);
    t->trend[t->n_windows] = (float)t->window_klds[ks_nearest_rank(0.99, n) - 1];
    double max = t->window_klds[n - 1];
    if (t->total.n == 0 || max > t->kld_max)
        t->kld_max = max;
}

int ks_tally_add(struct ks_tally *t, const struct ks_tally_window *w, const struct ks_ref_row *ref,
                 const struct ks_arm_row *arm, size_t n, struct ks_error *err)
{
    if (check_window(t, w, ref, !arm, n, err))
        return -1;
    t->is_reference = !arm;
    if (make_room(t, w->corpus, n, err))
        return -1;

    struct sums window = {0};
    for (size_t i = 0; i < n; i++) {
        if (!ref[i].measurement || (arm && !arm[i].measurement)) {
            count_nonfinite(t, w, i);
            continue;
        }
        t->n_top = ref[i].n_top;
        add_reference(&window, &ref[i]);
        if (!arm)
            continue;
        add_arm(&window, &ref[i], &arm[i]);
        count_bin(t, arm[i].kld);
        t->window_klds[window.n - 1] = arm[i].kld;
    }
    add_klds(t, w->corpus, arm ? window.n : 0);
    add_cluster(t, w->document, &window);
    add_sums(&t->total, &window);
    struct corpus_sums *corpus = &t->corpora[w->corpus];
    corpus->n += window.n;
    corpus->kld += window.clustered[KLD];
    corpus->nll_arm += window.clustered[NLL_ARM];
    t->n_positions += n;
    t->n_windows++;
    return 0;
}

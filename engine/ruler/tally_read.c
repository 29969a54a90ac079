#include <math.h>
#include <string.h>

#include "engine/kernels/elementary/math.h"
#include "engine/ruler/tally_private.h"

/* The standard error of total / n; NaN without two clusters or with an infinite mean. */
static double clustered_sem(const struct ks_tally *t, int quantity)
{
    double n = (double)t->total.n, mean = t->total.clustered[quantity] / n, squares = 0, groups = 0;
    for (size_t g = 0; g < t->n_clusters; g++) {
        const struct cluster *c = &t->clusters[g];
        if (c->n == 0)
            continue;
        double deviation = c->sum[quantity] - (double)c->n * mean;
        squares += deviation * deviation;
        groups++;
    }
    if (groups < 2 || !isfinite(mean))
        return NAN;
    return sqrt(groups / (groups - 1) * squares) / n;
}

static void read_nothing(struct ks_numbers *out)
{
    double *const values[] = {
        &out->kld_mean,         &out->kld_sem,        &out->kld_median,   &out->kld_p90,
        &out->kld_p95,          &out->kld_p99,        &out->kld_p999,     &out->kld_max,
        &out->kld_reverse_mean, &out->top1_agreement, &out->topk_overlap, &out->ppl_ref,
        &out->ppl_ref_sem,      &out->ppl_arm,        &out->ppl_arm_sem,  &out->ln_ppl_ratio,
        &out->ln_ppl_ratio_sem, &out->delta_p_mean,   &out->delta_p_rms,
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        *values[i] = NAN;
}

static void read_reference(const struct ks_tally *t, struct ks_numbers *out)
{
    out->ppl_ref = ks_exp(t->total.clustered[NLL_REF] / (double)t->total.n);
    out->ppl_ref_sem = out->ppl_ref * clustered_sem(t, NLL_REF);
}

static int read_quantiles(const struct ks_tally *t, struct ks_numbers *out, struct ks_error *err)
{
    static const double asked[] = {0.5, 0.9, 0.95, 0.99, 0.999};
    double found[5];
    if (ks_order_quantiles(t->klds, t->n_corpora, asked, 5, found, err))
        return -1;
    out->kld_median = found[0];
    out->kld_p90 = found[1];
    out->kld_p95 = found[2];
    out->kld_p99 = found[3];
    out->kld_p999 = found[4];
    out->kld_max = t->kld_max;
    return 0;
}

static void read_means(const struct ks_tally *t, struct ks_numbers *out)
{
    const struct sums *s = &t->total;
    double n = (double)s->n;
    out->kld_mean = s->clustered[KLD] / n;
    out->kld_sem = clustered_sem(t, KLD);
    out->kld_reverse_mean = s->reverse / n;
    out->top1_agreement = (double)s->top1 / n;
    out->topk_overlap = (double)s->overlap / (n * (double)t->n_top);
    out->ppl_arm = ks_exp(s->clustered[NLL_ARM] / n);
    out->ppl_arm_sem = out->ppl_arm * clustered_sem(t, NLL_ARM);
    out->ln_ppl_ratio = s->clustered[NLL_DIFFERENCE] / n;
    out->ln_ppl_ratio_sem = clustered_sem(t, NLL_DIFFERENCE);
    out->delta_p_mean = s->delta_p / n;
    out->delta_p_rms = sqrt(s->delta_p_squared / n);
}

static int read_corpora(const struct ks_tally *t, struct ks_corpus_numbers *out,
                        struct ks_error *err)
{
    static const double p99 = 0.99;
    for (size_t i = 0; i < t->n_corpora; i++) {
        const struct corpus_sums *c = &t->corpora[i];
        double n = (double)c->n;
        out[i] = (struct ks_corpus_numbers){c->n, NAN, NAN, NAN};
        if (c->n == 0 || t->is_reference)
            continue;
        out[i].kld_mean = c->kld / n;
        out[i].ppl_arm = ks_exp(c->nll_arm / n);
        if (ks_order_quantiles(&t->klds[i], 1, &p99, 1, &out[i].kld_p99, err))
            return -1;
    }
    return 0;
}

int ks_tally_read(const struct ks_tally *t, struct ks_numbers *out, struct ks_error *err)
{
    struct ks_numbers now = {.n = t->total.n, .corpora = out->corpora, .trend = out->trend};
    read_nothing(&now);
    if (now.n > 0) {
        read_reference(t, &now);
        if (!t->is_reference) {
            read_means(t, &now);
            if (read_quantiles(t, &now, err))
                return -1;
        }
    }
    if (now.corpora && read_corpora(t, now.corpora, err))
        return -1;
    now.nonfinite = t->nonfinite;
    now.infinite = t->total.infinite;
    now.first_nonfinite_document = t->nonfinite_document;
    now.first_nonfinite_offset = t->nonfinite_offset;
    memcpy(now.hist, t->hist, sizeof now.hist);
    now.hist_zero = t->hist_zero;
    now.hist_below = t->hist_below;
    now.hist_above = t->hist_above;
    now.n_trend = t->n_windows;
    if (now.trend && t->n_windows > 0)
        memcpy(now.trend, t->trend, t->n_windows * sizeof *now.trend);
    *out = now;
    return 0;
}

#include "engine/head/finish.h"

#include <math.h>
#include <stdlib.h>

#include "engine/kernels/elementary/math.h"

/* ------------------------------------------------------------------ the reference */

static bool measurable(const struct ks_gpu_peaks *p)
{
    return !(p->flags & KS_GPU_ROW_NONFINITE) && isfinite(p->max);
}

/* The tokens alone are known. */
static void show_top(const struct ks_gpu_peaks *p, int32_t *index, float *logprob)
{
    for (uint32_t i = 0; i < p->n_top && i < KS_TOP_SHOWN; i++) {
        index[i] = (int32_t)p->top[i];
        logprob[i] = (float)NAN;
    }
}

bool ks_head_finish_reference(const struct ks_gpu_reference_row *sums, struct ks_ref_row *out)
{
    const struct ks_gpu_peaks *p = &sums->peaks;
    if (!measurable(p)) {
        *out =
            (struct ks_ref_row){.max = NAN, .sum = NAN, .lse = NAN, .logprob = NAN, .entropy = NAN};
        return true;
    }
    if (p->flags)
        return false;
    double above = (double)sums->base - (double)p->max; /* x is that much below r - max */
    double log_sum = ks_log(sums->exp), lse = log_sum + above;
    *out = (struct ks_ref_row){
        .measurement = true,
        .max = (double)p->max,
        .sum = sums->exp * ks_exp(above),
        .lse = lse,
        .logprob = (double)p->target - (double)p->max - lse,
        .entropy = log_sum - sums->exp_x / sums->exp,
        .n_top = (int32_t)p->n_top,
        .rank = (int32_t)p->before + 1,
    };
    for (uint32_t i = 0; i < p->n_top; i++)
        out->top[i] = (int32_t)p->top[i];
    show_top(p, out->top, out->top_logprob);
    return true;
}

/* ------------------------------------------------------------------ an arm */

static int32_t overlap(const struct ks_ref_row *ref, const struct ks_gpu_peaks *p)
{
    int32_t common = 0;
    for (int32_t i = 0; i < ref->n_top; i++)
        for (uint32_t j = 0; j < p->n_top; j++)
            common += ref->top[i] == (int32_t)p->top[j];
    return common;
}

/* What the terms of sums are off by, about, after averaging: half a unit in the last place. */
#define ROUNDING 0x1p-25

/* Divergences with their rounding: how s1, z and s3 being off by ROUNDING moves them. */
struct divergences {
    double log_z, forward, reverse;
    bool good;
};

static struct divergences diverge(double s1, double z, double s3)
{
    double s2 = z - s1, whole = 1 + z, log_z = ks_log1p(z);
    double mean_q = (s3 + z) / whole; /* sum q d */
    struct divergences d = {log_z, log_z - s1, mean_q - log_z, false};
    double off_log = ROUNDING * (1 + fabs(z)) / whole;
    double off = ROUNDING * (s2 + fabs(s1 * z)) / whole;
    /* s3 is a difference, of s2 + s3 and s2 */
    double off_reverse = ROUNDING * (s3 + 2 * s2 + (fabs(s1) + s2) * fabs(mean_q)) / whole;
    d.good = off <= 1e-6 * d.forward + 1e-12 && off_reverse <= 1e-6 * d.reverse + 1e-12 &&
             off_log <= 2e-7;
    return d;
}

bool ks_head_finish_arm(const struct ks_gpu_reference_row *sums_ref, const struct ks_ref_row *ref,
                        const struct ks_gpu_arm_row *sums, struct ks_arm_row *out)
{
    const struct ks_gpu_peaks *p = &sums->peaks;
    if (!ref->measurement || !measurable(p)) {
        *out = (struct ks_arm_row){.kld = NAN, .reverse = NAN, .logprob = NAN};
        return true;
    }
    double sum = sums_ref->exp;
    struct divergences d = diverge(sums->d / sum, sums->more / sum, sums->psi / sum);
    if (p->flags || sums_ref->peaks.flags || !d.good) /* not good: NaN and infinity too */
        return false;
    *out = (struct ks_arm_row){
        .measurement = true,
        .kld = d.forward,
        .reverse = d.reverse,
        .logprob = (double)p->target - (double)sums->shift - (double)sums_ref->peaks.max -
                   (ref->lse + d.log_z),
        .rank = (int32_t)p->before + 1,
        .overlap = overlap(ref, p),
        .top1 = ref->top[0] == (int32_t)p->top[0],
    };
    show_top(p, out->top, out->top_logprob);
    return true;
}

/* ------------------------------------------------------------------ by the CPU */

/* Rows as they come back, allocated when one is needed: few runs ever do. */
struct redo {
    const struct ks_head_measure *measure;
    const struct ks_head_reader *reader;
    float *rows; /* (2, vocab) */
};

/* The reference's row i, measured. */
static int redo_reference(struct redo *r, size_t i, struct ks_ref_row *out, struct ks_error *err)
{
    const struct ks_head_measure *m = r->measure;
    size_t bytes = 2 * m->vocab * sizeof *r->rows;
    if (!r->rows)
        r->rows = malloc(bytes);
    if (!r->rows)
        return ks_fail_memory(err, bytes, "rows of logits to measure again");
    if (r->reader->read(r->reader->ctx, false, i, r->rows, err) != 0)
        return -1;
    return ks_ruler_reference(m->isa, r->rows, m->vocab, m->targets[i], m->top_k, out, err);
}

static int redo_arm(struct redo *r, size_t i, struct ks_arm_row *out, struct ks_error *err)
{
    const struct ks_head_measure *m = r->measure;
    struct ks_ref_row ref; /* in the precision of the arm's row */
    if (redo_reference(r, i, &ref, err) != 0)
        return -1;
    float *arm = r->rows + m->vocab;
    if (r->reader->read(r->reader->ctx, true, i, arm, err) != 0)
        return -1;
    return ks_ruler_arm(m->isa, r->rows, m->vocab, &ref, arm, m->vocab, m->targets[i], m->top_k,
                        out, err);
}

int ks_head_finish_references(const struct ks_head_measure *measure,
                              const struct ks_head_reader *reader,
                              const struct ks_gpu_reference_row *sums, size_t n,
                              struct ks_ref_row *out, struct ks_error *err)
{
    struct redo redo = {.measure = measure, .reader = reader};
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++)
        if (!ks_head_finish_reference(&sums[i], &out[i]))
            failed = redo_reference(&redo, i, &out[i], err);
    free(redo.rows);
    return failed;
}

int ks_head_finish(const struct ks_head_measure *measure, const struct ks_head_reader *reader,
                   const struct ks_gpu_reference_row *sums_ref, const struct ks_ref_row *ref,
                   const struct ks_gpu_arm_row *sums, size_t n, struct ks_arm_row *out,
                   struct ks_error *err)
{
    struct redo redo = {.measure = measure, .reader = reader};
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++)
        if (!ks_head_finish_arm(&sums_ref[i], &ref[i], &sums[i], &out[i]))
            failed = redo_arm(&redo, i, &out[i], err);
    free(redo.rows);
    return failed;
}

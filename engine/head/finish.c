#include "engine/head/finish.h"

#include <math.h>
#include <stdlib.h>

#include "engine/kernels/math.h"

/* ------------------------------------------------------------------ the reference */

static bool measurable(const struct ks_gpu_peaks *p)
{
    return !(p->flags & KS_GPU_ROW_NONFINITE) && isfinite(p->max);
}

void ks_head_finish_reference(const struct ks_gpu_reference_row *sums, struct ks_ref_row *out)
{
    const struct ks_gpu_peaks *p = &sums->peaks;
    if (!measurable(p)) {
        *out =
            (struct ks_ref_row){.max = NAN, .sum = NAN, .lse = NAN, .logprob = NAN, .entropy = NAN};
        return;
    }
    double lse = ks_log(sums->exp);
    *out = (struct ks_ref_row){
        .measurement = true,
        .max = (double)p->max,
        .sum = sums->exp,
        .lse = lse,
        .logprob = (double)p->target - (double)p->max - lse,
        .entropy = lse - sums->exp_x / sums->exp,
        .n_top = (int32_t)p->n_top,
        .rank = (int32_t)p->before + 1,
    };
    for (uint32_t i = 0; i < p->n_top; i++)
        out->top[i] = (int32_t)p->top[i];
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

/* Divergences with their rounding: how s1, s2 and s3 being off by ROUNDING moves them. */
struct divergences {
    double log_z, forward, reverse;
    bool good;
};

static struct divergences diverge(double s1, double s2, double s3)
{
    double z = s1 + s2, whole = 1 + z, log_z = ks_log1p(z);
    double mean_q = (s3 + z) / whole; /* sum q d */
    struct divergences d = {log_z, log_z - s1, mean_q - log_z, false};
    double off = ROUNDING * (s2 + fabs(s1 * z)) / whole;
    double off_reverse = ROUNDING * (s3 + (fabs(s1) + s2) * fabs(mean_q)) / whole;
    d.good = off <= 1e-6 * d.forward + 1e-12 && off_reverse <= 1e-6 * d.reverse + 1e-12;
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
    struct divergences d = diverge(sums->d / sum, sums->phi / sum, sums->psi / sum);
    if (p->flags || !d.good) /* not good: NaN and infinity too */
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
    return true;
}

/* ------------------------------------------------------------------ by the CPU */

/* rows(2, vocab): scratch. */
static int redo(const struct ks_head_measure *m, const struct ks_head_reader *reader, size_t i,
                float *rows, struct ks_arm_row *out, struct ks_error *err)
{
    struct ks_ref_row ref; /* in the precision of the arm's row */
    float *arm = rows + m->vocab;
    if (reader->read(reader->ctx, false, i, rows, err) != 0 ||
        reader->read(reader->ctx, true, i, arm, err) != 0 ||
        ks_ruler_reference(m->isa, rows, m->vocab, m->targets[i], m->top_k, &ref, err) != 0)
        return -1;
    return ks_ruler_arm(m->isa, rows, m->vocab, &ref, arm, m->vocab, m->targets[i], m->top_k, out,
                        err);
}

int ks_head_finish(const struct ks_head_measure *measure, const struct ks_head_reader *reader,
                   const struct ks_gpu_reference_row *sums_ref, const struct ks_ref_row *ref,
                   const struct ks_gpu_arm_row *sums, size_t n, struct ks_arm_row *out,
                   size_t *redone, struct ks_error *err)
{
    float *rows = NULL; /* few runs ever need it */
    size_t n_redone = 0;
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++) {
        if (ks_head_finish_arm(&sums_ref[i], &ref[i], &sums[i], &out[i]))
            continue;
        size_t bytes = 2 * measure->vocab * sizeof *rows;
        if (!rows)
            rows = malloc(bytes);
        failed = rows ? redo(measure, reader, i, rows, &out[i], err)
                      : ks_fail_memory(err, bytes, "rows of logits to measure again");
        n_redone++;
    }
    free(rows);
    if (!failed && redone)
        *redone = n_redone;
    return failed;
}

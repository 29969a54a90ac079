/*
 * What comes back of a comparison: words that the last stage left in the host's memory, as row.glsl
 * tells, and the rows that they mean.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "gpu/ruler/ruler.h"

uint64_t ks_gpu_answer_words(const struct ks_gpu_ruler *r)
{
    return KS_GPU_ANSWER_WORDS + 2 * (uint64_t)r->top;
}

/* A position's words, and what row.glsl says of them. */
struct answer {
    const uint8_t *words;
    uint32_t top;
};

static uint32_t word(const struct answer *a, unsigned i)
{
    return ks_le32(a->words + 4 * i);
}

static float real(const struct answer *a, unsigned i)
{
    uint32_t bits = word(a, i);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double sum(const struct answer *a, enum ks_gpu_sum i)
{
    return (double)real(a, 10 + 2 * i) + (double)real(a, 11 + 2 * i);
}

enum { WRONG_REFERENCE = 8 }; /* beside the flags that an arm's row has */

/* which: 0: the reference, 1: the arm. Flags are still to come. */
static struct ks_gpu_peaks peaks_of(const struct answer *a, unsigned which)
{
    struct ks_gpu_peaks p = {
        .before = word(a, 1 + which),
        .target = real(a, 3 + which),
        .max = real(a, 5 + which),
        .n_top = a->top,
    };
    for (uint32_t i = 0; i < a->top; i++)
        p.top[i] = word(a, KS_GPU_ANSWER_WORDS + which * a->top + i);
    return p;
}

static struct ks_gpu_reference_row reference_of(const struct answer *a)
{
    struct ks_gpu_reference_row row = {peaks_of(a, 0), real(a, 8), sum(a, KS_GPU_SUM_EXP),
                                       sum(a, KS_GPU_SUM_EXP_X)};
    if (word(a, 0) & WRONG_REFERENCE)
        row.peaks.flags = KS_GPU_ROW_NONFINITE;
    else if (isfinite(row.base) && fabsf(row.base) > KS_GPU_FAR_LOGIT)
        row.peaks.flags = KS_GPU_ROW_RANGE;
    return row;
}

static struct ks_gpu_arm_row arm_of(const struct answer *a)
{
    struct ks_gpu_arm_row row = {
        .peaks = peaks_of(a, 1),
        .shift = real(a, 7),
        .d = sum(a, KS_GPU_SUM_D) + sum(a, KS_GPU_SUM_FAR),
        .more = sum(a, KS_GPU_SUM_D) + sum(a, KS_GPU_SUM_PHI),
        .psi = sum(a, KS_GPU_SUM_CROSS) - sum(a, KS_GPU_SUM_PHI),
    };
    row.peaks.flags = word(a, 0) & (WRONG_REFERENCE - 1);
    if (!(fabsf(row.shift) <= KS_GPU_FAR_SHIFT) || fabsf(real(a, 8)) > KS_GPU_FAR_LOGIT)
        row.peaks.flags |= KS_GPU_ROW_RANGE;
    return row;
}

int ks_gpu_ruler_collect(struct ks_gpu_ruler *r, struct ks_gpu_reference_row *reference,
                         struct ks_gpu_arm_row *arm, struct ks_error *err)
{
    assert(r->waiting > 0);
    const struct ks_gpu_answers *answers = &r->queue[r->oldest];
    if (ks_vk_wait(r->gpu, answers->done, err) != 0)
        return -1;
    for (size_t i = 0; i < answers->m; i++) {
        struct answer a = {(const uint8_t *)answers->words.mapped + i * ks_gpu_answer_words(r) * 4,
                           r->top};
        if (answers->own)
            reference[i] = reference_of(&a);
        arm[i] = arm_of(&a);
    }
    r->oldest = (r->oldest + 1) % KS_GPU_AHEAD;
    r->waiting--;
    return 0;
}

/*
 * From the sums that a device made of rows of logits to the ruler's numbers, in f64.
 *
 * With S = sum e^x over the reference, x = r - base, and d = (a - r) - shift,
 *     s1 = sum e^x d / S    z = sum e^x (e^d - 1) / S    s3 = sum e^x (e^d (d - 1) + 1) / S
 * the arm's weights relative to the reference's are q = p e^d / Z, Z = sum p e^d = 1 + z, and so
 *     KLD(P || Q) = ln Z - s1
 *     KLD(Q || P) = sum q d - ln Z = (s3 + z) / Z - ln Z
 *     ln sum e^(a - base - shift) = ln S + ln Z
 * What z has beyond s1 was summed by itself where d is small, and so was s3: both are of second
 * order there, and nothing cancels. Equal rows have s1 = z = s3 = 0, so both are exactly 0 and the
 * log-probabilities equal to the bit.
 *
 * Where f32 was not enough, both rows are read back and measured by engine/ruler: where the device
 * has flagged them, and where rounding may be more than a millionth of the KLD or 2e-7 nats of a
 * log-probability.
 *
 * Pure functions over the caller's memory; any thread.
 */
#ifndef KS_ENGINE_HEAD_FINISH_H
#define KS_ENGINE_HEAD_FINISH_H

#include "engine/ruler/ruler.h"
#include "gpu/gpu.h"

/* false, and *out untouched, where the row has to be measured by the CPU. */
bool ks_head_finish_reference(const struct ks_gpu_reference_row *sums, struct ks_ref_row *out);

/* The same of an arm's row. sums_ref: what ref was made of. */
bool ks_head_finish_arm(const struct ks_gpu_reference_row *sums_ref, const struct ks_ref_row *ref,
                        const struct ks_gpu_arm_row *sums, struct ks_arm_row *out);

/* Reads a position's logits back, row(vocab): the arm's, or the reference's where arm is false. 0
 * or -1 with *err filled. */
struct ks_head_reader {
    int (*read)(void *ctx, bool arm, size_t position, float *row, struct ks_error *err);
    void *ctx;
};

/* What the reader's rows are measured with. */
struct ks_head_measure {
    enum ks_isa isa;
    size_t vocab;
    int top_k;              /* as given to ks_gpu_ruler_create */
    const int32_t *targets; /* (n) */
};

/* n positions of a reference. On failure out(n) is undefined. */
int ks_head_finish_references(const struct ks_head_measure *measure,
                              const struct ks_head_reader *reader,
                              const struct ks_gpu_reference_row *sums, size_t n,
                              struct ks_ref_row *out, struct ks_error *err);
/* n positions of an arm, of which ref(n) and sums_ref(n) are the reference's. On failure out(n) is
 * undefined. */
int ks_head_finish(const struct ks_head_measure *measure, const struct ks_head_reader *reader,
                   const struct ks_gpu_reference_row *sums_ref, const struct ks_ref_row *ref,
                   const struct ks_gpu_arm_row *sums, size_t n, struct ks_arm_row *out,
                   struct ks_error *err);

#endif

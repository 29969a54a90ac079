/* What the ruler's tests share: every CPU path that runs here, and rows drawn from a seed. */
#ifndef KS_TESTS_RULER_RULERS_H
#define KS_TESTS_RULER_RULERS_H

#include <math.h>

#include "engine/base/bytes.h"
#include "engine/ruler/ruler.h"

/* The paths that run here; the scalar one is always the first. */
static inline size_t running_isas(enum ks_isa out[4])
{
    static const enum ks_isa all[] = {KS_ISA_SCALAR, KS_ISA_AVX2, KS_ISA_AVX512, KS_ISA_NEON};
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (ks_isa_runs(all[i]))
            out[n++] = all[i];
    }
    return n;
}

/* The top 24 bits of the next number of the sequence, signed. */
static inline int32_t signed24(uint64_t *seed)
{
    return (int32_t)(ks_random_next(seed) >> 40) - (1 << 23);
}

/* Logits in [-2^spread, 2^spread), and the same moved by up to 2^noise; all exact in f32. Returns a
 * target. tests/data/ruler/make_pairs.py draws the same. */
static inline int32_t draw_pair(uint64_t seed, size_t width, int spread, int noise,
                                float *reference, float *arm)
{
    for (size_t i = 0; i < width; i++) {
        int32_t r = signed24(&seed) >> 12, n = signed24(&seed) >> 15;
        reference[i] = ldexpf((float)r, spread - 11);
        arm[i] = reference[i] + ldexpf((float)n, noise - 8);
    }
    return (int32_t)(ks_random_next(&seed) % width);
}

/* Measures a position; fails the test where that fails. */
static inline struct ks_arm_row measure(enum ks_isa isa, const float *reference, const float *arm,
                                        size_t width, int32_t target, int k, struct ks_ref_row *ref)
{
    struct ks_error err;
    struct ks_arm_row out;
    if (ks_ruler_reference(isa, reference, width, target, k, ref, &err) ||
        ks_ruler_arm(isa, reference, width, ref, arm, width, target, k, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

static inline void assert_near(double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", found, tolerance, wanted);
}

#endif

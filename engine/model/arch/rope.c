#include "engine/model/arch/arch.h"

#include <math.h>
#include <stdlib.h>

#include "engine/kernels/math.h"

#define MAX_ANGLE 0x1p30 /* of ks_sin and ks_cos */

/*
 * YaRN (Peng et al. 2023, section 3.2 and 3.4): dimension d turns orig / wavelength(d) times over
 * the original context. Those that turn more than beta_fast times keep their frequency, those below
 * beta_slow are interpolated, a ramp lies between. This is the index at which a dimension turns
 * `rotations` times; files do not say how to round it, and practice rounds the ramp's ends
 * outwards.
 */
static double yarn_index(const struct ks_hparams *h, double rotations)
{
    const double two_pi = 6.283185307179586476925;
    return h->rope_dims * ks_log(h->rope_original_context / (rotations * two_pi)) /
           (2 * ks_log((double)h->rope_base));
}

/* The share of pair i's frequency that is interpolated, 0..1. */
static double yarn_ramp(const struct ks_hparams *h, size_t i)
{
    double low = fmax(floor(yarn_index(h, (double)h->yarn_beta_fast)), 0);
    double high = fmin(ceil(yarn_index(h, (double)h->yarn_beta_slow)), h->rope_dims - 1);
    double width = fmax(high - low, 0.001);
    return fmin(fmax(((double)i - low) / width, 0), 1);
}

static double frequency(const struct ks_hparams *h, size_t i, const float *factors)
{
    double f = ks_pow((double)h->rope_base, -2.0 * (double)i / h->rope_dims);
    if (factors)
        f /= (double)factors[i];
    double interpolated = f / (double)h->rope_factor;
    switch (h->rope_scaling) {
    case KS_ROPE_SCALING_NONE:
        return f;
    case KS_ROPE_SCALING_LINEAR:
        return interpolated;
    case KS_ROPE_SCALING_YARN: {
        double ramp = yarn_ramp(h, i);
        return interpolated * ramp + f * (1 - ramp);
    }
    }
    return f;
}

/* What cosine and sine are multiplied by: YaRN's attention temperature, split over q and k. */
static double magnitude(const struct ks_hparams *h)
{
    double m = (double)h->rope_attn_factor;
    if (h->rope_scaling == KS_ROPE_SCALING_YARN && h->rope_factor > 1)
        m *= 1 + 0.1 * ks_log((double)h->rope_factor);
    return m;
}

static int check_factors(const struct ks_hparams *h, const float *factors, struct ks_error *err)
{
    for (size_t i = 0; factors && i < h->rope_dims / 2; i++) {
        if (!isfinite(factors[i]) || factors[i] <= 0)
            return ks_fail(err, KS_BAD_INPUT,
                           "tensor rope_freqs.weight: factor %zu is %g, not above 0", i,
                           (double)factors[i]);
    }
    return 0;
}

int ks_rope_tables(const struct ks_hparams *h, const float *factors, size_t positions,
                   float *cosine, float *sine, struct ks_error *err)
{
    if (check_factors(h, factors, err))
        return -1;
    size_t pairs = h->rope_dims / 2;
    double m = magnitude(h);
    for (size_t i = 0; i < pairs; i++) {
        double f = frequency(h, i, factors);
        if (!(f * (double)positions < MAX_ANGLE))
            return ks_fail(err, KS_BAD_INPUT,
                           "rope frequency %zu is %g: too large for %zu positions", i, f,
                           positions);
        for (size_t p = 0; p < positions; p++) {
            double angle = (double)p * f;
            cosine[p * pairs + i] = (float)(ks_cos(angle) * m);
            sine[p * pairs + i] = (float)(ks_sin(angle) * m);
        }
    }
    return 0;
}

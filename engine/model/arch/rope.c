#include "engine/model/arch/arch.h"

#include <math.h>
#include <stdlib.h>

#include "engine/kernels/elementary/math.h"

#define MAX_ANGLE 0x1p30 /* of ks_sin and ks_cos */

/*
 * YaRN (Peng et al. 2023, section 3.2 and 3.4): dimension d turns orig / wavelength(d) times over
 * the original context. Those that turn more than beta_fast times keep their frequency, those below
 * beta_slow are interpolated, a ramp lies between. This is the index at which a dimension turns
 * `rotations` times; files do not say how to round it, and practice rounds the ramp's ends
 * outwards.
 */
static double yarn_index(const struct ks_rope *r, double rotations)
{
    const double two_pi = 6.283185307179586476925;
    return r->dims * ks_log(r->original_context / (rotations * two_pi)) /
           (2 * ks_log((double)r->base));
}

/* The share of pair i's frequency that is interpolated, 0..1. */
static double yarn_ramp(const struct ks_rope *r, size_t i)
{
    double low = fmax(floor(yarn_index(r, (double)r->yarn_beta_fast)), 0);
    double high = fmin(ceil(yarn_index(r, (double)r->yarn_beta_slow)), r->dims - 1);
    double width = fmax(high - low, 0.001);
    return fmin(fmax(((double)i - low) / width, 0), 1);
}

static double frequency(const struct ks_rope *r, size_t i, const float *factors)
{
    double f = ks_pow((double)r->base, -2.0 * (double)i / r->dims);
    if (factors)
        f /= (double)factors[i];
    double interpolated = f / (double)r->factor;
    switch (r->scaling) {
    case KS_ROPE_SCALING_NONE:
    case KS_ROPE_SCALING_LONG:
        return f;
    case KS_ROPE_SCALING_LINEAR:
        return interpolated;
    case KS_ROPE_SCALING_YARN: {
        double ramp = yarn_ramp(r, i);
        return interpolated * ramp + f * (1 - ramp);
    }
    }
    return f;
}

/* YaRN's attention temperature for an interpolation by `factor`. */
static double temperature(double factor, double multiplier)
{
    return factor > 1 ? 1 + 0.1 * multiplier * ks_log(factor) : 1;
}

/* What cosine and sine are multiplied by: the temperature, split over q and k. A model that trained
 * with another one says by its multiplier what is to be divided out. */
static double magnitude(const struct ks_rope *r)
{
    double m = (double)r->attn_factor, factor = (double)r->factor;
    if (r->scaling == KS_ROPE_SCALING_YARN)
        m *= temperature(factor, 1) / temperature(factor, (double)r->yarn_log_multiplier);
    return m;
}

static int check_factors(const struct ks_rope *r, const float *factors, struct ks_error *err)
{
    for (size_t i = 0; factors && i < r->dims / 2; i++) {
        if (!isfinite(factors[i]) || factors[i] <= 0)
            return ks_fail(err, KS_BAD_INPUT, "rope factor %zu is %g, not above 0", i,
                           (double)factors[i]);
    }
    return 0;
}

int ks_rope_tables(const struct ks_rope *r, const float *factors, size_t positions, float *cosine,
                   float *sine, struct ks_error *err)
{
    if (check_factors(r, factors, err))
        return -1;
    size_t pairs = r->dims / 2;
    double m = magnitude(r);
    for (size_t i = 0; i < pairs; i++) {
        double f = frequency(r, i, factors);
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

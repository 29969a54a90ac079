/*
 * exp reduces x to r = x - k ln 2 with |r| <= ln(2)/2 and scales a polynomial by 2^k; log splits
 * x = 2^k m with m in [sqrt(1/2), sqrt(2)) and uses 2 atanh(f / (2 + f)) for ln(1 + f). The
 * coefficients are Chebyshev fits made with 400-bit arithmetic; the leading ones are exact.
 *
 * k is read from the low bits of k + 1.5 * 2^52, never by a conversion, so that a NaN runs through
 * without undefined behaviour.
 */
#include "engine/kernels/elementary/math.h"

#include <math.h>
#include <stdint.h>

#include "engine/base/bytes.h"
#include "engine/kernels/elementary/math_table.h"

/* 2^k for -1022 <= k <= 1023; some bits or other for the k of a NaN. */
static double power_of_two(int64_t k)
{
    return ks_f64_of_bits((uint64_t)(k + 1023) << 52);
}

/* p * 2^k for p near 1 and |k| <= 1100, in two steps of which only the second can round. */
static double scale(double p, int64_t k)
{
    int64_t half = k >> 1;
    return p * power_of_two(half) * power_of_two(k - half);
}

/* x = k ln 2 + r + *low, |r| <= 0.347. */
static double reduce(double x, int64_t *k, double *low)
{
    double shifted = fma(x, KS_LOG2E, KS_ROUND_F64);
    double n = shifted - KS_ROUND_F64;
    *k = (int32_t)(uint32_t)ks_f64_bits(shifted);
    double t = fma(-n, KS_LN2_HIGH, x);
    double r = fma(-n, KS_LN2_LOW, t);
    *low = fma(-n, KS_LN2_LOW, t - r);
    return r;
}

static double exp_polynomial(double r)
{
    static const double c[] = KS_EXP_COEFFICIENTS;
    double p = c[0];
    for (int i = 1; i < KS_EXP_TERMS; i++)
        p = fma(p, r, c[i]);
    return p;
}

double ks_exp(double x)
{
    x = x < KS_EXP_LEAST ? KS_EXP_LEAST : x;
    x = x > KS_EXP_MOST ? KS_EXP_MOST : x;
    int64_t k;
    double low;
    double r = reduce(x, &k, &low);
    return scale(exp_polynomial(r), k);
}

/* x = 2^*k * m for a positive, finite, normal x; returns m in [sqrt(1/2), sqrt(2)). */
static double split(double x, int64_t *k)
{
    int64_t above = (int64_t)(ks_f64_bits(x) - ks_f64_bits(KS_SQRT_HALF));
    *k = above >> 52;
    return ks_f64_of_bits(ks_f64_bits(x) - ((uint64_t)*k << 52));
}

/* k ln 2 + ln(1 + f) + low, for 1 + f in [sqrt(1/2), sqrt(2)). */
static double log_of_parts(double k, double f, double low)
{
    /* (2 atanh(s) / s - 2) / s^2 in s^2, lowest power first */
    static const double c[] = {0x1.5555555555555p-1, 0x1.9999999999a39p-2, 0x1.2492492476a1ap-2,
                               0x1.c71c7201a55d7p-3, 0x1.745cf8e4bba1bp-3, 0x1.3b1c3c1c81c8fp-3,
                               0x1.0fbde0f4ad17bp-3, 0x1.0c0aff044a970p-3};
    double s = f / (2.0 + f), z = s * s;
    double tail = c[7];
    for (int i = 6; i >= 0; i--)
        tail = fma(tail, z, c[i]);
    double half_square = 0.5 * f * f;
    double small = fma(k, KS_LN2_LOW, s * fma(tail, z, half_square)) + low;
    return fma(k, KS_LN2_HIGH, f - (half_square - small));
}

double ks_log(double x)
{
    if (isnan(x) || x == INFINITY)
        return x;
    if (x <= 0.0)
        return x == 0.0 ? -INFINITY : NAN;
    int64_t shift = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        shift = 54;
    }
    int64_t k;
    double m = split(x, &k);
    return log_of_parts((double)(k - shift), m - 1.0, 0.0);
}

double ks_log1p(double x)
{
    if (isnan(x) || fabs(x) < 0x1p-54 || x == INFINITY)
        return x;
    if (x <= -1.0)
        return x == -1.0 ? -INFINITY : NAN;
    if (x > KS_SQRT_HALF - 1.0 && x < 0.4142)
        return log_of_parts(0.0, x, 0.0);
    double u = 1.0 + x;
    double lost = u > 2.0 ? 1.0 - (u - x) : x - (u - 1.0); /* 1 + x - u */
    int64_t k;
    double m = split(u, &k);
    return log_of_parts((double)k, m - 1.0, lost / u);
}

/* A number as an unevaluated sum, good to about 2^-100 here. */
struct pair {
    double high, low;
};

/* |a| >= |b| or a == 0 */
static struct pair add_ordered(double a, double b)
{
    double s = a + b;
    return (struct pair){s, b - (s - a)};
}

static struct pair multiply(struct pair a, struct pair b)
{
    double p = a.high * b.high;
    double e = fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high);
    return (struct pair){p, e};
}

/* ln(2^k m) to about 2^-65 relative, as y may multiply an error by 2^10. */
static struct pair log_pair(double k, double m)
{
    /* as in log_of_parts, from s^4 on; the s^2 term is 2/3 as a pair */
    static const double c[] = {0x1.999999999999ap-2, 0x1.2492492492491p-2, 0x1.c71c71c71cfe7p-3,
                               0x1.745d1745124c7p-3, 0x1.3b13b1bd0ead0p-3, 0x1.1110df7e2b9b8p-3,
                               0x1.e1f80a4c22cd4p-4, 0x1.ac4927065cf5ap-4, 0x1.b8e0c07ef591ap-4};
    double f = m - 1.0, d = m + 1.0;
    struct pair s = {f / d, 0.0};
    s.low = (fma(-s.high, d, f) - s.high * (m - (d - 1.0))) / d;
    struct pair z = multiply(s, s);
    double tail = c[8];
    for (int i = 7; i >= 0; i--)
        tail = fma(tail, z.high, c[i]);
    struct pair q = add_ordered(0x1.5555555555555p-1, tail * z.high);
    q.low += 0x1.5555555555555p-55;
    struct pair cubic = multiply(multiply(s, z), q);
    struct pair whole = {k * KS_LN2_HIGH, 0.0};
    whole.low = fma(k, KS_LN2_HIGH, -whole.high) + k * KS_LN2_LOW;
    struct pair a = add_ordered(whole.high, 2.0 * s.high);
    struct pair b = add_ordered(a.high, cubic.high);
    return add_ordered(b.high, b.low + a.low + (whole.low + 2.0 * s.low + cubic.low));
}

double ks_pow(double x, double y)
{
    if (y == 0.0 || x == 1.0)
        return 1.0;
    if (isnan(x) || isnan(y) || x < 0.0)
        return NAN;
    if (x == 0.0 || isinf(x))
        return (x == 0.0) == (y > 0.0) ? 0.0 : INFINITY;
    int64_t shift = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        shift = 54;
    }
    int64_t k;
    double m = split(x, &k);
    struct pair l = log_pair((double)(k - shift), m);
    double t = y * l.high;
    if (!(t > KS_EXP_LEAST && t < KS_EXP_MOST))
        return t < 0.0 ? 0.0 : INFINITY;
    double rest = fma(y, l.high, -t) + y * l.low, low;
    double r = reduce(t, &k, &low);
    return scale(exp_polynomial(r + (rest + low)), k);
}

float ks_expf(float x)
{
    static const float c[] = KS_EXPF_COEFFICIENTS;
    x = x < KS_EXPF_LEAST ? KS_EXPF_LEAST : x;
    x = x > KS_EXPF_MOST ? KS_EXPF_MOST : x;
    float shifted = fmaf(x, KS_LOG2EF, KS_ROUND_F32);
    float n = shifted - KS_ROUND_F32;
    int32_t k = (int32_t)(ks_f32_bits(shifted) << 10) >> 10; /* the fraction, signed */
    float r = fmaf(-n, KS_LN2F_HIGH, x);
    r = fmaf(-n, KS_LN2F_LOW, r);
    float p = c[0];
    for (int i = 1; i < KS_EXPF_TERMS; i++)
        p = fmaf(p, r, c[i]);
    float a = ks_f32_of_bits((uint32_t)((k >> 1) + 127) << 23);
    float b = ks_f32_of_bits((uint32_t)(k - (k >> 1) + 127) << 23);
    return p * a * b;
}

/* In f64, where what 1 - 2 / (e^2x + 1) loses near 0 is little: 2^-41 at the change-over. */
float ks_tanhf(float x)
{
    double wide = (double)x, square = wide * wide;
    if (KS_TANH_SMALL > square)
        return (float)(wide * fma(square, KS_MINUS_THIRD, 1.0));
    return (float)(1.0 - 2.0 / (ks_exp(2.0 * wide) + 1.0));
}

/*
 * sin and cos: x = k pi/2 + r with pi/2 in three parts. For |x| < 2^30 the first product cancels
 * exactly inside an fma, the second is kept with its rounding error, the third is beyond what a
 * double of that range can come near a multiple of pi/2.
 */
#include <math.h>
#include <stdint.h>

#include "engine/base/bytes.h"
#include "engine/kernels/elementary/math.h"
#include "engine/kernels/elementary/math_table.h"

/* x - k pi/2 = r + *low, |r| <= pi/4; returns r and k mod 4. */
static double reduce(double x, double *low, int *quadrant)
{
    const double part1 = 0x1.921fb54442d18p+0, part2 = 0x1.1a62633145c07p-54,
                 part3 = -0x1.f1976b7ed8fbcp-110;
    double shifted = fma(x, 0x1.45f306dc9c883p-1, KS_ROUND_F64);
    double n = shifted - KS_ROUND_F64;
    *quadrant = (int)(ks_f64_bits(shifted) & 3);
    double a = fma(-n, part1, x);
    double p = n * part2, p_low = fma(n, part2, -p);
    double r = a - p;
    double back = a - r; /* both this and the next difference are exact, whichever is larger */
    double lost = fabs(a) >= fabs(p) ? back - p : a - (r + p);
    *low = lost - p_low - n * part3;
    return r;
}

static double sine(double r, double low)
{
    /* (sin r - r) / r^3 in r^2, lowest power first */
    static const double c[] = {-0x1.5555555555555p-3,  0x1.1111111111110p-7,
                               -0x1.a01a01a01992fp-13, 0x1.71de3a545f836p-19,
                               -0x1.ae645410e937bp-26, 0x1.61217d9252c03p-33,
                               -0x1.ab16f5caa198ap-41};
    double z = r * r, s = c[6];
    for (int i = 5; i >= 0; i--)
        s = fma(s, z, c[i]);
    return r + fma(z * r, s, low * (1.0 - 0.5 * z));
}

static double cosine(double r, double low)
{
    /* (cos r - 1 + r^2 / 2) / r^4 in r^2, lowest power first */
    static const double c[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16963p-10,
                               0x1.a01a019f4ddfdp-16, -0x1.27e4fa16cc2d1p-22,
                               0x1.1eeb67d026ec6p-29, -0x1.907cd8ff5ede7p-37};
    double z = r * r, s = c[5];
    for (int i = 4; i >= 0; i--)
        s = fma(s, z, c[i]);
    double half = 0.5 * z, head = 1.0 - half;
    double lost = 1.0 - head - half; /* of head's rounding */
    return head + (lost + fma(z * z, s, -r * low));
}

double ks_sin(double x)
{
    if (x == 0.0)
        return x; /* keeps the sign */
    double low;
    int quadrant;
    double r = reduce(x, &low, &quadrant);
    double v = quadrant & 1 ? cosine(r, low) : sine(r, low);
    return quadrant & 2 ? -v : v;
}

double ks_cos(double x)
{
    double low;
    int quadrant;
    double r = reduce(x, &low, &quadrant);
    double v = quadrant & 1 ? sine(r, low) : cosine(r, low);
    return (quadrant + 1) & 2 ? -v : v;
}

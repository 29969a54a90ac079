/*
 * The formats whose scale follows from the largest element, and that importance has no say in:
 * MXFP4, NVFP4, TQ1_0, TQ2_0.
 */
#include <math.h>

#include "engine/base/bytes.h"
#include "engine/quant/blocks.h"
#include "engine/quant/encode/parts.h"

/* ------------------------------------------------------------------ FP4 */

/* The code of the nearest of the scaled values, the smaller one of two as near. scale: as
 * ks_mxfp4_values need it, half of the block's. */
static unsigned nearest_code(float x, float scale)
{
    float size = fabsf(x), least = size;
    unsigned best = 0;
    for (unsigned code = 1; code < 8; code++) {
        float error = fabsf((float)ks_mxfp4_values[code] * scale - size);
        if (error < least) {
            least = error;
            best = code;
        }
    }
    return best > 0 && x < 0 ? best + 8 : best;
}

/* n elements, 16 or 32: byte j holds the elements j and j + n / 2. */
static void put_codes(const float *x, int n, float scale, uint8_t *qs)
{
    for (int j = 0; j < n / 2; j++)
        qs[j] = (uint8_t)(nearest_code(x[j], scale) | nearest_code(x[j + n / 2], scale) << 4);
}

/*
 * The whole part of the base-2 logarithm, of v > 0, as it comes out where the logarithm is rounded
 * to a float before it is cut: so near below a power of two that the rest is lost in rounding, the
 * power counts. v = 2^next (1 - units / 2^24) is about units * log2(e) / 2^24 below next, and half
 * of the spacing of floats there is a power of two over 2^24.
 */
static int rounded_exponent(float v)
{
    uint32_t bits = ks_f32_bits(v);
    int next = (int)(bits >> 23) - 126;
    uint32_t units = 0x800000 - (bits & 0x7fffff);
    unsigned size = (unsigned)(next < 0 ? -next : next), half = 1;
    while (2 * half <= size)
        half *= 2;
    bool to_a_finer_side = next > 0 && half == size;
    float reach = to_a_finer_side ? (float)half / 2 : (float)half;
    return next != 0 && (float)units * 0x1.715476p+0f < reach ? next : next - 1;
}

/* The greatest value, 6, lies in the binade of the scale's 4: the largest element's binade less 2.
 * What is too small for a scale gets the least. */
static uint8_t mxfp4_exponent(float size)
{
    int e = size > 0 ? rounded_exponent(size) - 2 + 127 : 0;
    return (uint8_t)(e > 0 ? e : 0);
}

void ks_encode_mxfp4(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    struct ks_block_mxfp4 *b = (struct ks_block_mxfp4 *)out;
    for (size_t i = 0; i < cols; i += 32, b++) {
        b->e = mxfp4_exponent(largest_magnitude(x + i, 32));
        put_codes(x + i, 32, ks_e8m0_half(b->e), b->qs);
    }
}

/* v >= 0 as unsigned E4M3, the half of the last place rounded upwards. The last binade is not
 * used: what rounds to 256 or more is the greatest, 448. */
static uint8_t ue4m3(float v)
{
    enum { GREATEST = 0x7e, LAST_BINADE = 15 << 3, BIAS = 7 };
    if (v >= 256.0f)
        return GREATEST;
    if (v < 0x1p-6f) {
        unsigned mantissa = (unsigned)(v * 512.0f + 0.5f);
        return (uint8_t)(mantissa < 7 ? mantissa : 7);
    }
    uint32_t rounded = (ks_f32_bits(v) + 0x80000) >> 20;
    uint32_t code = rounded - ((127 - BIAS) << 3);
    return (uint8_t)(code < LAST_BINADE ? code : GREATEST);
}

void ks_encode_nvfp4(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    struct ks_block_nvfp4 *b = (struct ks_block_nvfp4 *)out;
    for (; cols > 0; cols -= 64, b++)
        for (int g = 0; g < 4; g++, x += 16) {
            b->d[g] = ue4m3(largest_magnitude(x, 16) / 6.0f);
            put_codes(x, 16, ks_ue4m3_half(b->d[g]), b->qs + 8 * g);
        }
}

/* ------------------------------------------------------------------ ternary */

/* 0..2 for -1, 0, 1: the nearest, halves away from 0. */
static unsigned ternary(float x, float inverse)
{
    float v = x * inverse;
    return v >= 0.5f ? 2 : v <= -0.5f ? 0 : 1;
}

/* n digits of elements that lie stride apart, as ks_ternary_digit reads them. */
static uint8_t ternary_byte(const float *x, int n, int stride, float inverse)
{
    unsigned number = 0;
    for (int k = 0; k < 5; k++)
        number = 3 * number + (k < n ? ternary(x[k * stride], inverse) : 0);
    return (uint8_t)((number * 256 + 242) / 243);
}

void ks_encode_tq1_0(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    struct ks_block_tq1_0 *b = (struct ks_block_tq1_0 *)out;
    for (; cols > 0; cols -= 256, x += 256, b++) {
        float d = largest_magnitude(x, 256), inverse = d > 0 ? 1.0f / d : 0;
        for (int m = 0; m < 32; m++)
            b->qs[m] = ternary_byte(x + m, 5, 32, inverse);
        for (int m = 0; m < 16; m++)
            b->qs[32 + m] = ternary_byte(x + 160 + m, 5, 16, inverse);
        for (int m = 0; m < 4; m++)
            b->qh[m] = ternary_byte(x + 240 + m, 4, 4, inverse);
        put_half(b->d, d);
    }
}

void ks_encode_tq2_0(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    struct ks_block_tq2_0 *b = (struct ks_block_tq2_0 *)out;
    for (; cols > 0; cols -= 256, x += 256, b++) {
        float d = largest_magnitude(x, 256), inverse = d > 0 ? 1.0f / d : 0;
        for (int i = 0; i < 64; i++) {
            unsigned byte = 0;
            for (int s = 0; s < 4; s++)
                byte |= ternary(x[128 * (i / 32) + 32 * s + i % 32], inverse) << (2 * s);
            b->qs[i] = (uint8_t)byte;
        }
        put_half(b->d, d);
    }
}

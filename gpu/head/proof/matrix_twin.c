/*
 * The path of matrices in scalar C: split.comp to the bit, matrix.comp to a tolerance.
 */
#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "gpu/head/head.h"
#include "gpu/head/proof/twin.h"

enum { TOP = 127 + 14 }; /* exponent that the largest element gets */

static const uint32_t smallest_normal = 0x00800000, infinite = 0x7f800000;

/* To nearest, ties to even; |f| < 65520. */
static uint16_t to_half(float f)
{
    uint32_t bits = ks_f32_bits(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size >= 113u << 23) /* a normal half */
        return (uint16_t)(sign | (size + 0xfff + (size >> 13 & 1) - (112u << 23)) >> 13);
    if (size < 101u << 23) /* below half of the least */
        return (uint16_t)sign;
    uint32_t drop = 126 - (size >> 23), mantissa = (size & 0x7fffff) | smallest_normal;
    return (uint16_t)(sign | (mantissa + (1u << (drop - 1)) - 1 + (mantissa >> drop & 1)) >> drop);
}

/* The exponent that TOP takes the place of, for numbers of which the largest has those bits. */
static uint32_t exponent_of(uint32_t largest)
{
    return largest >> 23 > TOP - 126 ? largest >> 23 : TOP - 126;
}

static uint32_t largest_of(const float *x, uint64_t n)
{
    uint32_t largest = 0;
    for (uint64_t k = 0; k < n; k++) {
        uint32_t size = ks_f32_bits(x[k]) & 0x7fffffff;
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* What undoes the power of two. */
static float undo(uint32_t largest)
{
    return ks_f32_of_bits(largest < infinite ? (exponent_of(largest) + 127 - TOP) << 23
                                             : infinite | 1);
}

/* A number times the power. */
static float raise(float x, uint32_t exponent)
{
    uint32_t bits = ks_f32_bits(x), size = bits & 0x7fffffff;
    if (size < smallest_normal || (size >> 23) + TOP <= exponent)
        return 0;
    return ks_f32_of_bits(bits + ((TOP - exponent) << 23));
}

void ks_gpu_twin_split(const float *x, uint64_t cols, uint32_t block,
                       struct ks_gpu_twin_halves *out)
{
    uint32_t largest = largest_of(x, cols);
    bool finite = largest < infinite;
    out->back = undo(largest);
    memset(out->sums, 0, cols / block * sizeof *out->sums);
    for (uint64_t k = 0; k < cols; k++) {
        float value = finite ? raise(x[k], exponent_of(largest)) : 0;
        out->high[k] = to_half(value);
        out->low[k] = to_half(value - ks_gpu_twin_half(out->high[k]));
        out->sums[k / block] += value;
    }
}

/* BF16: a power of two for every 32, and halves. */
static float raise_unit(const void *const parts[KS_GPU_MAX_PARTS], uint64_t cols, uint64_t row,
                        uint64_t unit, float q[16])
{
    float both[32], none;
    for (uint64_t u = 0; u < 2; u++)
        ks_gpu_twin_stored(KS_GPU_BF16, parts, cols, row, unit / 2 * 2 + u, both + 16 * u, &none);
    uint32_t largest = largest_of(both, 32);
    for (uint64_t i = 0; i < 16; i++)
        q[i] = ks_gpu_twin_half(to_half(raise(both[unit % 2 * 16 + i], exponent_of(largest))));
    return undo(largest);
}

float ks_gpu_twin_grains(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                         uint64_t cols, uint64_t row, uint64_t unit, float q[16], float *minimum)
{
    *minimum = 0;
    if (layout == KS_GPU_BF16)
        return raise_unit(parts, cols, row, unit, q);
    return ks_gpu_twin_stored(layout, parts, cols, row, unit, q, minimum);
}

void ks_gpu_twin_sizes(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                       uint64_t cols, uint64_t row, float *out)
{
    for (uint64_t u = 0; u < cols / 16; u++, out += 16) {
        float q[16], minimum;
        float scale = ks_gpu_twin_grains(layout, parts, cols, row, u, q, &minimum);
        for (int i = 0; i < 16; i++)
            out[i] = fabsf(scale * q[i]) + fabsf(minimum);
    }
}

float ks_gpu_twin_matrix(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                         uint64_t cols, uint64_t row, const struct ks_gpu_twin_halves *x)
{
    uint32_t units = ks_gpu_grains(layout).block / 16;
    float sum = 0, scale = 0, minimum = 0;
    for (uint64_t b = 0; b < cols / (16 * units); b++) {
        float of_low = 0, of_high = 0;
        for (uint64_t u = b * units; u < (b + 1) * units; u++) {
            float q[16];
            scale = ks_gpu_twin_grains(layout, parts, cols, row, u, q, &minimum);
            for (uint64_t i = 0; i < 16; i++) {
                of_low += q[i] * ks_gpu_twin_half(x->low[16 * u + i]);
                of_high += q[i] * ks_gpu_twin_half(x->high[16 * u + i]);
            }
        }
        sum += (of_low + of_high) * scale;
        sum += x->sums[b] * minimum;
    }
    return sum * x->back;
}

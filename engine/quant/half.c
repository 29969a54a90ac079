/*
 * Half and bfloat16. Widening is exact; narrowing rounds to nearest, ties to even. NaN becomes
 * quiet and keeps its sign and the payload bits that fit, as F16C and NEON do it, so that vector
 * code can use the instruction.
 */
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/quant/decode.h"

/* As `yes ? a : b`, which a compiler would not make vectors of where a float is computed for it. */
static inline uint32_t choose(bool yes, uint32_t a, uint32_t b)
{
    uint32_t mask = 0u - (uint32_t)yes;
    return (a & mask) | (b & ~mask);
}

/* Without branches, so that a compiler makes vectors of a row. Moving the bits to where a float has
 * them leaves the exponent 112 short, which a product mends, for the denormal ones too. */
static inline float widen(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7fff;
    uint32_t finite = ks_f32_bits(ks_f32_of_bits(magnitude << 13) * 0x1p112f);
    uint32_t quiet = choose(magnitude > 0x7c00, 0x400000, 0);
    uint32_t endless = ((magnitude << 13) + (224u << 23)) | quiet;
    return ks_f32_of_bits((bits & 0x8000) << 16 | choose(magnitude >= 0x7c00, endless, finite));
}

float ks_f16_to_f32(uint16_t bits)
{
    return widen(bits);
}

void ks_f16_to_f32_row(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = widen(ks_le16(src + 2 * i));
}

float ks_bf16_to_f32(uint16_t bits)
{
    return ks_f32_of_bits((uint32_t)bits << 16);
}

/* value >> shift, to nearest, ties to even; shift >= 1. */
static uint32_t shift_rounding(uint32_t value, unsigned shift)
{
    uint32_t below_half = (1u << (shift - 1)) - 1;
    uint32_t odd = value >> shift & 1;
    return (value + below_half + odd) >> shift;
}

/* Without branches, as above. Adding a half to less than 2^-14 leaves what a denormal half holds,
 * in steps of 2^-24 and rounded, in the sum's lowest bits. */
static inline uint32_t narrow(float value)
{
    uint32_t bits = ks_f32_bits(value), magnitude = bits & 0x7fffffff;
    uint32_t denormal = ks_f32_bits(ks_f32_of_bits(magnitude) + 0.5f) - 0x3f000000;
    uint32_t normal = shift_rounding(magnitude - (112u << 23), 13);
    uint32_t r = choose(magnitude < 0x38800000, denormal, normal); /* 2^-14 */
    r = choose(magnitude >= 0x47800000, 0x7c00, r); /* 2^16; from 65520 on rounding went there */
    r = choose(magnitude > 0x7f800000, 0x7e00 | (magnitude >> 13 & 0x3ff), r);
    return (bits >> 16 & 0x8000) | r;
}

uint16_t ks_f32_to_f16(float value)
{
    return (uint16_t)narrow(value);
}

void ks_f32_to_f16_row(const float *src, uint8_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t bits = (uint16_t)narrow(src[i]);
        memcpy(dst + 2 * i, &bits, sizeof bits);
    }
}

uint16_t ks_f32_to_bf16(float value)
{
    uint32_t bits = ks_f32_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)shift_rounding(bits, 16);
}

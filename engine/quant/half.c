/*
 * Half and bfloat16. Widening is exact; narrowing rounds to nearest, ties to even. NaN becomes
 * quiet and keeps its sign and the payload bits that fit, as F16C and NEON do it, so that vector
 * code can use the instruction.
 */
#include <string.h>

#include "engine/quant/decode.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float ks_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 31;
    uint32_t mantissa = bits & 0x3ff;
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24f;
        return float_of(sign | bits_of(magnitude));
    }
    if (exponent < 31)
        return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    uint32_t quiet = mantissa ? 0x400000 : 0;
    return float_of(sign | 0x7f800000 | quiet | mantissa << 13);
}

float ks_bf16_to_f32(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

/* value >> shift, to nearest, ties to even; shift >= 1. */
static uint32_t shift_rounding(uint32_t value, unsigned shift)
{
    uint32_t below_half = (1u << (shift - 1)) - 1;
    uint32_t odd = value >> shift & 1;
    return (value + below_half + odd) >> shift;
}

uint16_t ks_f32_to_f16(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) /* 2^16; from 65520 on the rounding below carries into infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* 2^-14, the least normal half */
        return (uint16_t)(sign | shift_rounding(magnitude - (112u << 23), 13));
    uint32_t exponent = magnitude >> 23;
    if (exponent < 102) /* under 2^-25, half of the least half */
        return (uint16_t)sign;
    uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | shift_rounding(mantissa, 126 - exponent));
}

uint16_t ks_f32_to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)shift_rounding(bits, 16);
}

// Halves to floats, exact for all 65,536 patterns. Drivers may flush subnormal halves, so theirs is
// used where HALVES tells that it was found to be exact; otherwise integers.

float half_to_float(uint bits)
{
    if (HALVES != 0u)
        return unpackHalf2x16(bits).x;
    uint sign = (bits & 0x8000u) << 16;
    uint exponent = bits >> 10 & 31u;
    uint mantissa = bits & 0x3ffu;
    uint wide = (exponent + 112u) << 23 | mantissa << 13;
    if (exponent == 31u)
        wide = 0x7f800000u | (mantissa != 0u ? 0x400000u : 0u) | mantissa << 13;
    if (exponent == 0u)
        wide = floatBitsToUint(float(mantissa) * 5.9604644775390625e-8);
    return uintBitsToFloat(sign | wide);
}

// The lower and the upper half of a word.
vec2 halves_to_floats(uint w)
{
    if (HALVES != 0u)
        return unpackHalf2x16(w);
    return vec2(half_to_float(w & 0xffffu), half_to_float(w >> 16));
}

// Float to half, to nearest, ties to even; |f| < 65520.
uint to_half(float f)
{
    uint bits = floatBitsToUint(f), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size >= 113u << 23) // a normal half
        return sign | (size + 0xfffu + (size >> 13 & 1u) - (112u << 23)) >> 13;
    if (size < 101u << 23) // below half of the least
        return sign;
    uint drop = 126u - (size >> 23), mantissa = size & 0x7fffffu | 0x800000u;
    return sign | (mantissa + (1u << drop - 1u) - 1u + (mantissa >> drop & 1u)) >> drop;
}

// Half to float by integers, exact for all 65,536 patterns: drivers may flush subnormal halves.
float half_to_float(uint bits)
{
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

// Multiplying numbers by the power of two that brings the largest of them to 2^14 .. 2^15, so that
// halves hold them. Integers alone: devices may flush subnormal numbers, so they count as 0 here.
// largest: the bits of the largest's size.

const uint INFINITE = 0x7f800000u;
const uint TOP = 127u + 14u; // exponent that the largest gets

// What the power goes by: the exponent that becomes TOP.
uint exponent_of(uint largest)
{
    return max(largest >> 23, TOP - 126u);
}

// The number whose bits are given times the power; all of them are finite.
float raise(uint bits, uint exponent)
{
    uint size = bits & 0x7fffffffu;
    if (size < 0x00800000u || (size >> 23) + TOP <= exponent)
        return 0.0;
    return uintBitsToFloat(bits + (TOP - exponent << 23));
}

// What undoes the power; NaN where the largest is not finite.
float undo(uint largest)
{
    return uintBitsToFloat(largest < INFINITE ? exponent_of(largest) + 127u - TOP << 23
                                              : INFINITE | 1u);
}

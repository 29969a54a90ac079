// Splits rows of x, each multiplied by a power of two that brings its largest element to 2^14 .. 2^15,
// into two halves whose sum it is within 2^-23; of elements below 2^-16 of the largest, within 2^-39
// of that. Integers alone: a compiler may take f - float(half(f)) for 0, and a device may flush
// subnormal numbers. Those of x count as 0. A row that is not finite gets a factor of NaN, which is
// what its products then are. Twins: ks_gpu_twin_split, ks_gpu_twin_sums.
#version 460
#extension GL_GOOGLE_include_directive : enable

layout(local_size_x = 256) in;

#include "halves.glsl"

layout(std430, binding = 0) readonly buffer X { float x[]; };        // (positions, cols)
// The 16 x 16 matrices that matrix.comp multiplies: (height / 16, cols / 16, 2, 16, 16), high before low.
layout(std430, binding = 1) writeonly buffer Halves { uint halves[]; };
layout(std430, binding = 2) writeonly buffer Factors { float factors[]; };
layout(push_constant) uniform Where
{
    uint positions, height, cols;
    uint block; // elements whose sum is wanted: factors hold what undoes the powers (height), and
                // behind that the sums (cols / block, height); 0 for none
};

const uint SMALLEST_NORMAL = 0x00800000u, INFINITE = 0x7f800000u;
const uint TOP = 127u + 14u; // exponent that the largest element gets

shared uint largest;

// To nearest, ties to even; |f| < 65520.
uint to_half(float f)
{
    uint bits = floatBitsToUint(f), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size >= 113u << 23) // a normal half
        return sign | (size + 0xfffu + (size >> 13 & 1u) - (112u << 23)) >> 13;
    if (size < 101u << 23) // below half of the least
        return sign;
    uint drop = 126u - (size >> 23), mantissa = (size & 0x7fffffu) | SMALLEST_NORMAL;
    return sign | (mantissa + (1u << drop - 1u) - 1u + (mantissa >> drop & 1u)) >> drop;
}

// The element whose bits are given, with `exponent` turned into TOP.
float scaled(uint bits, uint exponent)
{
    uint size = bits & 0x7fffffffu;
    if (size < SMALLEST_NORMAL || (size >> 23) + TOP <= exponent)
        return 0.0;
    return uintBitsToFloat(bits + (TOP - exponent << 23));
}

// Its halves, the high one above.
uint split(float f)
{
    uint high = to_half(f);
    return high << 16 | to_half(f - half_to_float(high));
}

float sum_of_block(uint from, uint exponent)
{
    precise float sum = 0.0;
    for (uint k = 0u; k < block; k++)
        sum += scaled(floatBitsToUint(x[from + k]), exponent);
    return sum;
}

void main()
{
    uint row = gl_WorkGroupID.x, thread = gl_LocalInvocationIndex;
    if (thread == 0u)
        largest = 0u;
    barrier();
    uint here = 0u;
    if (row < positions)
        for (uint k = thread; k < cols; k += gl_WorkGroupSize.x)
            here = max(here, floatBitsToUint(x[row * cols + k]) & 0x7fffffffu);
    atomicMax(largest, here);
    barrier();
    bool finite = largest < INFINITE;
    uint exponent = max(largest >> 23, TOP - 126u);
    if (thread == 0u)
        factors[row] = uintBitsToFloat(finite ? exponent + 127u - TOP << 23 : INFINITE | 1u);
    bool filled = row < positions && finite;
    for (uint k = 2u * thread; k < cols; k += 2u * gl_WorkGroupSize.x) {
        uvec2 both = uvec2(0u);
        if (filled)
            both = uvec2(split(scaled(floatBitsToUint(x[row * cols + k]), exponent)),
                         split(scaled(floatBitsToUint(x[row * cols + k + 1u]), exponent)));
        uint at = (row / 16u * (cols / 16u) + k / 16u) * 256u + row % 16u * 8u + k % 16u / 2u;
        halves[at] = both.x >> 16 | (both.y & 0xffff0000u);
        halves[at + 128u] = (both.x & 0xffffu) | both.y << 16;
    }
    if (block != 0u)
        for (uint b = thread; b < cols / block; b += gl_WorkGroupSize.x)
            factors[(1u + b) * height + row] =
                filled ? sum_of_block(row * cols + b * block, exponent) : 0.0;
}

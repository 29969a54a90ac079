// Reading packed weights. LAYOUT_... is set for the build; COLS is the row's length.
//
// float load_unit(row, unit, out q): 16 elements of a row from 16 * unit on. The weight is
// scale * q[i], with the scale returned; layouts with minima return finished weights and 1. Where
// GRAINS is defined these too return scales and stored integers: the weight is scale * q[i] + minimum.
// gpu/head/twin.c is the definition.

#include "halves.glsl"

layout(std430, binding = 0) readonly buffer Part0 { uint part0[]; };
layout(std430, binding = 1) readonly buffer Part1 { uint part1[]; };
layout(std430, binding = 2) readonly buffer Part2 { uint part2[]; };

const uint UNITS = COLS / 16u;

#if !defined(LAYOUT_K2) && !defined(LAYOUT_K3) && !defined(LAYOUT_LEVELS4_K)
// The same bytes sixteen at a time, where blocks and fields are multiples of that.
layout(std430, binding = 0) readonly buffer Part0Wide { uvec4 part0_wide[]; };
#endif

#if defined(GRAINS)
float minimum = 0.0;
#endif

float with_minimum(float scale, float low, inout float q[16])
{
#if defined(GRAINS)
    minimum = low;
    return scale;
#else
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
        precise float product = scale * q[i];
        precise float sum = product + low;
        q[i] = sum;
    }
    return 1.0;
#endif
}

uint half_of_part1(uint i)
{
    return part1[i >> 1] >> (16u * (i & 1u)) & 0xffffu;
}

#if defined(LAYOUT_LEVELS4) || defined(LAYOUT_LEVELS4_K)
const float LEVELS[16] = float[](-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0,
                                 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0);
#elif defined(LAYOUT_FP4)
const float LEVELS[16] = float[](0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0,
                                 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0);
#endif

// ------------------------------------------------------------------ plain elements

#if defined(LAYOUT_F32)

float load_unit(uint row, uint unit, out float q[16])
{
    uint first = (row * UNITS + unit) * 4u;
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        uvec4 w = part0_wide[first + j];
        q[4u * j] = uintBitsToFloat(w.x);
        q[4u * j + 1u] = uintBitsToFloat(w.y);
        q[4u * j + 2u] = uintBitsToFloat(w.z);
        q[4u * j + 3u] = uintBitsToFloat(w.w);
    }
    return 1.0;
}

#elif defined(LAYOUT_F16) || defined(LAYOUT_BF16)

float widen(uint bits)
{
#if defined(LAYOUT_F16)
    return half_to_float(bits);
#else
    return uintBitsToFloat(bits << 16);
#endif
}

float load_unit(uint row, uint unit, out float q[16])
{
    uint first = (row * UNITS + unit) * 2u;
    uvec4 words[2] = uvec4[](part0_wide[first], part0_wide[first + 1u]);
    [[unroll]] for (uint j = 0u; j < 8u; j++) {
        uint w = words[j / 4u][j % 4u];
        q[2u * j] = widen(w & 0xffffu);
        q[2u * j + 1u] = widen(w >> 16);
    }
    return 1.0;
}

// ------------------------------------------------------------------ blocks of 32

#elif defined(LAYOUT_I8)

float load_unit(uint row, uint unit, out float q[16])
{
    uint at = row * UNITS + unit;
    uvec4 w = part0_wide[at];
    [[unroll]] for (uint j = 0u; j < 4u; j++)
        [[unroll]] for (uint b = 0u; b < 4u; b++)
            q[4u * j + b] = float(bitfieldExtract(int(w[j]), int(8u * b), 8));
    return half_to_float(half_of_part1(at >> 1));
}

#elif defined(LAYOUT_I4) || defined(LAYOUT_U4) || defined(LAYOUT_I5) || defined(LAYOUT_U5) || \
    defined(LAYOUT_LEVELS4) || defined(LAYOUT_FP4)

#if defined(LAYOUT_U4) || defined(LAYOUT_U5)
float finish(uint block, inout float q[16])
{
    float d = half_to_float(part1[block] & 0xffffu), m = half_to_float(part1[block] >> 16);
    return with_minimum(d, m, q);
}
#elif defined(LAYOUT_FP4)
float finish(uint block, inout float q[16])
{
    uint e = part1[block >> 2] >> (8u * (block & 3u)) & 0xffu;
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        q[i] = LEVELS[uint(q[i])];
    return uintBitsToFloat(e < 2u ? 0x00200000u << e : (e - 1u) << 23);
}
#else
float finish(uint block, inout float q[16])
{
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
#if defined(LAYOUT_LEVELS4)
        q[i] = LEVELS[uint(q[i])];
#elif defined(LAYOUT_I4)
        q[i] -= 8.0;
#else
        q[i] -= 16.0;
#endif
    }
    return half_to_float(half_of_part1(block));
}
#endif

float load_unit(uint row, uint unit, out float q[16])
{
    uint at = row * UNITS + unit;
    uint block = at >> 1, upper = at & 1u;
#if defined(LAYOUT_I5) || defined(LAYOUT_U5)
    uint high = part2[block] >> (16u * upper);
#else
    uint high = 0u;
#endif
    uvec4 words = part0_wide[block];
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        uint w = words[j] >> (4u * upper);
        [[unroll]] for (uint b = 0u; b < 4u; b++)
            q[4u * j + b] = float((w >> (8u * b) & 15u) | (high >> (4u * j + b) & 1u) << 4);
    }
    return finish(block, q);
}

// ------------------------------------------------------------------ blocks of 256
//
// A unit is one of the 16 groups g of 16 elements. Fields are spread over 32 elements: `lower` is
// the word of the field where the group's half of 32 begins.

#elif defined(LAYOUT_K2)

const uint WORDS = 21u, Q = 4u, D = 20u;

float load_unit(uint row, uint unit, out float q[16])
{
    uint g = unit & 15u, base = (row * (UNITS / 16u) + unit / 16u) * WORDS;
    uint lower = base + Q + 8u * (g / 8u) + 4u * (g & 1u), shift = 2u * (g / 2u & 3u);
    uint scales = part0[base + g / 4u] >> (8u * (g & 3u));
    uint d = part0[base + D];
    float scale = half_to_float(d & 0xffffu) * float(scales & 15u);
    float low = half_to_float(d >> 16) * float(scales >> 4 & 15u);
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        q[i] = float(part0[lower + i / 4u] >> (8u * (i & 3u) + shift) & 3u);
    return with_minimum(scale, -low, q);
}

#elif defined(LAYOUT_K3)

const uint WORDS = 27u, HIGH = 0u, Q = 8u, SCALES = 24u;

// Scale of group g: 4 bits of bytes 0..7, 2 bits of bytes 8..11, less 32.
float group_scale(uint base, uint g)
{
    uint low = part0[base + SCALES + (g & 7u) / 4u] >> (8u * (g & 3u) + 4u * (g / 8u)) & 15u;
    uint high = part0[base + SCALES + 2u] >> (8u * (g & 3u) + 2u * (g / 4u)) & 3u;
    return float(int(low | high << 4) - 32);
}

float load_unit(uint row, uint unit, out float q[16])
{
    uint g = unit & 15u, block = row * (UNITS / 16u) + unit / 16u, base = block * WORDS;
    uint lower = base + Q + 8u * (g / 8u) + 4u * (g & 1u), shift = 2u * (g / 2u & 3u);
    uint upper = base + HIGH + 4u * (g & 1u), bit = g / 2u;
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
        uint two = part0[lower + i / 4u] >> (8u * (i & 3u) + shift) & 3u;
        uint one = part0[upper + i / 4u] >> (8u * (i & 3u) + bit) & 1u;
        q[i] = float(int(two | one << 2) - 4);
    }
    return half_to_float(half_of_part1(block)) * group_scale(base, g);
}

#elif defined(LAYOUT_K4) || defined(LAYOUT_K5)

#if defined(LAYOUT_K4)
const uint WORDS = 36u, Q = 4u;
#else
const uint WORDS = 44u, HIGH = 4u, Q = 12u;
#endif

uint scale_byte(uint base, uint i)
{
    return part0[base + 1u + i / 4u] >> (8u * (i & 3u)) & 0xffu;
}

// Scale and minimum of 6 bits of the p-th 32 elements.
uvec2 scale_and_low(uint base, uint p)
{
    if (p < 4u)
        return uvec2(scale_byte(base, p) & 63u, scale_byte(base, p + 4u) & 63u);
    uint lows = scale_byte(base, p + 4u);
    return uvec2((lows & 15u) | scale_byte(base, p - 4u) >> 6 << 4,
                 lows >> 4 | scale_byte(base, p) >> 6 << 4);
}

float load_unit(uint row, uint unit, out float q[16])
{
    uint g = unit & 15u, p = g / 2u, base = (row * (UNITS / 16u) + unit / 16u) * WORDS;
    uint lower = base + Q + 8u * (p / 2u) + 4u * (g & 1u), shift = 4u * (p & 1u);
    uvec2 s = scale_and_low(base, p);
    float scale = half_to_float(part0[base] & 0xffffu) * float(s.x);
    float low = half_to_float(part0[base] >> 16) * float(s.y);
    uvec4 words = part0_wide[lower / 4u];
#if defined(LAYOUT_K5)
    uvec4 high = part0_wide[(base + HIGH) / 4u + (g & 1u)];
#endif
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
        uint v = words[i / 4u] >> (8u * (i & 3u) + shift) & 15u;
#if defined(LAYOUT_K5)
        v |= (high[i / 4u] >> (8u * (i & 3u) + p) & 1u) << 4;
#endif
        q[i] = float(v);
    }
    return with_minimum(scale, -low, q);
}

#elif defined(LAYOUT_K6)

const uint WORDS = 52u, HIGH = 32u, SCALES = 48u;

float load_unit(uint row, uint unit, out float q[16])
{
    uint g = unit & 15u, block = row * (UNITS / 16u) + unit / 16u, base = block * WORDS;
    uint s = g / 2u & 3u;
    uint lower = base + 16u * (g / 8u) + 8u * (s & 1u) + 4u * (g & 1u), shift = 4u * (s / 2u);
    uint upper = base + HIGH + 8u * (g / 8u) + 4u * (g & 1u);
    uvec4 lows = part0_wide[lower / 4u], highs = part0_wide[upper / 4u];
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
        uint four = lows[i / 4u] >> (8u * (i & 3u) + shift) & 15u;
        uint two = highs[i / 4u] >> (8u * (i & 3u) + 2u * s) & 3u;
        q[i] = float(int(four | two << 4) - 32);
    }
    int scale = bitfieldExtract(int(part0[base + SCALES + g / 4u]), int(8u * (g & 3u)), 8);
    return half_to_float(half_of_part1(block)) * float(scale);
}

#elif defined(LAYOUT_LEVELS4_K)

const uint WORDS = 34u, Q = 2u;

float load_unit(uint row, uint unit, out float q[16])
{
    uint g = unit & 15u, p = g / 2u, base = (row * (UNITS / 16u) + unit / 16u) * WORDS;
    uint low = part0[base + 1u] >> (4u * p) & 15u, high = part0[base] >> (16u + 2u * p) & 3u;
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        q[i] = LEVELS[part0[base + Q + 4u * p + i / 4u] >> (8u * (i & 3u) + 4u * (g & 1u)) & 15u];
    return half_to_float(part0[base] & 0xffffu) * float(int(low | high << 4) - 32);
}

#else
#error "which layout?"
#endif

// Takes a packed weight apart into what matrix.comp multiplies, whatever the layout: the elements as
// int8, or as f16 where they are floats, and for each BLOCK of them along a row a scale and a minimum,
// turned so that rows are the fast index: (COLS / BLOCK, width). Rows past the last are 0.
//
// Elements lie as lanes hold them (matrix/lanes.comp): f16 as (width / 16, COLS / 16, 32 lanes, 8
// elements). Bytes are 128 above the integers, (width / 16, COLS / 32, 32 lanes, 2 matrices of 16 k, 8
// elements), of every four the middle ones exchanged, so that one mask parts a word into two pairs.
// f16 are as they were, BF16 times a power of two for each block: what is below 2^-28 of its largest
// may lose bits. Twin: ks_gpu_twin_grains.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint BLOCK = 32;  // elements that share a scale: 16 or 32
layout(constant_id = 2) const uint WITH_MINIMA = 0u; // whether they have them

const uint HALVES = 0; // as in halves.glsl

#include "layouts.glsl"
#include "../power.glsl"

#if defined(LAYOUT_F16) || defined(LAYOUT_BF16)
const uint SIZE = 2u; // bytes of an element
#else
const uint SIZE = 1u;
#endif
const uint ROWS = 16;   // of a work-group
const uint ACROSS = 16; // units of 16 elements of a work-group
const uint UNIT = 4u * SIZE; // words of a unit
const uint LINE = UNIT * ACROSS + 1u;

layout(std430, binding = 3) writeonly buffer Grains { uvec4 grains[]; };
layout(std430, binding = 4) writeonly buffer Scales { float scales[]; }; // minima behind them
layout(std430, binding = 5) readonly buffer Lanes { uint lanes[]; };     // (2, 32 lanes, 8)
layout(push_constant) uniform Where { uint first, rows, width; };

shared uint words[ROWS * LINE];
shared uint largest[ROWS * ACROSS / 2u]; // of 32 elements, their size's bits

// A unit of a row as it is stored: its elements, and the minimum, or 0, beside the scale returned.
float load_stored(uint row, uint unit, out float q[16], out float minimum)
{
    Packed p = fetch(row, unit / 16u, piece_of(unit % 16u));
    uint i = place_in_piece(unit % 16u);
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        vec4 v = stored(p, i, j);
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            q[4u * j + c] = v[c];
    }
    minimum = 0.0;
#if defined(MINIMA)
    minimum = minimum_of(p, i);
#endif
    return scale_of(p, i);
}

// The bits of an element as they are stored; of BF16 `exponent` becomes that of the largest.
uint grain(float q, uint exponent)
{
#if defined(LAYOUT_F16)
    return to_half(q);
#elif defined(LAYOUT_BF16)
    return to_half(raise(floatBitsToUint(q), exponent));
#else
    return uint(int(q) + 128);
#endif
}

void store_elements(uint row, uint unit, float q[16], uint exponent)
{
    [[unroll]] for (uint w = 0u; w < UNIT; w++) {
        uint word = 0u;
        [[unroll]] for (uint i = 0u; i < 4u / SIZE; i++)
            word |= grain(q[4u / SIZE * w + i], exponent) << (8u * SIZE * i);
        words[row * LINE + unit * UNIT + w] = word;
    }
}

void store_scale(uint row, uint unit, float scale, float minimum)
{
    if (unit % (BLOCK / 16u) != 0u)
        return;
    uint at = unit / (BLOCK / 16u) * width + gl_WorkGroupID.x * ROWS + row;
    scales[at] = scale;
    if (WITH_MINIMA != 0u)
        scales[COLS / BLOCK * width + at] = minimum;
}

// An element of the 16 x 16 matrix that begins with the given unit.
uint element_of(uint at, uint unit)
{
    uint row = at / 16u, k = at % 16u, per_word = 4u / SIZE;
    uint word = words[row * LINE + unit * UNIT + k / per_word];
    return word >> (8u * SIZE * (k % per_word)) & (SIZE == 1u ? 0xffu : 0xffffu);
}

// A lane's halves of the matrix.
uvec4 gather_halves(uint lane, uint unit)
{
    uvec4 v;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint from = 256u + 8u * lane + 2u * i;
        v[i] = element_of(lanes[from], unit) | element_of(lanes[from + 1u], unit) << 16;
    }
    return v;
}

// A lane's bytes of the matrix and of the next.
uvec4 gather_bytes(uint lane, uint unit)
{
    uvec4 v;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint from = 256u + 8u * lane + i % 2u * 4u, u = unit + i / 2u;
        v[i] = element_of(lanes[from], u) | element_of(lanes[from + 2u], u) << 8 |
               element_of(lanes[from + 1u], u) << 16 | element_of(lanes[from + 3u], u) << 24;
    }
    return v;
}

void gather_all()
{
    uint thread = gl_LocalInvocationIndex;
    const uint EACH = 2u / SIZE; // units that a lane takes at once
    for (uint i = thread; i < ACROSS / EACH * 32u; i += gl_WorkGroupSize.x) {
        uint lane = i % 32u, unit = i / 32u * EACH, all = gl_WorkGroupID.y * ACROSS + unit;
        if (all < UNITS)
            grains[(gl_WorkGroupID.x * (UNITS / EACH) + all / EACH) * 32u + lane] =
                SIZE == 1u ? gather_bytes(lane, unit) : gather_halves(lane, unit);
    }
}

void main()
{
    uint thread = gl_LocalInvocationIndex, row = thread / ACROSS, unit = thread % ACROSS;
    uint in_piece = gl_WorkGroupID.x * ROWS + row, all = gl_WorkGroupID.y * ACROSS + unit;
    float q[16], scale = 0.0, minimum = 0.0;
    begin_layout();
    barrier();
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        q[i] = 0.0;
    if (all < UNITS && in_piece < rows)
        scale = load_stored(first + in_piece, all, q, minimum);
    uint exponent = 0u;
#if defined(LAYOUT_BF16)
    if (thread < ROWS * ACROSS / 2u)
        largest[thread] = 0u;
    barrier();
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        atomicMax(largest[thread / 2u], floatBitsToUint(q[i]) & 0x7fffffffu);
    barrier();
    exponent = exponent_of(largest[thread / 2u]);
    scale = in_piece < rows ? undo(largest[thread / 2u]) : 0.0;
#endif
    store_elements(row, unit, q, exponent);
    if (all < UNITS)
        store_scale(row, all, scale, minimum);
    barrier();
    gather_all();
}

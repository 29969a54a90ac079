// Takes a packed weight apart into what matrix.comp multiplies, whatever the layout: the elements as
// int8, and for each BLOCK of them along a row a scale and a minimum, turned so that rows are the fast
// index: (COLS / BLOCK, width). Rows past the last are 0.
//
// Bytes are 128 above the integers and lie as lanes hold them: (width / 16, COLS / 32, 32 lanes, 2
// matrices of 16 k, 8 elements), of every four the middle ones exchanged, so that one mask parts a word
// into two pairs. Twin: ks_gpu_twin_grains.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint BLOCK = 32;  // elements that share a scale: 16 or 32
layout(constant_id = 2) const uint MINIMA = 0u; // whether they have them

#define GRAINS
#include "layouts.glsl"

const uint ROWS = 16;   // of a work-group
const uint ACROSS = 16; // units of 16 elements of a work-group
const uint LINE = 4u * ACROSS + 1u;

layout(std430, binding = 3) writeonly buffer Integers { uvec4 integers[]; };
layout(std430, binding = 4) writeonly buffer Scales { float scales[]; }; // minima behind them
layout(std430, binding = 5) readonly buffer Lanes { uint lanes[]; };     // matrix/lanes.comp
layout(push_constant) uniform Where { uint first, rows, width; };

shared uint bytes[ROWS * LINE];

void store(uint row, uint unit, float scale, float q[16])
{
    uvec4 words = uvec4(0u);
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        words[i / 4u] |= uint(int(q[i]) + 128) << (8u * (i % 4u));
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        bytes[row * LINE + unit % ACROSS * 4u + i] = words[i];
    if (unit % (BLOCK / 16u) != 0u)
        return;
    uint at = unit / (BLOCK / 16u) * width + gl_WorkGroupID.x * ROWS + row;
    scales[at] = scale;
    if (MINIMA != 0u)
        scales[COLS / BLOCK * width + at] = minimum;
}

// An element of the 16 x 16 matrix whose first word is given.
uint byte_of(uint at, uint word)
{
    uint row = at / 16u, k = at % 16u;
    return bytes[row * LINE + word + k / 4u] >> (8u * (k % 4u)) & 0xffu;
}

// Of the 32 k whose first word is given.
uvec4 gather(uint lane, uint word)
{
    uvec4 out_words;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint from = 256u + 8u * lane + i % 2u * 4u, matrix = word + i / 2u * 4u;
        out_words[i] = byte_of(lanes[from], matrix) | byte_of(lanes[from + 2u], matrix) << 8 |
                       byte_of(lanes[from + 1u], matrix) << 16 |
                       byte_of(lanes[from + 3u], matrix) << 24;
    }
    return out_words;
}

void main()
{
    uint thread = gl_LocalInvocationIndex;
    uint row = thread / ACROSS, unit = gl_WorkGroupID.y * ACROSS + thread % ACROSS;
    uint in_piece = gl_WorkGroupID.x * ROWS + row;
    if (unit < UNITS) {
        float q[16], scale = 0.0;
        [[unroll]] for (uint i = 0u; i < 16u; i++)
            q[i] = 0.0;
        if (in_piece < rows)
            scale = load_unit(first + in_piece, unit, q);
        store(row, unit, scale, q);
    }
    barrier();
    uint step = gl_WorkGroupID.y * (ACROSS / 2u) + thread / 32u;
    if (step < COLS / 32u)
        integers[(gl_WorkGroupID.x * (COLS / 32u) + step) * 32u + thread % 32u] =
            gather(thread % 32u, thread / 32u * 8u);
}

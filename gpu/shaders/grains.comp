// Takes a packed weight apart into what matrix.comp multiplies, whatever the layout: every element
// as an int8 (width, COLS), and for each BLOCK of them along a row a scale and a minimum, turned so
// that rows are the fast index: (COLS / BLOCK, width). Rows past the last are 0. The int8 of a layout
// that has them is used where it lies. Twin: ks_gpu_twin_grains.
//
// Neighbouring threads take neighbouring rows, so that they write neighbouring scales.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint BLOCK = 32;  // elements that share a scale: 16 or 32
layout(constant_id = 2) const uint MINIMA = 0u; // whether they have them

#define GRAINS
#include "layouts.glsl"

const uint SIDE = 64; // rows of a work-group, and elements of a row

layout(std430, binding = 3) writeonly buffer Integers { uvec4 integers[]; };
layout(std430, binding = 4) writeonly buffer Scales { float scales[]; }; // minima behind them
layout(push_constant) uniform Where { uint first, rows, width; };

void main()
{
    uint row = gl_WorkGroupID.x * SIDE + gl_LocalInvocationIndex % SIDE;
    uint unit = gl_WorkGroupID.y * (SIDE / 16u) + gl_LocalInvocationIndex / SIDE;
    if (unit >= UNITS)
        return;
    float q[16], scale = 0.0;
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        q[i] = 0.0;
    if (row < rows)
        scale = load_unit(first + row, unit, q);
#if !defined(LAYOUT_I8)
    uvec4 words = uvec4(0u);
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        words[i / 4u] |= (uint(int(q[i])) & 0xffu) << (8u * (i % 4u));
    integers[row * UNITS + unit] = words;
#endif
    if (unit % (BLOCK / 16u) != 0u)
        return;
    uint block = unit / (BLOCK / 16u);
    scales[block * width + row] = scale;
    if (MINIMA != 0u)
        scales[(COLS / BLOCK + block) * width + row] = minimum;
}

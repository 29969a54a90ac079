// Few positions: y(POSITIONS, rows) = x W^T straight from the packed weight, which is read once.
//
// LANES threads share a row; each takes every LANES-th unit of 16 elements, sums a unit by itself,
// and the lanes are added pairwise. The order hangs on COLS alone, which LANES is chosen by.
// Twin: ks_gpu_twin_few.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint LANES = 16;    // divides COLS / 16
layout(constant_id = 2) const uint POSITIONS = 1; // 1, 2 or 4
layout(constant_id = 3) const uint SLAB = 64; // units of x in shared memory: divides UNITS, LANES divides it
layout(constant_id = 4) const uint ROWS = 2; // of a lane, which share what is read of x
layout(constant_id = 5) const uint AHEAD = 4; // units that are on their way; LANES * it divides SLAB

#include "layouts.glsl"

layout(std430, binding = 3) readonly buffer X { vec4 x[]; };   // (positions, COLS)
layout(std430, binding = 4) writeonly buffer Y { float y[]; }; // (positions, stride)
layout(push_constant) uniform Where
{
    uint first, rows;      // of the weight, in this dispatch
    uint x_first;          // position in x
    uint positions;        // of POSITIONS that exist
    uint y_first, y_column; // position and column in y of x_first and of `first`
    uint stride;
};

// By the j-th vec4 of a unit first, so that neighbouring lanes read neighbouring words.
shared vec4 slab[POSITIONS * 4u * SLAB];

void load_slab(uint from)
{
    for (uint i = gl_LocalInvocationIndex; i < POSITIONS * SLAB * 4u; i += gl_WorkGroupSize.x) {
        uint p = i / (SLAB * 4u), c = i % (SLAB * 4u);
        vec4 v = vec4(0.0);
        if (p < positions)
            v = x[(x_first + p) * (COLS / 4u) + from * 4u + c];
        slab[(p * 4u + c % 4u) * SLAB + c / 4u] = v;
    }
}

float acc[ROWS][POSITIONS];

void add_unit(uint row, uint r, uint unit, uint in_slab)
{
    float q[16];
    float scale = load_unit(row, unit, q);
    [[unroll]] for (uint p = 0u; p < POSITIONS; p++) {
        float sum = 0.0;
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            vec4 v = slab[(p * 4u + j) * SLAB + in_slab];
            sum += q[4u * j] * v.x;
            sum += q[4u * j + 1u] * v.y;
            sum += q[4u * j + 2u] * v.z;
            sum += q[4u * j + 3u] * v.w;
        }
        acc[r][p] += scale * sum;
    }
}

void main()
{
    uint lane = gl_LocalInvocationIndex % LANES;
    uint row0 = (gl_WorkGroupID.x * (256u / LANES) + gl_LocalInvocationIndex / LANES) * ROWS;
    [[unroll]] for (uint r = 0u; r < ROWS; r++)
        [[unroll]] for (uint p = 0u; p < POSITIONS; p++)
            acc[r][p] = 0.0;
    for (uint from = 0u; from < UNITS; from += SLAB) {
        barrier();
        load_slab(from);
        barrier();
        for (uint i = lane; i < SLAB; i += LANES * AHEAD)
            [[unroll]] for (uint a = 0u; a < AHEAD; a++)
                [[unroll]] for (uint r = 0u; r < ROWS; r++)
                    add_unit(first + min(row0 + r, rows - 1u), r, from + i + a * LANES,
                             i + a * LANES);
    }
    [[unroll]] for (uint apart = LANES / 2u; apart > 0u; apart >>= 1)
        [[unroll]] for (uint r = 0u; r < ROWS; r++)
            [[unroll]] for (uint p = 0u; p < POSITIONS; p++)
                acc[r][p] += subgroupShuffleXor(acc[r][p], apart);
    if (lane == 0u)
        for (uint r = 0u; r < ROWS && row0 + r < rows; r++)
            for (uint p = 0u; p < positions; p++)
                y[(y_first + p) * stride + y_column + row0 + r] = acc[r][p];
}

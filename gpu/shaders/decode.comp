// Decodes rows of a packed weight to f32, turned so that k is the slow index: tile(COLS, width).
// Columns of the tile past the rows are 0. Twin: ks_gpu_twin_row.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;

#include "layouts.glsl"

const uint SIDE = 64; // of the square piece that a work-group turns

layout(std430, binding = 3) writeonly buffer Tile { float tile[]; };
layout(push_constant) uniform Where { uint first, rows, width; };

shared float turned[SIDE][SIDE + 1u];

void main()
{
    uint row0 = gl_WorkGroupID.x * SIDE, k0 = gl_WorkGroupID.y * SIDE;
    uint r = gl_LocalInvocationIndex / 4u, u = gl_LocalInvocationIndex % 4u;
    float q[16];
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        q[i] = 0.0;
    float scale = 0.0;
    if (row0 + r < rows && k0 + 16u * u < COLS)
        scale = load_unit(first + row0 + r, k0 / 16u + u, q);
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
        precise float weight = scale * q[i];
        turned[16u * u + i][r] = weight;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < SIDE * SIDE; i += gl_WorkGroupSize.x) {
        uint k = i / SIDE, c = i % SIDE;
        if (k0 + k < COLS)
            tile[(k0 + k) * width + row0 + c] = turned[k][c];
    }
}

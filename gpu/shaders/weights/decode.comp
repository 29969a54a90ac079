// Decodes rows of a packed weight to f32, turned so that k is the slow index of every 128 rows:
// tile(width / WIDE, COLS, WIDE). Rows past the last are 0. Twin: ks_gpu_twin_row.
//
// A thread takes a piece of a row. Neighbouring threads take neighbouring rows, so that they write
// neighbouring words; what they read of a row lies side by side over the threads of a work-group,
// which the caches make up for.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint HALVES = 0; // as in halves.glsl

#include "layouts.glsl"

const uint SIDE = 64;  // rows of a work-group
const uint WIDE = 128; // as in many.comp
const uint PIECES = 16 / TOGETHER;

layout(std430, binding = 3) writeonly buffer Tile { float tile[]; };
layout(push_constant) uniform Where { uint first, rows; };

void main()
{
    begin_layout();
    barrier();
    uint row = gl_WorkGroupID.x * SIDE + gl_LocalInvocationIndex % SIDE;
    uint at = gl_WorkGroupID.y * (gl_WorkGroupSize.x / SIDE) + gl_LocalInvocationIndex / SIDE;
    uint group = at / PIECES, piece = at % PIECES;
    if (group * 16u + unit_of(piece, 0u) >= UNITS)
        return;
    Packed p = fetch(first + min(row, rows - 1u), group, piece);
    [[unroll]] for (uint i = 0u; i < TOGETHER; i++) {
        float factor = row < rows ? factor_of(p, i) : 0.0;
        uint k = (group * 16u + unit_of(piece, i)) * 16u;
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            vec4 v = factor * unpack(p, i, j);
            [[unroll]] for (uint c = 0u; c < 4u; c++)
                tile[(row / WIDE * COLS + k + 4u * j + c) * WIDE + row % WIDE] = v[c];
        }
    }
}

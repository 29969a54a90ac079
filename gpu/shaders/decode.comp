// Decodes rows of a packed weight to f32, turned so that k is the slow index of every 128 rows:
// tile(width / WIDE, COLS, WIDE). Rows past the last are 0. Twin: ks_gpu_twin_row.
//
// Neighbouring threads take neighbouring rows, so that they write neighbouring words; what they read
// of a row lies side by side over the threads of a work-group, which the caches make up for.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;

#include "layouts.glsl"

const uint SIDE = 64;  // of the square piece that a work-group turns
const uint WIDE = 128; // as in many.comp

layout(std430, binding = 3) writeonly buffer Tile { float tile[]; };
layout(push_constant) uniform Where { uint first, rows; };

void main()
{
    uint row = gl_WorkGroupID.x * SIDE + gl_LocalInvocationIndex % SIDE;
    uint unit = gl_WorkGroupID.y * (SIDE / 16u) + gl_LocalInvocationIndex / SIDE;
    if (unit >= UNITS)
        return;
    float q[16];
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        q[i] = 0.0;
    float scale = 0.0;
    if (row < rows)
        scale = load_unit(first + row, unit, q);
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
        precise float weight = scale * q[i];
        tile[(row / WIDE * COLS + 16u * unit + i) * WIDE + row % WIDE] = weight;
    }
}

// First pass over the reference's rows: peaks. Twin: ks_gpu_ruler_twin_peaks.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

#include "row.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Rows { uvec4 rows[]; };
layout(std430, binding = 1) readonly buffer Targets { uint targets[]; };
layout(std430, binding = 2) writeonly buffer Keys { uvec2 keys[]; };
layout(std430, binding = 3) writeonly buffer Partials { uint partials[]; };

#include "peaks.glsl"

void main()
{
    uint position = first + gl_WorkGroupID.y, chunk = gl_WorkGroupID.x;
    uint base = (row + gl_WorkGroupID.y) * (stride / 4u);
    uint t = targets[position];
    set_target(rows[base + t / 4u][t & 3u], t);
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        uint column = chunk * CHUNK + j * QUARTER + 4u * gl_LocalInvocationIndex;
        if (column >= width)
            break;
        uvec4 v = rows[base + column / 4u];
        [[unroll]] for (uint q = 0u; q < 4u; q++)
            if (column + q < width)
                look(v[q], column + q);
    }
    settle(position, chunk, 0u);
}

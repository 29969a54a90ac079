// First pass over the reference's rows: peaks. Twin: ks_gpu_ruler_twin_peaks.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable

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
    for (uint from = 0u; from < SLICES && chunk * CHUNK + from * SLICE < width; from += AT_ONCE) {
        uvec4 v[AT_ONCE];
        [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
            uint column = column_of(chunk, from + j);
            v[j] = column < width ? cut(rows[base + column / 4u], column) : uvec4(NONE);
        }
        [[unroll]] for (uint j = 0u; j < AT_ONCE; j++)
            look(v[j], column_of(chunk, from + j));
    }
    settle(position, chunk, 0u);
    barrier();
    store_tallies(position, chunk);
}

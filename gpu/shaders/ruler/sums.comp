// Second pass over the reference's rows, x = r - max: sums of e^x and e^x x of a chunk.
// Twin: ks_gpu_ruler_twin_reference.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(constant_id = 0) const uint TOP = 10;

#include "row.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Rows { uvec4 rows[]; };
layout(std430, binding = 1) readonly buffer Picks { uint picks[]; };
layout(std430, binding = 2) writeonly buffer Partials { uint partials[]; };

#include "tree.glsl"

void main()
{
    uint position = first + gl_WorkGroupID.y, chunk = gl_WorkGroupID.x;
    uint base = (row + gl_WorkGroupID.y) * (stride / 4u);
    float most = uintBitsToFloat(picks[position * (PICK + TOP) + 3u]);
    Pair exps = Pair(0.0, 0.0), exp_xs = Pair(0.0, 0.0);
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        uint column = chunk * CHUNK + j * QUARTER + 4u * gl_LocalInvocationIndex;
        if (column >= width)
            break;
        uvec4 v = rows[base + column / 4u];
        vec4 e, ex;
        [[unroll]] for (uint q = 0u; q < 4u; q++) {
            bool there = column + q < width && v[q] != NONE;
            Pair x = difference(there ? uintBitsToFloat(v[q]) : most, most);
            e[q] = there ? weight(x) : 0.0;
            precise float product = e[q] * clamp(x.high, LEAST, 0.0);
            ex[q] = product;
        }
        exps = add_four(exps, e);
        exp_xs = add_four(exp_xs, ex);
    }
    uint at = (position * chunks + chunk) * PARTIAL + 2u;
    store_sum(exps, at);
    store_sum(exp_xs, at + 2u);
}

// Second pass over the reference's rows, x = r - max: sums of e^x and e^x x of a chunk.
// Twin: ks_gpu_ruler_twin_reference.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable

layout(constant_id = 0) const uint TOP = 10;
layout(constant_id = 1) const uint LANES = 8;

#include "row.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Rows { uvec4 rows[]; };
layout(std430, binding = 1) readonly buffer Picks { uint picks[]; };
layout(std430, binding = 2) writeonly buffer Partials { uint partials[]; };

const uint SUMS = 2u;
#include "tree.glsl"

void add_terms(inout Pair sums[SUMS], uvec4 bits, float most)
{
    vec4 e, ex;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        Pair x = difference(bits[q] == NONE ? most : uintBitsToFloat(bits[q]), most);
        e[q] = bits[q] == NONE ? 0.0 : weight(x.high, x.low);
        precise float product = e[q] * clamp(x.high, LEAST, 0.0);
        ex[q] = product;
    }
    sums[0] = add_four(sums[0], e);
    sums[1] = add_four(sums[1], ex);
}

void main()
{
    uint position = first + gl_WorkGroupID.y, chunk = gl_WorkGroupID.x;
    uint base = (row + gl_WorkGroupID.y) * (stride / 4u);
    float most = uintBitsToFloat(picks[position * (PICK + TOP) + 3u]);
    Pair sums[SUMS] = Pair[](Pair(0.0, 0.0), Pair(0.0, 0.0));
    for (uint from = 0u; from < SLICES && chunk * CHUNK + from * SLICE < width; from += AT_ONCE) {
        uvec4 v[AT_ONCE];
        [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
            uint column = column_of(chunk, from + j);
            v[j] = column < width ? cut(rows[base + column / 4u], column) : uvec4(NONE);
        }
        [[unroll]] for (uint j = 0u; j < AT_ONCE; j++)
            add_terms(sums, v[j], most);
    }
    store_sums(sums, position, chunk);
}

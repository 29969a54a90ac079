// The maxima of logits that were made without: as maxima.glsl, by reading them all.
#version 460
#extension GL_GOOGLE_include_directive : enable

const uint BLOCKS = 8; // of a work-group, a quad of columns for each thread
const uint MAXIMA = BLOCKS;

layout(local_size_x = 256) in;

#include "maxima.glsl"

layout(std430, binding = 0) readonly buffer Rows { uvec4 rows[]; }; // (positions, stride)
layout(push_constant) uniform Where { uint blocks; };               // stride is as many of 128

void main()
{
    uint t = gl_LocalInvocationIndex, block = gl_WorkGroupID.x * BLOCKS + t / 32u;
    uint position = gl_WorkGroupID.y;
    clear_maxima();
    barrier();
    if (block < blocks) {
        uvec4 v = rows[(position * blocks + block) * 32u + t % 32u];
        offer_maximum(t / 32u, max(max(order(v.x), order(v.y)), max(order(v.z), order(v.w))));
    }
    barrier();
    if (t < BLOCKS && gl_WorkGroupID.x * BLOCKS + t < blocks)
        maxima[position * blocks + gl_WorkGroupID.x * BLOCKS + t] = largest[t];
}

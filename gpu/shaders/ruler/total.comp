// The chunks' sums of a position, added in order.
#version 460
#extension GL_GOOGLE_include_directive : enable

layout(constant_id = 0) const uint TOP = 10;
layout(constant_id = 1) const uint SUMS = 2; // 2: of the reference; 3: of an arm, with its shift

#include "row.glsl"

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Partials { uint partials[]; };
layout(std430, binding = 1) readonly buffer Aims { uvec4 aims[]; };
layout(std430, binding = 2) writeonly buffer Picks { uint picks[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= threads)
        return;
    uint position = first + i / SUMS, s = i % SUMS;
    Pair sum = Pair(0.0, 0.0);
    for (uint c = 0u; c < chunks; c++) {
        uint at = (position * chunks + c) * PARTIAL + 2u + 2u * s;
        sum = join(sum, Pair(uintBitsToFloat(partials[at]), uintBitsToFloat(partials[at + 1u])));
    }
    uint to = position * (PICK + TOP) + 4u;
    picks[to + 2u * s] = floatBitsToUint(sum.high);
    picks[to + 2u * s + 1u] = floatBitsToUint(sum.low);
    if (s == 2u)
        picks[to + 6u] = aims[position].y;
}

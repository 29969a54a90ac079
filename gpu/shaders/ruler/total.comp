// What the chunks of a position have, together: a thread for each sum, in the order of the chunks,
// and one for what is counted.
#version 460
#extension GL_GOOGLE_include_directive : enable

layout(constant_id = 0) const uint TOP = 10;
layout(constant_id = 1) const uint OWN = 1; // as in compare.comp

#include "row.glsl"

const uint WANTED = OWN != 0u ? SUMS : OF_ARM;

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Partials { uint partials[]; };
layout(std430, binding = 1) writeonly buffer Answers { uint answers[]; };

void add_sums(uint from, uint to)
{
    Pair sum = Pair(0.0, 0.0);
    for (uint c = 0u; c < chunks; c++, from += PARTIAL)
        sum = join(sum, Pair(uintBitsToFloat(partials[from]), uintBitsToFloat(partials[from + 1u])));
    answers[to] = floatBitsToUint(sum.high);
    answers[to + 1u] = floatBitsToUint(sum.low);
}

void add_tallies(uint from, uint to)
{
    uint before[2] = uint[](0u, 0u), flags = 0u;
    for (uint c = 0u; c < chunks; c++, from += PARTIAL) {
        before[0] += partials[from];
        before[1] += partials[from + 1u];
        flags |= partials[from + 2u];
    }
    answers[to] = flags;
    answers[to + 1u] = before[0];
    answers[to + 2u] = before[1];
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= threads * (WANTED + 1u))
        return;
    uint position = first + i / (WANTED + 1u), s = i % (WANTED + 1u);
    uint from = position * chunks * PARTIAL, to = position * (ANSWER + 2u * TOP);
    if (s < WANTED)
        add_sums(from + 4u + 2u * s, to + 10u + 2u * s);
    else
        add_tallies(from, to);
}

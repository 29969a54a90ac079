// What the chunks of a position have, together: a thread for each sum, in the order of the chunks,
// and one for what is counted. A work-group has eight positions, whose answers go to the host's memory
// in one piece.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(constant_id = 0) const uint TOP = 10;
layout(constant_id = 1) const uint OWN = 1; // as in compare.comp

#include "row.glsl"

const uint WANTED = OWN != 0u ? SUMS : OF_ARM;

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Partials { uvec2 partials[]; }; // pairs of words
layout(std430, binding = 1) readonly buffer Aimed { uint aimed[]; };
layout(std430, binding = 2) writeonly buffer Answers { uint answers[]; };

const uint POSITIONS = 8;
const uint WORDS = ANSWER + 2u * TOP;

shared uint words[POSITIONS * WORDS];

const uint AT_ONCE = 4; // chunks that are on their way

// from: in partials; to: in words.
void add_sums(uint from, uint to)
{
    Pair sum = Pair(0.0, 0.0);
    for (uint c = 0u; c < chunks; c += AT_ONCE) {
        uvec2 v[AT_ONCE];
        [[unroll]] for (uint i = 0u; i < AT_ONCE; i++)
            v[i] = partials[(from + min(c + i, chunks - 1u) * PARTIAL) / 2u];
        [[unroll]] for (uint i = 0u; i < AT_ONCE; i++)
            if (c + i < chunks)
                sum = join(sum, Pair(uintBitsToFloat(v[i].x), uintBitsToFloat(v[i].y)));
    }
    words[to] = floatBitsToUint(sum.high);
    words[to + 1u] = floatBitsToUint(sum.low);
}

void add_tallies(uint from, uint to)
{
    uvec2 before = uvec2(0u);
    uint flags = 0u;
    for (uint c = 0u; c < chunks; c += AT_ONCE)
        [[unroll]] for (uint i = 0u; i < AT_ONCE; i++) {
            uint at = (from + min(c + i, chunks - 1u) * PARTIAL) / 2u;
            uvec2 counts = partials[at];
            flags |= partials[at + 1u].x;
            before += c + i < chunks ? counts : uvec2(0u);
        }
    words[to] = flags;
    words[to + 1u] = before.x;
    words[to + 2u] = before.y;
}

void main()
{
    uint t = gl_LocalInvocationIndex, p = t / (WANTED + 1u), s = t % (WANTED + 1u);
    uint from = gl_WorkGroupID.x * POSITIONS, n = min(threads - from, POSITIONS);
    uint at = (first + from) * WORDS;
    for (uint i = t; i < n * WORDS; i += gl_WorkGroupSize.x)
        words[i] = aimed[at + i];
    barrier();
    uint partial = (first + from + p) * chunks * PARTIAL;
    if (p < n && s < WANTED)
        add_sums(partial + 4u + 2u * s, p * WORDS + 10u + 2u * s);
    else if (p < n)
        add_tallies(partial, p * WORDS);
    barrier();
    for (uint i = t; i < n * WORDS; i += gl_WorkGroupSize.x)
        answers[at + i] = words[i];
}

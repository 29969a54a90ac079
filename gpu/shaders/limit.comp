// What a device gives at most: a copy, a read of which nothing is kept, or multiplications and additions
// of f32 that wait for little.
#version 460
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint KIND = 0; // one of:
const uint COPY = 0, READ = 1, ARITHMETIC = 2;

layout(std430, binding = 0) readonly buffer From { uvec4 from[]; };
layout(std430, binding = 1) writeonly buffer To { uvec4 to[]; };
layout(push_constant) uniform Where { uint vec4s; };

const uint EACH = 4;    // vec4s of a thread
const uint TURNS = 256; // each a multiplication and an addition of them all

void main()
{
    uint at = gl_WorkGroupID.x * gl_WorkGroupSize.x * EACH + gl_LocalInvocationIndex;
    uvec4 seen = uvec4(0u);
    vec4 chains[EACH];
    [[unroll]] for (uint i = 0u; i < EACH; i++, at += gl_WorkGroupSize.x) {
        uvec4 v = at < vec4s ? from[at] : uvec4(0u);
        chains[i] = uintBitsToFloat(v);
        if (KIND == COPY && at < vec4s)
            to[at] = v;
        if (KIND == READ)
            seen |= v;
    }
    if (KIND == ARITHMETIC) {
        for (uint turn = 0u; turn < TURNS; turn++)
            [[unroll]] for (uint i = 0u; i < EACH; i++)
                chains[i] = chains[i] * 0.75 + 0.5;
        seen = floatBitsToUint(chains[0] + chains[1] + chains[2] + chains[3]);
    }
    if (seen == uvec4(1u)) // never, but the compiler can't know
        to[0] = seen;
}

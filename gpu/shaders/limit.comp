// What memory gives at most: a copy, or a read of which nothing is kept.
#version 460
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint WRITES = 1;

layout(std430, binding = 0) readonly buffer From { uvec4 from[]; };
layout(std430, binding = 1) writeonly buffer To { uvec4 to[]; };
layout(push_constant) uniform Where { uint vec4s; };

const uint EACH = 4; // of a thread

void main()
{
    uint at = gl_WorkGroupID.x * gl_WorkGroupSize.x * EACH + gl_LocalInvocationIndex;
    uvec4 seen = uvec4(0u);
    [[unroll]] for (uint i = 0u; i < EACH; i++, at += gl_WorkGroupSize.x) {
        if (at >= vec4s)
            continue;
        uvec4 v = from[at];
        if (WRITES != 0u)
            to[at] = v;
        else
            seen |= v;
    }
    if (seen == uvec4(1u)) // never, but the compiler can't know
        to[0] = seen;
}

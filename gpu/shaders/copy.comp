// Copies a buffer: what a product's reading is held against. Four words of 16 bytes a thread.
#version 460
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer From { uvec4 from[]; };
layout(std430, binding = 1) writeonly buffer To { uvec4 to[]; };
layout(push_constant) uniform Where { uint words; };

void main()
{
    uint first = gl_WorkGroupID.x * 1024u + gl_LocalInvocationIndex;
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        if (first + 256u * i < words)
            to[first + 256u * i] = from[first + 256u * i];
}

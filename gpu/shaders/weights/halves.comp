// All halves, converted by the driver, for the host to look at.
#version 460
#extension GL_GOOGLE_include_directive : enable

layout(local_size_x = 256) in;

const uint HALVES = 1;
#include "halves.glsl"

layout(std430, binding = 0) writeonly buffer Floats { vec2 floats[]; }; // (32768) of them

void main()
{
    uint even = 2u * gl_GlobalInvocationID.x;
    floats[gl_GlobalInvocationID.x] = vec2(half_to_float(even), halves_to_floats((even + 1u) << 16).y);
}

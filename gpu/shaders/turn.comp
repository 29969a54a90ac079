// Turns x(positions, cols) into turned(width / TALL, cols, TALL), so that k is the slow index of
// every 64 positions, with zeros for positions that don't exist.
#version 460

layout(local_size_x = 32, local_size_y = 8) in;

const uint SIDE = 32;
const uint TALL = 64; // as in many.comp

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Turned { float turned[]; };
layout(push_constant) uniform Where { uint positions, cols; };

shared float piece[SIDE][SIDE + 1u];

void main()
{
    uint p0 = gl_WorkGroupID.x * SIDE, k0 = gl_WorkGroupID.y * SIDE;
    uint a = gl_LocalInvocationID.x;
    for (uint b = gl_LocalInvocationID.y; b < SIDE; b += gl_WorkGroupSize.y) {
        float v = 0.0;
        if (p0 + b < positions && k0 + a < cols)
            v = x[(p0 + b) * cols + k0 + a];
        piece[a][b] = v;
    }
    barrier();
    for (uint b = gl_LocalInvocationID.y; b < SIDE; b += gl_WorkGroupSize.y)
        if (k0 + b < cols)
            turned[((p0 + a) / TALL * cols + k0 + b) * TALL + (p0 + a) % TALL] = piece[b][a];
}

// Where an arm's logits lie beside the reference's: the mean difference over the reference's top
// columns by their weight, none counted further than 1 from that of the first. Any shift serves;
// a near one keeps the sums of compare.comp well-conditioned.
#version 460
#extension GL_GOOGLE_include_directive : enable

layout(constant_id = 0) const uint TOP = 10;

#include "row.glsl"

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Reference { uint reference[]; };
layout(std430, binding = 1) readonly buffer Arm { uint arm[]; };
layout(std430, binding = 2) readonly buffer Picks { uint picks[]; };
layout(std430, binding = 3) readonly buffer Targets { uint targets[]; };
layout(std430, binding = 4) writeonly buffer Aims { uvec4 aims[]; }; // max, shift, target, -

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= threads)
        return;
    uint at = (first + i) * (PICK + TOP), base = (row + i) * stride, arm_base = (arm_row + i) * stride;
    float most = uintBitsToFloat(picks[at + 3u]);
    float start = 0.0, total = 0.0, off = 0.0;
    for (uint k = 0u; k < TOP; k++) {
        uint column = picks[at + PICK + k];
        uint rb = reference[base + column], ab = arm[arm_base + column];
        if (rb == NONE || ab == NONE || wrong(rb) || wrong(ab))
            continue;
        float r = uintBitsToFloat(rb), d = uintBitsToFloat(ab) - r;
        precise float x = r - most;
        float e = weight(x, 0.0);
        start = total == 0.0 ? d : start;
        off += e * clamp(d - start, -1.0, 1.0);
        total += e;
    }
    float shift = total > 0.0 ? start + off / total : 0.0;
    aims[first + i] = uvec4(picks[at + 3u], floatBitsToUint(shift), targets[first + i], 0u);
}

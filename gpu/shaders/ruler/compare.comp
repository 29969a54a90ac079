// One pass over the reference's and an arm's rows: the arm's peaks, and with x = r - max and
// d = (a - r) - shift the sums of e^x d, e^x (e^d - 1 - d) and e^x (e^d (d - 1) + 1) of a chunk.
// Twin: ks_gpu_ruler_twin_arm.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

#include "row.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Reference { uvec4 reference[]; };
layout(std430, binding = 1) readonly buffer Arm { uvec4 arm[]; };
layout(std430, binding = 2) readonly buffer Aims { uvec4 aims[]; };
layout(std430, binding = 3) writeonly buffer Keys { uvec2 keys[]; };
layout(std430, binding = 4) writeonly buffer Partials { uint partials[]; };

#include "peaks.glsl"
#include "tree.glsl"

const float FAR = 80.0; // e^d (d - 1) is still a float

// (e^d - 1 - d) / d^2
float phi_series(float d)
{
    float p = 2.5052108e-8;
    p = times_plus(p, d, 2.7557319e-7);
    p = times_plus(p, d, 2.7557319e-6);
    p = times_plus(p, d, 2.4801587e-5);
    p = times_plus(p, d, 1.9841270e-4);
    p = times_plus(p, d, 1.3888889e-3);
    p = times_plus(p, d, 8.3333333e-3);
    p = times_plus(p, d, 4.1666667e-2);
    p = times_plus(p, d, 1.6666667e-1);
    return times_plus(p, d, 0.5);
}

// e^d - 1 - d and e^d (d - 1) + 1. rest: what is missing in d, which matters where d is large.
vec2 phi_psi(float d, float rest)
{
    if (abs(d) < 1.0) {
        float p = phi_series(d);
        precise float square = d * d;
        precise float less = d - 1.0;
        precise float phi = p * square;
        precise float psi = times_plus(p, less, 1.0) * square;
        return vec2(phi, psi);
    }
    float e = exponential(clamp(d, -87.0, 88.0), rest);
    precise float less = d - 1.0;
    precise float phi = (e - 1.0) - d;
    return vec2(phi, times_plus(e, less, 1.0));
}

struct Terms {
    float d, phi, psi;
};

uint flags = 0u;

Terms terms(uint rb, uint ab, float most, float shift)
{
    if (rb == NONE || ab == NONE) {
        flags |= rb == ab ? 0u : 2u;
        return Terms(0.0, 0.0, 0.0);
    }
    float r = uintBitsToFloat(rb), a = uintBitsToFloat(ab);
    Pair x = difference(r, most), apart = difference(a, r);
    Pair off = difference(apart.high, shift);
    precise float low = off.low + apart.low;
    precise float d = off.high + low;
    precise float rest = low - (d - off.high);
    float e = weight(x);
    // e^x that counts as 0 must be nothing beside the arm's own weights as well.
    if (!(d <= FAR) || (e == 0.0 && !(x.high + d <= -43.0))) {
        flags |= 4u;
        return Terms(0.0, 0.0, 0.0);
    }
    vec2 f = phi_psi(d, rest);
    precise float ed = e * d;
    precise float ephi = e * f.x;
    precise float epsi = e * f.y;
    return Terms(ed, ephi, epsi);
}

void main()
{
    uint position = first + gl_WorkGroupID.y, chunk = gl_WorkGroupID.x;
    uint base = (row + gl_WorkGroupID.y) * (stride / 4u);
    uint arm_base = (arm_row + gl_WorkGroupID.y) * (stride / 4u);
    uvec4 aim = aims[position];
    set_target(arm[arm_base + aim.z / 4u][aim.z & 3u], aim.z);
    float most = uintBitsToFloat(aim.x), shift = uintBitsToFloat(aim.y);
    Pair ds = Pair(0.0, 0.0), phis = Pair(0.0, 0.0), psis = Pair(0.0, 0.0);
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        uint column = chunk * CHUNK + j * QUARTER + 4u * gl_LocalInvocationIndex;
        if (column >= width)
            break;
        uvec4 r = reference[base + column / 4u], a = arm[arm_base + column / 4u];
        vec4 d, phi, psi;
        [[unroll]] for (uint q = 0u; q < 4u; q++) {
            bool there = column + q < width;
            if (there)
                look(a[q], column + q);
            Terms s = terms(there ? r[q] : NONE, there ? a[q] : NONE, most, shift);
            d[q] = s.d;
            phi[q] = s.phi;
            psi[q] = s.psi;
        }
        ds = add_four(ds, d);
        phis = add_four(phis, phi);
        psis = add_four(psis, psi);
    }
    settle(position, chunk, flags);
    uint at = (position * chunks + chunk) * PARTIAL + 2u;
    store_sum(ds, at);
    store_sum(phis, at + 2u);
    store_sum(psis, at + 4u);
}

// One pass over the reference's and an arm's rows: the arm's peaks, and with x = r - max and
// d = (a - r) - shift the sums of e^x d, e^x (e^d - 1 - d) and e^x (e^d (d - 1) + 1) of a chunk.
// Twin: ks_gpu_ruler_twin_arm.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable

layout(constant_id = 0) const uint LANES = 8;

#include "row.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Reference { uvec4 reference[]; };
layout(std430, binding = 1) readonly buffer Arm { uvec4 arm[]; };
layout(std430, binding = 2) readonly buffer Aims { uvec4 aims[]; };
layout(std430, binding = 3) writeonly buffer Keys { uvec2 keys[]; };
layout(std430, binding = 4) writeonly buffer Partials { uint partials[]; };

#include "peaks.glsl"
const uint SUMS = 3u;
#include "tree.glsl"

const float FAR = 80.0; // e^d (d - 1) is still a float

struct Terms {
    float d, phi, psi;
};

uint flags = 0u;

// d, e^d - 1 - d and e^d (d - 1) + 1 for |d| < 1, where (e^d - 1 - d) / d^2 is a polynomial.
Terms close(float d)
{
    float p = 2.76909691e-6;
    p = times_plus(p, d, 2.53343005e-5);
    p = times_plus(p, d, 1.98444221e-4);
    p = times_plus(p, d, 1.38858100e-3);
    p = times_plus(p, d, 8.33330955e-3);
    p = times_plus(p, d, 4.16667163e-2);
    p = times_plus(p, d, 1.66666672e-1);
    p = times_plus(p, d, 0.5);
    precise float square = d * d;
    precise float less = d - 1.0;
    precise float phi = p * square;
    precise float psi = times_plus(p, less, 1.0) * square;
    return Terms(d, phi, psi);
}

// The same for all others: -inf is sorted out here, and e^d is told what d is rounded by.
Terms distant(uint rb, uint ab, float x, Pair apart, float shift)
{
    if (rb == NONE || ab == NONE) {
        flags |= rb == ab ? 0u : 2u;
        return Terms(0.0, 0.0, 0.0);
    }
    Pair off = difference(apart.high, shift);
    precise float low = off.low + apart.low;
    precise float d = off.high + low;
    precise float rest = low - (d - off.high);
    // e^x that counts as 0 must be nothing beside the arm's own weights as well.
    if (!(d <= FAR) || (x < LEAST && !(x + d <= -43.0))) {
        flags |= 4u;
        return Terms(0.0, 0.0, 0.0);
    }
    float e = exponential(max(d, -87.0), rest);
    precise float less = d - 1.0;
    precise float phi = (e - 1.0) - d;
    return Terms(d, phi, times_plus(e, less, 1.0));
}

// x and so the weight is rounded: it weighs what is of second order, and where d is small as well.
Terms terms(uint rb, uint ab, float most, float shift)
{
    float r = uintBitsToFloat(rb), a = uintBitsToFloat(ab);
    precise float x = r - most;
    Pair apart = difference(a, r);
    precise float d = (apart.high - shift) + apart.low;
    Terms t;
    if ((floatBitsToUint(d) & 0x7fffffffu) < 0x3f800000u) // |d| < 1, and no NaN
        t = close(d);
    else
        t = distant(rb, ab, x, apart, shift);
    float e = weight(x, 0.0);
    precise float ed = e * t.d;
    precise float ephi = e * t.phi;
    precise float epsi = e * t.psi;
    return Terms(ed, ephi, epsi);
}

void add_terms(inout Pair sums[SUMS], uvec4 r, uvec4 a, float most, float shift)
{
    vec4 d, phi, psi;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        Terms s = terms(r[q], a[q], most, shift);
        d[q] = s.d;
        phi[q] = s.phi;
        psi[q] = s.psi;
    }
    sums[0] = add_four(sums[0], d);
    sums[1] = add_four(sums[1], phi);
    sums[2] = add_four(sums[2], psi);
}

void main()
{
    uint position = first + gl_WorkGroupID.y, chunk = gl_WorkGroupID.x;
    uint base = (row + gl_WorkGroupID.y) * (stride / 4u);
    uint arm_base = (arm_row + gl_WorkGroupID.y) * (stride / 4u);
    uvec4 aim = aims[position];
    set_target(arm[arm_base + aim.z / 4u][aim.z & 3u], aim.z);
    float most = uintBitsToFloat(aim.x), shift = uintBitsToFloat(aim.y);
    Pair sums[SUMS] = Pair[](Pair(0.0, 0.0), Pair(0.0, 0.0), Pair(0.0, 0.0));
    for (uint from = 0u; from < SLICES && chunk * CHUNK + from * SLICE < width; from += AT_ONCE) {
        uvec4 r[AT_ONCE], a[AT_ONCE];
        [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
            uint column = column_of(chunk, from + j);
            r[j] = a[j] = uvec4(NONE);
            if (column < width) {
                r[j] = cut(reference[base + column / 4u], column);
                a[j] = cut(arm[arm_base + column / 4u], column);
            }
        }
        [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
            look(a[j], column_of(chunk, from + j));
            add_terms(sums, r[j], a[j], most, shift);
        }
    }
    settle(position, chunk, flags);
    store_sums(sums, position, chunk);
    barrier();
    store_tallies(position, chunk);
}

// One pass over the reference's and an arm's rows. With x = r - base, where base is about the
// reference's largest logit, and d = (a - r) - shift, the sums over a chunk of
//     where |d| < 1    D: e^x d    PHI: e^x (e^d - 1 - d)    CROSS: e^x d (e^d - 1)
//     elsewhere      FAR: e^x d    PHI: e^x (e^d - 1)        CROSS: e^x d e^d
// so that none loses digits to another that it is taken together with; EXP: e^x, EXP_X: e^x x; and how
// many columns come before the target. Twin: ks_gpu_ruler_twin_reference and _arm.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable

layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 1) const uint OWN = 1; // 0: the reference's own sums are not wanted

#include "row.glsl"

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Reference { uvec4 reference[]; };
layout(std430, binding = 1) readonly buffer Arm { uvec4 arm[]; };
layout(std430, binding = 2) readonly buffer Notes { uint notes[]; };
layout(std430, binding = 3) writeonly buffer Partials { uint partials[]; };

const uint WANTED = OWN != 0u ? SUMS : OF_ARM;
const uint RUN = 4u; // slices whose terms are added plainly
const uint AT_ONCE = 2u; // slices that a thread reads before it works on them
const float MOST = 80.0; // sums of e^(x + d) d are still floats

shared float table[TABLE]; // e^(-i / 16); the last is 0
shared uint all_before[2];
shared uint all_flags;

#include "tree.glsl"

uint base_bits;
float base, shift;
uint flags = 0u;
Pair far = Pair(0.0, 0.0);

struct Terms {
    float d, phi, cross, exp, exp_x;
};

// (e^d - 1 - d) / d^2 for |d| < 1
float near(float d)
{
    float p = 2.5679823e-05;
    p = times_plus(p, d, 2.03649179e-4);
    p = times_plus(p, d, 1.38822803e-3);
    p = times_plus(p, d, 8.33051186e-3);
    p = times_plus(p, d, 4.16667797e-2);
    p = times_plus(p, d, 1.66667044e-1);
    p = times_plus(p, d, 0.5);
    return p;
}

// Rounded to n / 16, a logit leaves f, up to 1/32, and its weight is e^f from the table's entry for
// the sixteenths from the base down. n / 16 + shift is exact, and subtracting it and f from the
// arm's logit all but exact: what is lost is below 2^-30, while a - r would lose more of small ones.
// d: for terms; where it is not below 1, they mean nothing.
Terms terms(uint rb, uint ab, out float d)
{
    float r = uintBitsToFloat(rb), a = uintBitsToFloat(ab);
    precise float shifted = r + SIXTEENTHS;
    precise float sixteenths = shifted - SIXTEENTHS;
    precise float f = r - sixteenths;
    float p = times_plus(0.166687146, f, 0.500034153);
    p = times_plus(p, f, 1.0);
    precise float q = p * f;
    float whole = table[min(base_bits - floatBitsToUint(shifted), TABLE - 1u)];
    float e = times_plus(whole, q, whole);
    precise float below = sixteenths + shift;
    precise float above = a - below;
    precise float apart = above - f;
    d = apart;
    precise float ed = e * d;
    precise float edd = ed * d;
    precise float phi = edd * near(d);
    float cross = times_plus(d, phi, edd);
    precise float x = r - base;
    precise float ex = e * x;
    return Terms(ed, phi, cross, e, ex);
}

// The same for all others, made of the arm's own weight e^(x + d); what is not finite is sorted out
// here.
Terms distant(uint rb, uint ab, Terms t)
{
    float r = uintBitsToFloat(rb), a = uintBitsToFloat(ab);
    bool there = !wrong(rb) && rb != NONE;
    Terms none = Terms(0.0, 0.0, 0.0, there ? t.exp : 0.0, there ? t.exp_x : 0.0);
    flags |= wrong(rb) ? WRONG_REFERENCE : 0u;
    flags |= wrong(ab) ? WRONG : 0u;
    if (!there || wrong(ab) || ab == NONE) {
        flags |= (rb == NONE) != (ab == NONE) ? UNEVEN : 0u;
        return none;
    }
    // x + d as a pair, so that the arm's weight is rounded once
    Pair apart = difference(a, r), off = difference(apart.high, shift), x = difference(r, base);
    precise float low = off.low + apart.low;
    precise float d = off.high + low;
    Pair sum = difference(d, -x.high);
    precise float rest = low - (d - off.high);
    precise float lower = (sum.low + x.low) + rest;
    if (!(sum.high <= MOST)) {
        flags |= RANGE;
        return none;
    }
    float e = exponential(max(sum.high, -87.0), lower);
    precise float more = e - t.exp;
    precise float ed = t.exp * d;
    precise float cross = e * d;
    far = add(far, ed);
    return Terms(0.0, more, cross, t.exp, t.exp_x);
}

void quad(uvec4 rb, uvec4 ab, out float sums[SUMS])
{
    vec4 d, phi, cross, exp, exp_x, apart;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        Terms t = terms(rb[q], ab[q], apart[q]);
        d[q] = t.d, phi[q] = t.phi, cross[q] = t.cross, exp[q] = t.exp, exp_x[q] = t.exp_x;
    }
    if (!all(lessThan(abs(apart), vec4(1.0)))) // NaN among them
        [[unroll]] for (uint q = 0u; q < 4u; q++)
            if (!(abs(apart[q]) < 1.0)) {
                Terms t = distant(rb[q], ab[q], Terms(0.0, 0.0, 0.0, exp[q], exp_x[q]));
                d[q] = t.d, phi[q] = t.phi, cross[q] = t.cross, exp[q] = t.exp, exp_x[q] = t.exp_x;
            }
    sums[D] = sum_of(d);
    sums[PHI] = sum_of(phi);
    sums[CROSS] = sum_of(cross);
    sums[FAR] = 0.0; // is added elsewhere
    sums[EXP] = sum_of(exp);
    sums[EXP_X] = sum_of(exp_x);
}

// ------------------------------------------------------------------ the chunk

uint column0, reference_at, arm_at; // the thread's first column in the chunk; its quads in the rows
uvec2 targets[2]; // keys
uint hits[2];     // slices whose block may hold columns before the target, as bits
uint before[2] = uint[](0u, 0u);

// What a thread has of some slices.
struct Quads {
    uvec4 reference[AT_ONCE], arm[AT_ONCE];
};

Quads read_whole(uint slice)
{
    Quads v;
    [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
        v.reference[j] = reference[reference_at + (slice + j) * THREADS];
        v.arm[j] = arm[arm_at + (slice + j) * THREADS];
    }
    return v;
}

// Columns past the row's end are read as if both rows held -inf.
uvec4 cut(uvec4 bits, uint column)
{
    return mix(uvec4(NONE), bits, lessThan(column + uvec4(0u, 1u, 2u, 3u), uvec4(width)));
}

Quads read_cut(uint slice)
{
    Quads v;
    [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
        uint quad = (slice + j) * THREADS, column = column0 + 4u * quad;
        v.reference[j] = v.arm[j] = uvec4(NONE);
        if (column < width) {
            v.reference[j] = cut(reference[reference_at + quad], column);
            v.arm[j] = cut(arm[arm_at + quad], column);
        }
    }
    return v;
}

uint count(uvec4 bits, uint column, uvec2 target)
{
    uint n = 0u;
    for (uint q = 0u; q < 4u; q++)
        n += above(uvec2(order(bits[q]), ~(column + q)), target) ? 1u : 0u;
    return n;
}

void work(Quads v, uint slice, inout float run[SUMS])
{
    [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
        float sums[SUMS];
        quad(v.reference[j], v.arm[j], sums);
        [[unroll]] for (uint s = 0u; s < WANTED; s++) {
            if (s == FAR)
                continue;
            precise float more = run[s] + sums[s];
            run[s] = more;
        }
        uint column = column0 + (slice + j) * SLICE;
        if (OWN != 0u && (hits[0] >> (slice + j) & 1u) != 0u)
            before[0] += count(v.reference[j], column, targets[0]);
        if ((hits[1] >> (slice + j) & 1u) != 0u)
            before[1] += count(v.arm[j], column, targets[1]);
    }
}

void start_run(out float run[SUMS])
{
    [[unroll]] for (uint s = 0u; s < SUMS; s++)
        run[s] = 0.0;
}

void end_run(float run[SUMS], inout Pair sums[SUMS])
{
    [[unroll]] for (uint s = 0u; s < WANTED; s++)
        if (s != FAR)
            sums[s] = add(sums[s], run[s]);
}

// n slices in whole runs; the next are on their way while a thread works on some.
void add_whole(uint n, inout Pair sums[SUMS])
{
    Quads next = read_whole(0u);
    for (uint slice = 0u; slice < n; slice += RUN) {
        float run[SUMS];
        start_run(run);
        [[unroll]] for (uint j = 0u; j < RUN; j += AT_ONCE) {
            Quads now = next;
            next = read_whole(min(slice + j, n - 2u * AT_ONCE) + AT_ONCE);
            work(now, slice + j, run);
        }
        end_run(run, sums);
    }
}

void add_cut(uint slice, inout Pair sums[SUMS])
{
    float run[SUMS];
    start_run(run);
    for (uint j = 0u; j < RUN; j += AT_ONCE)
        work(read_cut(slice + j), slice + j, run);
    end_run(run, sums);
}

void get_ready(uint position, uint chunk)
{
    uint t = gl_LocalInvocationIndex, record = record_of(position);
    for (uint i = t; i < TABLE; i += THREADS)
        table[i] = uintBitsToFloat(notes[i]);
    if (t == 0u) {
        all_before[0] = all_before[1] = 0u;
        all_flags = 0u;
    }
    base = uintBitsToFloat(notes[record]);
    shift = uintBitsToFloat(notes[record + 1u]);
    precise float shifted = base + SIXTEENTHS;
    base_bits = floatBitsToUint(shifted);
    uint target = notes[record + 2u];
    for (uint i = 0u; i < 2u; i++) {
        targets[i] = uvec2(notes[record + 3u + i], ~target);
        hits[i] = notes[record + RECORD + (i * chunks + chunk) * BLOCKS + t / (BLOCK / 4u)];
    }
    column0 = chunk * CHUNK + 4u * t;
    reference_at = (row + gl_WorkGroupID.y) * (stride / 4u) + column0 / 4u;
    arm_at = (arm_row + gl_WorkGroupID.y) * (stride / 4u) + column0 / 4u;
    barrier();
}

void tell_tallies(uint at)
{
    for (uint i = 0u; i < 2u; i++)
        if (before[i] != 0u)
            atomicAdd(all_before[i], before[i]);
    if (flags != 0u)
        atomicOr(all_flags, flags);
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        partials[at] = all_before[0];
        partials[at + 1u] = all_before[1];
        partials[at + 2u] = all_flags;
    }
}

void main()
{
    uint position = first + gl_WorkGroupID.y, chunk = gl_WorkGroupID.x;
    uint left = min(width - chunk * CHUNK, CHUNK); // columns
    get_ready(position, chunk);
    Pair sums[SUMS];
    [[unroll]] for (uint s = 0u; s < SUMS; s++)
        sums[s] = Pair(0.0, 0.0);
    uint whole = left / (RUN * SLICE) * RUN; // slices
    if (whole > 0u)
        add_whole(whole, sums);
    if (whole * SLICE < left)
        add_cut(whole, sums);
    sums[FAR] = far;
    uint at = (position * chunks + chunk) * PARTIAL;
    tell_tallies(at);
    store_sums(sums, at + 4u);
}

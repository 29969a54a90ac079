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
const uint RUN = 4u; // slices whose terms are added plainly: a power of two
const uint AT_ONCE = 2u; // slices that a thread reads before it works on them
const uint MOST = 80; // sums of e^(x + d) d are still floats

shared float table[TABLE]; // e^(-i / 16); the last is 0
// What is rarely needed costs no registers. Of the reference and of the arm: the target's key, the
// slices whose blocks may hold columns before it as bits, and how many there are.
shared uvec2 targets[2];
shared uint hits[2][BLOCKS];
shared uint before[2];
shared uint flags;

#include "tree.glsl"

uint base_bits;
float base, shift;
uint column0, reference_at, arm_at; // the thread's first column in the chunk; its quads in the rows

// What a thread has of some slices.
struct Quads {
    uvec4 reference[AT_ONCE], arm[AT_ONCE];
};

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

// whole e^f for |f| up to 1/32
float around(float whole, float f)
{
    float p = times_plus(0.166687146, f, 0.500034153);
    p = times_plus(p, f, 1.0);
    precise float q = p * f;
    return times_plus(whole, q, whole);
}

// Rounded to n / 16, a logit leaves f, up to 1/32, and its weight is e^f times the table's entry for
// the sixteenths that it is down from the base.
float weight(uint down, float f)
{
    return around(table[min(down, TABLE - 1u)], f);
}

// n / 16 + shift is exact, and subtracting it and f from the arm's logit all but exact: what is lost
// is below 2^-30, while a - r would lose more of small ones. apart is d for the terms; where it is
// not below 1, they mean nothing.
Terms terms(float r, float a, out float apart)
{
    precise float shifted = r + SIXTEENTHS;
    precise float sixteenths = shifted - SIXTEENTHS;
    precise float f = r - sixteenths;
    precise float below = sixteenths + shift;
    precise float over = a - below;
    precise float d = over - f;
    float e = weight(base_bits - floatBitsToUint(shifted), f);
    precise float ed = e * d;
    precise float edd = ed * d;
    precise float phi = edd * near(d);
    float cross = times_plus(d, phi, edd);
    precise float x = r - base;
    precise float ex = e * x;
    apart = d;
    return Terms(ed, phi, cross, e, ex);
}

// far: bits of columns, 4 of each slice from the first on, that add_far has to look at.
void add_quad(uvec4 rb, uvec4 ab, uint bit, inout float run[SUMS], inout uint far)
{
    vec4 d, phi, cross, exp, exp_x, apart;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        Terms t = terms(uintBitsToFloat(rb[q]), uintBitsToFloat(ab[q]), apart[q]);
        d[q] = t.d, phi[q] = t.phi, cross[q] = t.cross, exp[q] = t.exp, exp_x[q] = t.exp_x;
    }
    if (!all(lessThan(abs(apart), vec4(1.0)))) // NaN among them
        [[unroll]] for (uint q = 0u; q < 4u; q++)
            if (!(abs(apart[q]) < 1.0)) {
                far |= 1u << bit + q;
                d[q] = phi[q] = cross[q] = 0.0;
                if (infinite(rb[q]))
                    exp[q] = exp_x[q] = 0.0;
            }
    run[D] = plus(run[D], sum_of(d));
    run[PHI] = plus(run[PHI], sum_of(phi));
    run[CROSS] = plus(run[CROSS], sum_of(cross));
    if (OWN != 0u) {
        run[EXP] = plus(run[EXP], sum_of(exp));
        run[EXP_X] = plus(run[EXP_X], sum_of(exp_x));
    }
}

// ------------------------------------------------------------------ what is rare

// e^(a - shift - base): the sixteenths of both logits and of the shift, and what they leave. Weights
// above the base have no entry in the table.
float arm_weight(float a)
{
    precise float of_a = a + SIXTEENTHS;
    precise float of_shift = shift + SIXTEENTHS;
    precise float left = (a - (of_a - SIXTEENTHS)) - (shift - (of_shift - SIXTEENTHS));
    precise float of_left = left + SIXTEENTHS;
    precise float f = left - (of_left - SIXTEENTHS);
    uint down = base_bits - floatBitsToUint(of_a) + floatBitsToUint(of_shift) -
                floatBitsToUint(of_left);
    if (int(down) >= 0)
        return weight(down, f);
    if (int(down) < -16 * int(MOST)) {
        atomicOr(flags, RANGE);
        return 0.0;
    }
    precise float up = float(-int(down)) * 0.0625;
    return around(exponential(up), f);
}

// Terms that are made of the arm's own weight e^(x + d). What is not finite is sorted out here.
void add_distant(uint rb, uint ab, inout Pair sums[SUMS])
{
    if (infinite(rb) || infinite(ab)) {
        atomicOr(flags, (wrong(rb) ? WRONG_REFERENCE : 0u) | (wrong(ab) ? WRONG : 0u) |
                            ((rb == NONE) != (ab == NONE) ? UNEVEN : 0u));
        return;
    }
    float r = uintBitsToFloat(rb), a = uintBitsToFloat(ab);
    precise float shifted = r + SIXTEENTHS;
    precise float sixteenths = shifted - SIXTEENTHS;
    precise float f = r - sixteenths;
    precise float below = sixteenths + shift;
    precise float over = a - below;
    precise float d = over - f;
    float e = weight(base_bits - floatBitsToUint(shifted), f);
    float of_arm = arm_weight(a);
    precise float more = of_arm - e;
    precise float ed = e * d;
    precise float cross = of_arm * d;
    sums[FAR] = add(sums[FAR], ed);
    sums[PHI] = add(sums[PHI], more);
    sums[CROSS] = add(sums[CROSS], cross);
}

// The columns that are far, read again.
void add_far(uint slice, uint far, inout Pair sums[SUMS])
{
    for (; far != 0u; far &= far - 1u) {
        uint i = findLSB(far), at = (slice + i / 4u) * THREADS, q = i % 4u;
        if (column0 + 4u * at + q < width)
            add_distant(reference[reference_at + at][q], arm[arm_at + at][q], sums);
    }
}

uint count(uvec4 bits, uint column, uvec2 target)
{
    uint n = 0u;
    for (uint q = 0u; q < 4u && column + q < width; q++)
        n += above(uvec2(order(bits[q]), ~(column + q)), target) ? 1u : 0u;
    return n;
}

void count_before(uint slice, uint n)
{
    uint block = gl_LocalInvocationIndex / (BLOCK / 4u);
    uvec2 left = uvec2(OWN != 0u ? hits[0][block] : 0u, hits[1][block]);
    left = left >> slice & (1u << n) - 1u;
    for (uint s = slice; (left.x | left.y) != 0u; s++, left >>= 1u) {
        uint at = s * THREADS, column = column0 + 4u * at;
        if (column >= width)
            continue;
        if ((left.x & 1u) != 0u)
            atomicAdd(before[0], count(reference[reference_at + at], column, targets[0]));
        if ((left.y & 1u) != 0u)
            atomicAdd(before[1], count(arm[arm_at + at], column, targets[1]));
    }
}

// ------------------------------------------------------------------ the chunk

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
Quads read_cut(uint slice)
{
    Quads v;
    [[unroll]] for (uint j = 0u; j < AT_ONCE; j++) {
        uint quad = (slice + j) * THREADS, column = column0 + 4u * quad;
        bvec4 there = lessThan(column + uvec4(0u, 1u, 2u, 3u), uvec4(width));
        v.reference[j] = v.arm[j] = uvec4(NONE);
        if (there.x) {
            v.reference[j] = mix(uvec4(NONE), reference[reference_at + quad], there);
            v.arm[j] = mix(uvec4(NONE), arm[arm_at + quad], there);
        }
    }
    return v;
}

void start_run(out float run[SUMS])
{
    [[unroll]] for (uint s = 0u; s < SUMS; s++)
        run[s] = 0.0;
}

// bit: of the first column in far.
void add_quads(Quads v, uint bit, inout float run[SUMS], inout uint far)
{
    [[unroll]] for (uint i = 0u; i < AT_ONCE; i++)
        add_quad(v.reference[i], v.arm[i], bit + 4u * i, run, far);
}

void end_run(float run[SUMS], inout Pair sums[SUMS])
{
    [[unroll]] for (uint s = 0u; s < WANTED; s++)
        if (s != FAR)
            sums[s] = add(sums[s], run[s]);
}

// n slices in whole runs; the next are on their way while a thread works on some. What is rare waits
// for two runs, so that more threads have to do with it at once.
void add_whole(uint n, inout Pair sums[SUMS])
{
    Quads next = read_whole(0u);
    uint far = 0u;
    for (uint slice = 0u; slice < n; slice += RUN) {
        float run[SUMS];
        uint second = slice & RUN;
        start_run(run);
        [[unroll]] for (uint j = 0u; j < RUN; j += AT_ONCE) {
            Quads now = next;
            next = read_whole(min(slice + j, n - 2u * AT_ONCE) + AT_ONCE);
            add_quads(now, 4u * (second + j), run, far);
        }
        end_run(run, sums);
        if (second != 0u || slice + RUN == n) {
            add_far(slice - second, far, sums);
            count_before(slice - second, second + RUN);
            far = 0u;
        }
    }
}

void add_cut(uint slice, inout Pair sums[SUMS])
{
    float run[SUMS];
    uint far = 0u;
    start_run(run);
    for (uint j = 0u; j < RUN; j += AT_ONCE)
        add_quads(read_cut(slice + j), 4u * j, run, far);
    end_run(run, sums);
    add_far(slice, far, sums);
    count_before(slice, RUN);
}

void get_ready(uint position, uint chunk)
{
    uint t = gl_LocalInvocationIndex, record = record_of(position);
    for (uint i = t; i < TABLE; i += THREADS)
        table[i] = uintBitsToFloat(notes[i]);
    base = uintBitsToFloat(notes[record]);
    shift = uintBitsToFloat(notes[record + 1u]);
    precise float shifted = base + SIXTEENTHS;
    base_bits = floatBitsToUint(shifted);
    if (t < 2u) {
        targets[t] = uvec2(notes[record + 3u + t], ~notes[record + 2u]);
        before[t] = 0u;
        flags = 0u;
    }
    if (t < 2u * BLOCKS)
        hits[t / BLOCKS][t % BLOCKS] =
            notes[record + RECORD + (t / BLOCKS * chunks + chunk) * BLOCKS + t % BLOCKS];
    column0 = chunk * CHUNK + 4u * t;
    reference_at = (row + gl_WorkGroupID.y) * (stride / 4u) + column0 / 4u;
    arm_at = (arm_row + gl_WorkGroupID.y) * (stride / 4u) + column0 / 4u;
    barrier();
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
    uint at = (position * chunks + chunk) * PARTIAL;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        partials[at] = before[0];
        partials[at + 1u] = before[1];
        partials[at + 2u] = flags;
    }
    store_sums(sums, at + 4u);
}

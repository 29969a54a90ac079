// What has to be known of a position before its rows are summed: the top columns of both, which lie
// in the blocks with the largest maxima, so that only those are read; where the reference's weights
// are counted from; where the arm's logits lie beside the reference's; and which blocks hold columns
// that come before the target. Twin: ks_gpu_ruler_twin_peaks.
//
// Two work-groups for each position: one looks at the reference, one at the arm.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(constant_id = 0) const uint TOP = 10;
layout(constant_id = 1) const uint EACH = 10; // blocks of a thread

#include "row.glsl"

const uint PICKERS = 128; // and columns of a block, and blocks of a chunk

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Reference { uint reference[]; };
layout(std430, binding = 1) readonly buffer Arm { uint arm[]; };
layout(std430, binding = 2) readonly buffer ReferenceMaxima { uint reference_maxima[]; };
layout(std430, binding = 3) readonly buffer ArmMaxima { uint arm_maxima[]; };
layout(std430, binding = 4) buffer Notes { uint notes[]; };
layout(std430, binding = 5) writeonly buffer Answers { uint answers[]; };

const uint CANDIDATES = TOP * (TOP > EACH ? TOP : EACH);
const uint AT_ONCE = 32; // chunks whose blocks are noted together

shared uint rest; // order of the largest logit in a last block that is not whole
shared uvec2 firsts[PICKERS];
shared uvec2 threshold;
shared uvec2 candidates[CANDIDATES];
shared uint n_candidates;
shared uvec2 chosen[TOP]; // keys of the top blocks, then of the top columns
shared vec2 weighed[TOP]; // weight and difference of a top column
shared uint hits[AT_ONCE * BLOCKS];

bool of_arm;
uint position, reference_base, arm_base;

uint logit(uint column)
{
    return of_arm ? arm[arm_base + column] : reference[reference_base + column];
}

uint maximum(uint block)
{
    if (block == width / BLOCK)
        return rest;
    return of_arm ? arm_maxima[arm_base / BLOCK + block]
                  : reference_maxima[reference_base / BLOCK + block];
}

void find_rest()
{
    uint column = width / BLOCK * BLOCK + gl_LocalInvocationIndex;
    if (gl_LocalInvocationIndex == 0u)
        rest = 0u;
    barrier();
    if (column < width)
        atomicMax(rest, order(logit(column)));
    barrier();
}

// ------------------------------------------------------------------ top columns

// Keys of the columns that a thread has of the top blocks, or of the blocks that it has of all. An
// order of 0 is none.
uvec2 key_of(bool columns, uint i)
{
    uint t = gl_LocalInvocationIndex;
    if (columns) {
        uint column = ~chosen[i].y * BLOCK + t;
        bool there = chosen[i].x != 0u && column < width;
        return uvec2(there ? order(logit(column)) : 0u, ~column);
    }
    uint block = i * PICKERS + t;
    return uvec2(block * BLOCK < width ? maximum(block) : 0u, ~block);
}

// The top of all keys, largest first. Not less than the threshold, which so many threads' largest
// reach, are few of them: those are put in order by counting.
void choose(bool columns, uint n)
{
    uint t = gl_LocalInvocationIndex;
    uvec2 first = uvec2(0u);
    for (uint i = 0u; i < n; i++) {
        uvec2 key = key_of(columns, i);
        first = above(key, first) ? key : first;
    }
    firsts[t] = first;
    if (t == 0u) {
        threshold = uvec2(1u, 0u);
        n_candidates = 0u;
    }
    barrier();
    uint place = 0u;
    for (uint i = 0u; i < PICKERS; i++)
        place += above(firsts[i], first) ? 1u : 0u;
    if (place == TOP - 1u && first.x != 0u)
        threshold = first;
    barrier();
    if (!above(threshold, first))
        for (uint i = 0u; i < n; i++) {
            uvec2 key = key_of(columns, i);
            if (!above(threshold, key))
                candidates[atomicAdd(n_candidates, 1u)] = key;
        }
    barrier();
    if (t < TOP)
        chosen[t] = uvec2(0u);
    barrier();
    for (uint c = t; c < n_candidates; c += PICKERS) {
        uint before = 0u;
        for (uint i = 0u; i < n_candidates; i++)
            before += above(candidates[i], candidates[c]) ? 1u : 0u;
        if (before < TOP)
            chosen[before] = candidates[c];
    }
    barrier();
}

// Of the largest; 0 where NaN, which are in no order, have left a place empty.
uint top_column(uint i)
{
    return chosen[i].x != 0u ? ~chosen[i].y : 0u;
}

// ------------------------------------------------------------------ notes

void weigh(uint i, float most)
{
    uint column = top_column(i);
    uint rb = reference[reference_base + column], ab = arm[arm_base + column];
    bool there = rb != NONE && ab != NONE && !wrong(rb) && !wrong(ab);
    float r = uintBitsToFloat(rb), d = uintBitsToFloat(ab) - r;
    precise float x = r - most;
    weighed[i] = there ? vec2(exponential(max(x, LEAST), 0.0), d) : vec2(0.0);
}

// The mean difference over the reference's top columns by their weight, none counted further than 1
// from that of the first. Any shift serves: a near one keeps the sums well-conditioned, and one of
// few bits keeps what it is added to exact.
float shift_of()
{
    float start = 0.0, total = 0.0, off = 0.0;
    for (uint i = 0u; i < TOP; i++) {
        float e = weighed[i].x, d = weighed[i].y;
        start = total == 0.0 ? d : start;
        off += e * clamp(d - start, -1.0, 1.0);
        total += e;
    }
    precise float shifted = (total > 0.0 ? start + off / total : 0.0) + 49152.0; // to 1/256
    precise float shift = shifted - 49152.0;
    return shift;
}

void note_reference(uint record, float most)
{
    precise float shifted = most + SIXTEENTHS;
    precise float base = shifted - SIXTEENTHS;
    float shift = shift_of();
    uint at = position * (ANSWER + 2u * TOP);
    notes[record] = floatBitsToUint(base);
    notes[record + 1u] = floatBitsToUint(shift);
    answers[at + 7u] = floatBitsToUint(shift);
    answers[at + 8u] = floatBitsToUint(base);
}

// Threads have a block each of a chunk: slice t / 4, and the word t % 4.
void note_blocks(uint at, uint target)
{
    uint t = gl_LocalInvocationIndex;
    for (uint from = 0u; from < chunks; from += AT_ONCE) {
        uint n = min(chunks - from, AT_ONCE);
        hits[t] = 0u;
        barrier();
        for (uint c = 0u; c < n; c++) {
            uint block = (from + c) * PICKERS + t;
            if (block * BLOCK < width && maximum(block) >= target)
                atomicOr(hits[c * BLOCKS + t % BLOCKS], 1u << t / BLOCKS);
        }
        barrier();
        if (t < n * BLOCKS)
            notes[at + from * BLOCKS + t] = hits[t];
    }
}

void main()
{
    uint t = gl_LocalInvocationIndex, which = gl_WorkGroupID.y;
    of_arm = which != 0u;
    position = first + gl_WorkGroupID.x;
    reference_base = (row + gl_WorkGroupID.x) * stride;
    arm_base = (arm_row + gl_WorkGroupID.x) * stride;
    uint record = record_of(position), at = position * (ANSWER + 2u * TOP);
    uint target = notes[TARGETS + position], target_bits = logit(target);
    find_rest();
    note_blocks(record + RECORD + (of_arm ? BLOCKS * chunks : 0u), order(target_bits));
    choose(false, EACH);
    choose(true, TOP);
    uint most = logit(top_column(0u));
    if (t < TOP) {
        answers[at + ANSWER + which * TOP + t] = top_column(t);
        if (!of_arm)
            weigh(t, uintBitsToFloat(most));
    }
    barrier();
    if (t == 0u) {
        notes[record + 3u + which] = order(target_bits);
        answers[at + 3u + which] = target_bits;
        answers[at + 5u + which] = most;
        if (!of_arm) {
            notes[record + 2u] = target;
            note_reference(record, uintBitsToFloat(most));
        }
    }
}

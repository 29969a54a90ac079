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

#include "row.glsl"

const uint PICKERS = 128; // and columns of a block, and blocks of a chunk

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Reference { uint reference[]; };
layout(std430, binding = 1) readonly buffer Arm { uint arm[]; };
layout(std430, binding = 2) readonly buffer ReferenceMaxima { uint reference_maxima[]; };
layout(std430, binding = 3) readonly buffer ArmMaxima { uint arm_maxima[]; };
layout(std430, binding = 4) buffer Notes { uint notes[]; };
layout(std430, binding = 5) writeonly buffer Aimed { uint aimed[]; };

const uint CHUNKS = 32;   // that a row has at most
const uint AT_ONCE = 8;   // chunks whose maxima are on their way
const uint GROUP = TOP <= 16 ? 4 : 1; // threads
const uint GROUPS = PICKERS / GROUP;

shared uint rest; // order of the largest logit in a last block that is not whole
shared uint hits[CHUNKS * BLOCKS];
shared uvec2 firsts[PICKERS], groups[GROUPS]; // largest keys
shared uvec2 threshold;
shared uvec2 candidates[TOP * GROUP * CHUNKS];
shared uint n_candidates;
shared uvec2 chosen[TOP]; // keys of the top blocks, then of the top columns
shared uint top_blocks[TOP];
shared vec2 weighed[TOP]; // weight and difference of a top column

bool of_arm;
uint position, reference_base, arm_base;

uint logit(uint column)
{
    return of_arm ? arm[arm_base + column] : reference[reference_base + column];
}

// ------------------------------------------------------------------ blocks

void find_rest()
{
    uint column = width / BLOCK * BLOCK + gl_LocalInvocationIndex;
    uint mine = column < width ? order(logit(column)) : 0u;
    if (gl_LocalInvocationIndex == 0u)
        rest = 0u;
    barrier();
    atomicMax(rest, mine);
    barrier();
}

// Keys of a thread's block of some chunks; an order of 0 is none. All are on their way before one is
// waited for.
void read_blocks(uint chunk, out uvec2 keys[AT_ONCE])
{
    uint t = gl_LocalInvocationIndex, last = (width - 1u) / BLOCK, found[AT_ONCE];
    if (of_arm)
        [[unroll]] for (uint i = 0u; i < AT_ONCE; i++)
            found[i] = arm_maxima[arm_base / BLOCK + min((chunk + i) * PICKERS + t, last)];
    else
        [[unroll]] for (uint i = 0u; i < AT_ONCE; i++)
            found[i] = reference_maxima[reference_base / BLOCK + min((chunk + i) * PICKERS + t, last)];
    [[unroll]] for (uint i = 0u; i < AT_ONCE; i++) {
        uint block = (chunk + i) * PICKERS + t, whole = width / BLOCK;
        uint own = block < whole ? found[i] : block == whole ? rest : 0u;
        keys[i] = uvec2(own, ~block);
    }
}

// The largest of a thread's. Notes which hold columns before the target: of a chunk, block t is slice
// t / 4, a bit, of the word t % 4.
uvec2 look_at_blocks(uint at, uint target)
{
    uint t = gl_LocalInvocationIndex;
    uvec2 first = uvec2(0u);
    hits[t] = 0u;
    barrier();
    for (uint chunk = 0u; chunk < chunks; chunk += AT_ONCE) {
        uvec2 keys[AT_ONCE];
        read_blocks(chunk, keys);
        [[unroll]] for (uint i = 0u; i < AT_ONCE; i++) {
            first = above(keys[i], first) ? keys[i] : first;
            if (keys[i].x != 0u && keys[i].x >= target)
                atomicOr(hits[(chunk + i) * BLOCKS + t % BLOCKS], 1u << t / BLOCKS);
        }
    }
    barrier();
    if (t < chunks * BLOCKS)
        notes[at + t] = hits[t];
    return first;
}

// ------------------------------------------------------------------ the top

// Groups of threads have a largest key each. That in the top's last place is the threshold, which as
// many groups reach as the top has places, so few keys.
void find_threshold(uvec2 first)
{
    uint t = gl_LocalInvocationIndex;
    firsts[t] = first;
    if (t == 0u) {
        threshold = uvec2(1u, 0u);
        n_candidates = 0u;
    }
    barrier();
    uvec2 mine = uvec2(0u);
    if (t < GROUPS) {
        [[unroll]] for (uint i = 0u; i < GROUP; i++)
            mine = above(firsts[GROUP * t + i], mine) ? firsts[GROUP * t + i] : mine;
        groups[t] = mine;
    }
    barrier();
    if (mine.x != 0u) {
        uint place = 0u;
        [[unroll]] for (uint i = 0u; i < GROUPS; i++)
            place += above(groups[i], mine) ? 1u : 0u;
        if (place == TOP - 1u)
            threshold = mine;
    }
    barrier();
}

void offer(uvec2 key)
{
    if (!above(threshold, key))
        candidates[atomicAdd(n_candidates, 1u)] = key;
}

// Puts the candidates in order, by counting those before each.
void choose()
{
    uint t = gl_LocalInvocationIndex;
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

void choose_blocks(uvec2 first)
{
    uint t = gl_LocalInvocationIndex;
    find_threshold(first);
    if (!above(threshold, first))
        for (uint chunk = 0u; chunk < chunks; chunk += AT_ONCE) {
            uvec2 keys[AT_ONCE];
            read_blocks(chunk, keys);
            [[unroll]] for (uint i = 0u; i < AT_ONCE; i++)
                offer(keys[i]);
        }
    choose();
    if (t < TOP)
        top_blocks[t] = chosen[t].x != 0u ? ~chosen[t].y : ~0u;
    barrier();
}

// A thread has a column of each of the top blocks.
void read_columns(out uvec2 keys[TOP])
{
    uint t = gl_LocalInvocationIndex;
    [[unroll]] for (uint i = 0u; i < TOP; i++)
        keys[i].y = min(top_blocks[i], (width - 1u) / BLOCK) * BLOCK + t;
    if (of_arm)
        [[unroll]] for (uint i = 0u; i < TOP; i++)
            keys[i].x = arm[arm_base + min(keys[i].y, width - 1u)];
    else
        [[unroll]] for (uint i = 0u; i < TOP; i++)
            keys[i].x = reference[reference_base + min(keys[i].y, width - 1u)];
    [[unroll]] for (uint i = 0u; i < TOP; i++) {
        bool there = top_blocks[i] != ~0u && keys[i].y < width;
        keys[i] = uvec2(there ? order(keys[i].x) : 0u, ~keys[i].y);
    }
}

void choose_columns()
{
    uvec2 keys[TOP], first = uvec2(0u);
    read_columns(keys);
    [[unroll]] for (uint i = 0u; i < TOP; i++)
        first = above(keys[i], first) ? keys[i] : first;
    find_threshold(first);
    [[unroll]] for (uint i = 0u; i < TOP; i++)
        offer(keys[i]);
    choose();
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
    bool there = !infinite(rb) && !infinite(ab);
    float r = uintBitsToFloat(rb), d = uintBitsToFloat(ab) - r;
    precise float x = r - most;
    weighed[i] = there ? vec2(exponential(max(x, LEAST)), d) : vec2(0.0);
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
    aimed[at + 7u] = floatBitsToUint(shift);
    aimed[at + 8u] = floatBitsToUint(base);
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
    uint blocks_at = record + RECORD + (of_arm ? BLOCKS * chunks : 0u);
    choose_blocks(look_at_blocks(blocks_at, order(target_bits)));
    choose_columns();
    uint most = logit(top_column(0u));
    if (t < TOP) {
        aimed[at + ANSWER + which * TOP + t] = top_column(t);
        if (!of_arm)
            weigh(t, uintBitsToFloat(most));
    }
    barrier();
    if (t == 0u) {
        notes[record + 3u + which] = order(target_bits);
        aimed[at + 3u + which] = target_bits;
        aimed[at + 5u + which] = most;
        if (!of_arm) {
            notes[record + 2u] = target;
            note_reference(record, uintBitsToFloat(most));
        }
    }
}

// Few positions: y(POSITIONS, rows) = x W^T straight from the packed weight, which is read once.
//
// A unit of 16 columns is summed by itself and added to one of 16 chains, which are added pairwise at
// last. Which chain hangs on the unit's place in its group alone, so the bits are the same however
// many threads share a row. Twin: ks_gpu_twin_few.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint HALVES = 0;    // as in halves.glsl
layout(constant_id = 2) const uint LANES = 4;     // threads of a row: divides 16 / TOGETHER
layout(constant_id = 3) const uint ROWS = 1;      // of a thread, which share what is read of x
layout(constant_id = 4) const uint POSITIONS = 1; // 1, 2, 4 or 8
layout(constant_id = 5) const uint SLAB = 4;      // groups of x in shared memory
layout(constant_id = 6) const uint AHEAD = 1;     // groups whose bytes are asked for at once
layout(constant_id = 7) const uint BESIDE = 2;    // neighbouring threads that have different rows

#include "weights/layouts.glsl"

layout(std430, binding = 3) readonly buffer X { vec4 x[]; };   // (positions, COLS)
layout(std430, binding = 4) writeonly buffer Y { float y[]; }; // (positions, stride)
layout(push_constant) uniform Where
{
    uint first, rows;      // of the weight, in this dispatch
    uint x_first;          // position in x
    uint positions;        // of POSITIONS that exist
    uint y_first, y_column; // position and column in y of x_first and of `first`
    uint stride;
};

const uint GROUPS = (UNITS + 15u) / 16u;
const uint PER = 16u / LANES;        // chains of a thread
const uint PIECES = PER / TOGETHER;  // of a thread in a group

// By the j-th vec4 of a unit first, and units in the order in which neighbouring lanes take them.
shared vec4 slab[POSITIONS * 4u * SLAB * 16u];

uint in_slab(uint p, uint j, uint group, uint piece, uint i)
{
    return ((p * 4u + j) * SLAB + group) * 16u + i * (16u / TOGETHER) + piece;
}

// From group `from` on; what lies past the last column is not used.
void load_slab(uint from)
{
    for (uint at = gl_LocalInvocationIndex; at < POSITIONS * SLAB * 64u; at += gl_WorkGroupSize.x) {
        uint p = at / (SLAB * 64u), c = at % (SLAB * 64u), unit = c / 4u % 16u;
        vec4 v = vec4(0.0);
        if (p < positions && from * 64u + c < COLS / 4u)
            v = x[(x_first + p) * (COLS / 4u) + from * 64u + c];
        slab[in_slab(p, c % 4u, c / 64u, piece_of(unit), place_in_piece(unit))] = v;
    }
}

Packed packed[AHEAD * PIECES * ROWS];
float chains[ROWS * POSITIONS][PER];

bool exists(uint group, uint piece)
{
    return group < GROUPS && (UNITS % 16u == 0u || group * 16u + piece * TOGETHER < UNITS);
}

void fetch_ahead(uint row0, uint group, uint lane)
{
    [[unroll]] for (uint n = 0u; n < AHEAD * PIECES; n++)
        if (exists(group + n / PIECES, n % PIECES * LANES + lane))
            [[unroll]] for (uint r = 0u; r < ROWS; r++)
                packed[n * ROWS + r] = fetch(first + min(row0 + r, rows - 1u), group + n / PIECES,
                                             n % PIECES * LANES + lane);
}

// The i-th units of the pieces that were fetched as number n.
void add_units(uint n, uint group, uint piece, uint i)
{
    float sums[ROWS * POSITIONS];
    [[unroll]] for (uint s = 0u; s < ROWS * POSITIONS; s++)
        sums[s] = 0.0;
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        vec4 q[ROWS];
        [[unroll]] for (uint r = 0u; r < ROWS; r++)
            q[r] = unpack(packed[n * ROWS + r], i, j);
        [[unroll]] for (uint p = 0u; p < POSITIONS; p++) {
            vec4 v = slab[in_slab(p, j, group, piece, i)];
            [[unroll]] for (uint r = 0u; r < ROWS; r++)
                [[unroll]] for (uint c = 0u; c < 4u; c++)
                    sums[r * POSITIONS + p] += q[r][c] * v[c];
        }
    }
    [[unroll]] for (uint s = 0u; s < ROWS * POSITIONS; s++)
        chains[s][n % PIECES * TOGETHER + i] +=
            factor_of(packed[n * ROWS + s / POSITIONS], i) * sums[s];
}

// The 16 chains of a row and position, c and c + 8 first, then c and c + 4, and so on.
float total(uint s)
{
    float t[PER];
    [[unroll]] for (uint i = 0u; i < PER; i++)
        t[i] = chains[s][i];
    if (TOGETHER == 4u) { // PER is 4: a thread has chains 2 apart in a half
        [[unroll]] for (uint i = 0u; i < 4u; i++)
            t[i % PER] += subgroupShuffleXor(t[i % PER], 2u * BESIDE);
        float sum = (t[0] + t[2 % PER]) + (t[1 % PER] + t[3 % PER]);
        return sum + subgroupShuffleXor(sum, BESIDE);
    }
    [[unroll]] for (uint n = PIECES / 2u; n > 0u; n >>= 1)
        [[unroll]] for (uint i = 0u; i < n * TOGETHER; i++)
            t[i] += t[i + n * TOGETHER];
    [[unroll]] for (uint apart = LANES / 2u; apart > 0u; apart >>= 1)
        [[unroll]] for (uint i = 0u; i < TOGETHER; i++)
            t[i] += subgroupShuffleXor(t[i], apart * BESIDE);
    return TOGETHER == 2u ? t[0] + t[1 % PER] : t[0];
}

void main()
{
    uint t = gl_LocalInvocationIndex, lane = t / BESIDE % LANES;
    uint row0 = (gl_WorkGroupID.x * (256u / LANES) + t / (BESIDE * LANES) * BESIDE + t % BESIDE) * ROWS;
    [[unroll]] for (uint s = 0u; s < ROWS * POSITIONS; s++)
        [[unroll]] for (uint i = 0u; i < PER; i++)
            chains[s][i] = 0.0;
    begin_layout(); // a barrier follows
    for (uint group = 0u; group < GROUPS; group += AHEAD) {
        fetch_ahead(row0, group, lane);
        if (group % SLAB == 0u) { // while the weight is on its way
            if (group > 0u)
                barrier();
            load_slab(group);
            barrier();
        }
        [[unroll]] for (uint n = 0u; n < AHEAD * PIECES; n++) {
            uint here = group + n / PIECES, piece = n % PIECES * LANES + lane;
            if (exists(here, piece))
                [[unroll]] for (uint i = 0u; i < TOGETHER; i++)
                    add_units(n, here % SLAB, piece, i);
        }
    }
    [[unroll]] for (uint s = 0u; s < ROWS * POSITIONS; s++) {
        uint r = s / POSITIONS, p = s % POSITIONS;
        float sum = total(s);
        if (lane == s % LANES && row0 + r < rows && p < positions)
            y[(y_first + p) * stride + y_column + row0 + r] = sum;
    }
}

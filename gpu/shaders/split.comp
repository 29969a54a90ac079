// Splits rows of x, each multiplied by a power of two that brings its largest element to 2^14 .. 2^15,
// into two halves whose sum it is within 2^-23; of elements below 2^-16 of the largest, within 2^-39
// of that. Integers alone: a compiler may take f - float(half(f)) for 0. A row that is not finite gets a
// factor of NaN, which is what its products then are. Twin: ks_gpu_twin_split.
//
// The halves lie as lanes hold them: (height / 16, cols / 16, 2, 32 lanes, 8 elements), high before low.
// A work-group takes 16 positions and some of their columns.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 256) in;

const uint HALVES = 0; // as in halves.glsl
#include "weights/halves.glsl"
#include "power.glsl"

layout(std430, binding = 0) readonly buffer X { float x[]; }; // (positions, cols)
layout(std430, binding = 0) readonly buffer XWide { uvec4 x_wide[]; };
layout(std430, binding = 1) writeonly buffer Halves { uvec4 halves[]; };
layout(std430, binding = 2) writeonly buffer Factors { float factors[]; };
layout(std430, binding = 3) readonly buffer Lanes { uint lanes[]; }; // matrix/lanes.comp
layout(push_constant) uniform Where
{
    uint positions, height, cols;
    uint block; // elements whose sum is wanted: factors hold what undoes the powers (height), and
                // behind that the sums (cols / block, height); 0 for none
};

const uint ROWS = 16u;
const uint ACROSS = 256u; // columns of a work-group

shared uint largest[ROWS];

// The element of one of the work-group's rows, times its row's power.
float scaled(uint row, uint k)
{
    uint position = gl_WorkGroupID.x * ROWS + row;
    if (position >= positions || largest[row] >= INFINITE)
        return 0.0;
    return raise(floatBitsToUint(x[position * cols + k]), exponent_of(largest[row]));
}

void find_largest()
{
    uint row = gl_LocalInvocationIndex / ROWS, position = gl_WorkGroupID.x * ROWS + row;
    if (gl_LocalInvocationIndex < ROWS)
        largest[gl_LocalInvocationIndex] = 0u;
    barrier();
    uint here = 0u;
    if (position < positions)
        for (uint k = gl_LocalInvocationIndex % ROWS; k < cols / 4u; k += ROWS) {
            uvec4 sizes = x_wide[position * cols / 4u + k] & 0x7fffffffu;
            here = max(here, max(max(sizes.x, sizes.y), max(sizes.z, sizes.w)));
        }
    atomicMax(largest[row], here);
    barrier();
}

// What a lane holds of the 16 x 16 matrix whose first column is k0.
void split(uint k0, uint lane)
{
    uvec4 high = uvec4(0u), low = uvec4(0u);
    [[unroll]] for (uint e = 0u; e < 8u; e++) {
        uint at = lanes[8u * lane + e];
        float f = scaled(at / 16u, k0 + at % 16u);
        uint half_of_f = to_half(f);
        high[e / 2u] |= half_of_f << (16u * (e % 2u));
        low[e / 2u] |= to_half(f - half_to_float(half_of_f)) << (16u * (e % 2u));
    }
    uint matrix = (gl_WorkGroupID.x * (cols / 16u) + k0 / 16u) * 2u;
    halves[matrix * 32u + lane] = high;
    halves[(matrix + 1u) * 32u + lane] = low;
}

void sum_block(uint row, uint b)
{
    precise float sum = 0.0;
    for (uint k = b * block; k < (b + 1u) * block; k++)
        sum += scaled(row, k);
    factors[(1u + b) * height + gl_WorkGroupID.x * ROWS + row] = sum;
}

void main()
{
    uint thread = gl_LocalInvocationIndex, from = gl_WorkGroupID.y * ACROSS;
    uint to = min(from + ACROSS, cols);
    find_largest();
    if (from == 0u && thread < ROWS)
        factors[gl_WorkGroupID.x * ROWS + thread] = undo(largest[thread]);
    for (uint k = from + thread / 32u * 16u; k < to; k += gl_WorkGroupSize.x / 32u * 16u)
        split(k, thread % 32u);
    if (block != 0u)
        for (uint b = from / block + thread / ROWS; b < to / block; b += gl_WorkGroupSize.x / ROWS)
            sum_block(thread % ROWS, b);
}

// Many positions by cooperative matrices: y = x W^T of stored integers, which are exact in f16, and of
// x in two halves (split.comp). Products are added in f32 over the elements that share a scale; then
// scale and sum join an f32 accumulator, and so does the minimum, times the sum of x over them.
//
// A work-group makes 64 positions x 128 rows, a subgroup 32 x 64 of them. The integers are turned
// into f16 on their way to shared memory, the next slice of 32 k being read while one is multiplied;
// x lies in memory as the matrices that are loaded. Every output is one chain over k whose order
// hangs on COLS alone. Twin: ks_gpu_twin_matrix, to a tolerance.
//
// One variable a declaration: the second of two matrices loses its use in some compilers.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#pragma use_vulkan_memory_model

const uint THREADS = 128;
const uint SUBGROUP = 32; // threads
const uint TALL = 64;     // positions of a tile
const uint WIDE = 128;    // weight rows of a tile
const uint DEEP = 32;     // k of a slice; divides COLS
const uint DOWN = 2;      // matrices of a subgroup: 32 positions
const uint ACROSS = 4;    // 64 rows

layout(local_size_x = THREADS) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint BLOCK = 32;  // elements that share a scale: 16 or 32
layout(constant_id = 2) const uint MINIMA = 0u; // whether they have minima

layout(std430, binding = 0) readonly buffer Integers { uvec4 integers[]; }; // int8 (rows, COLS)
layout(std430, binding = 1) readonly buffer Scales { float scales[]; };     // grains.comp
layout(std430, binding = 2) readonly buffer Halves { uvec4 halves[]; };     // split.comp
layout(std430, binding = 3) readonly buffer Factors { float factors[]; };   // split.comp
layout(std430, binding = 4) writeonly buffer Y { vec4 y[]; };               // (positions, stride)
layout(push_constant) uniform Where
{
    uint x_first, height;             // position of the first work-group, and of all there are
    uint row_first, row_last;         // of the integers: of the first work-group, and that exists
    uint scale_first, width;          // column of the scales, and of all there are
    uint stride, y_column;            // floats; column of y that the first row goes to
};

const uint MAXIMA = TALL;
#include "../maxima.glsl"

const uint PARTS = DEEP / BLOCK;           // of a slice, with a scale each
const uint SLICE_STRIDE = DEEP / 8u + 1u;  // uvec4 of a row: 8 f16 each, and one against conflicts
const uint LOADS = WIDE * DEEP / 16u / THREADS;

shared uvec4 slice[WIDE * SLICE_STRIDE];
shared float slice_scales[2][WIDE];
shared float slice_minima[2][WIDE];

uvec4 next[LOADS];
float next_scales[2], next_minima[2];

void fetch(uint k0)
{
    [[unroll]] for (uint i = 0u; i < LOADS; i++) {
        uint at = gl_LocalInvocationIndex + i * THREADS;
        uint row = min(row_first + gl_WorkGroupID.y * WIDE + at / (DEEP / 16u), row_last);
        next[i] = integers[(row * COLS + k0) / 16u + at % (DEEP / 16u)];
    }
    uint column = scale_first + gl_WorkGroupID.y * WIDE + gl_LocalInvocationIndex;
    [[unroll]] for (uint p = 0u; p < PARTS; p++) {
        next_scales[p] = scales[(k0 / BLOCK + p) * width + column];
        if (MINIMA != 0u)
            next_minima[p] = scales[((COLS + k0) / BLOCK + p) * width + column];
    }
}

// Four int8 as f16: 0x6400 with u below it is 1024 + u.
uvec2 widen(uint q)
{
    uint u = q ^ 0x80808080u;
    f16vec2 low = unpackFloat2x16(0x64006400u | (u & 0xffu) | (u & 0xff00u) << 8);
    f16vec2 high = unpackFloat2x16(0x64006400u | (u >> 16 & 0xffu) | (u >> 8 & 0xff0000u));
    return uvec2(packFloat2x16(low - f16vec2(1152.0)), packFloat2x16(high - f16vec2(1152.0)));
}

void store()
{
    [[unroll]] for (uint i = 0u; i < LOADS; i++) {
        uint at = gl_LocalInvocationIndex + i * THREADS;
        uint to = at / (DEEP / 16u) * SLICE_STRIDE + at % (DEEP / 16u) * 2u;
        slice[to] = uvec4(widen(next[i].x), widen(next[i].y));
        slice[to + 1u] = uvec4(widen(next[i].z), widen(next[i].w));
    }
    [[unroll]] for (uint p = 0u; p < PARTS; p++) {
        slice_scales[p][gl_LocalInvocationIndex] = next_scales[p];
        if (MINIMA != 0u)
            slice_minima[p][gl_LocalInvocationIndex] = next_minima[p];
    }
}

#define X_MATRIX coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define W_MATRIX coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define SUMS coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
const int BY_ROWS = gl_CooperativeMatrixLayoutRowMajor;
const int BY_COLUMNS = gl_CooperativeMatrixLayoutColumnMajor;

SUMS acc[DOWN][ACROSS];

// p, w: the subgroup's first position and row in the tile.
void multiply(uint k0, uint p, uint w)
{
    uint position = x_first + gl_WorkGroupID.x * TALL + p;
    X_MATRIX high[DOWN][2];
    X_MATRIX low[DOWN][2];
    [[unroll]] for (uint i = 0u; i < DOWN; i++)
        [[unroll]] for (uint k = 0u; k < 2u; k++) {
            uint at = ((position / 16u + i) * (COLS / 16u) + k0 / 16u + k) * 64u;
            coopMatLoad(low[i][k], halves, at + 32u, 2u, BY_ROWS);
            coopMatLoad(high[i][k], halves, at, 2u, BY_ROWS);
        }
    [[unroll]] for (uint j = 0u; j < ACROSS; j++) {
        W_MATRIX q[2];
        [[unroll]] for (uint k = 0u; k < 2u; k++)
            coopMatLoad(q[k], slice, (w + 16u * j) * SLICE_STRIDE + 2u * k, SLICE_STRIDE,
                        BY_COLUMNS);
        [[unroll]] for (uint part = 0u; part < PARTS; part++) {
            SUMS scale;
            coopMatLoad(scale, slice_scales[part], w + 16u * j, 0u, BY_ROWS);
            SUMS sum[DOWN];
            [[unroll]] for (uint i = 0u; i < DOWN; i++)
                sum[i] = SUMS(0.0);
            [[unroll]] for (uint k = part * (BLOCK / 16u); k < (part + 1u) * (BLOCK / 16u); k++)
                [[unroll]] for (uint i = 0u; i < DOWN; i++)
                    sum[i] = coopMatMulAdd(low[i][k], q[k], sum[i]);
            [[unroll]] for (uint k = part * (BLOCK / 16u); k < (part + 1u) * (BLOCK / 16u); k++)
                [[unroll]] for (uint i = 0u; i < DOWN; i++)
                    sum[i] = coopMatMulAdd(high[i][k], q[k], sum[i]);
            [[unroll]] for (uint i = 0u; i < DOWN; i++)
                acc[i][j] = acc[i][j] + sum[i] * scale;
            if (MINIMA != 0u) {
                SUMS minimum;
                coopMatLoad(minimum, slice_minima[part], w + 16u * j, 0u, BY_ROWS);
                [[unroll]] for (uint i = 0u; i < DOWN; i++) {
                    SUMS of_x;
                    coopMatLoad(of_x, factors,
                                (1u + k0 / BLOCK + part) * height + position + 16u * i, 0u,
                                BY_COLUMNS);
                    acc[i][j] = acc[i][j] + of_x * minimum;
                }
            }
        }
    }
}

// By way of the subgroup's share of the slice, 16 positions x 32 rows at a time, so that whole lines
// are written; and the largest of every position is left beside them.
void leave(uint p, uint w)
{
    const uint LINE = 9u; // uvec4: 32 floats, and one against conflicts
    uint mine = gl_SubgroupID * (WIDE * SLICE_STRIDE / 4u);
    [[unroll]] for (uint i = 0u; i < DOWN; i++) {
        uint most[4] = uint[](0u, 0u, 0u, 0u);
        [[unroll]] for (uint j = 0u; j < ACROSS; j += 2u) {
            subgroupBarrier();
            coopMatStore(acc[i][j], slice, mine, LINE, BY_ROWS);
            coopMatStore(acc[i][j + 1u], slice, mine + 4u, LINE, BY_ROWS);
            subgroupBarrier();
            [[unroll]] for (uint r = 0u; r < 4u; r++) {
                uint row = 4u * r + gl_SubgroupInvocationID / 8u, quad = gl_SubgroupInvocationID % 8u;
                uint position = gl_WorkGroupID.x * TALL + p + 16u * i + row;
                vec4 v = uintBitsToFloat(slice[mine + row * LINE + quad]) * factors[x_first + position];
                y[(position * stride + y_column + gl_WorkGroupID.y * WIDE + w + 16u * j) / 4u + quad] = v;
                most[r] = max(most[r], max(max(order(floatBitsToUint(v.x)), order(floatBitsToUint(v.y))),
                                           max(order(floatBitsToUint(v.z)), order(floatBitsToUint(v.w)))));
            }
        }
        [[unroll]] for (uint r = 0u; r < 4u; r++) {
            [[unroll]] for (uint apart = 4u; apart > 0u; apart >>= 1)
                most[r] = max(most[r], subgroupShuffleXor(most[r], apart));
            if (gl_SubgroupInvocationID % 8u == 0u)
                offer_maximum(p + 16u * i + 4u * r + gl_SubgroupInvocationID / 8u, most[r]);
        }
    }
}

void main()
{
    uint p = gl_SubgroupID % 2u * 32u, w = gl_SubgroupID / 2u * 64u;
    [[unroll]] for (uint i = 0u; i < DOWN; i++)
        [[unroll]] for (uint j = 0u; j < ACROSS; j++)
            acc[i][j] = SUMS(0.0);
    clear_maxima();
    fetch(0u);
    for (uint k0 = 0u; k0 < COLS; k0 += DEEP) {
        barrier();
        store();
        barrier();
        if (k0 + DEEP < COLS)
            fetch(k0 + DEEP);
        multiply(k0, p, w);
    }
    barrier();
    leave(p, w);
    barrier();
    store_maxima(gl_WorkGroupID.x * TALL, y_column / WIDE + gl_WorkGroupID.y, stride / WIDE);
}

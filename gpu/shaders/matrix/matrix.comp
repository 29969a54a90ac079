// Many positions by cooperative matrices: y = x W^T of stored integers, which are exact in f16, or,
// where HALVES is defined, of f16, and of x in two halves (split.comp). Products are added in f32 over
// the elements that share a scale; then scale and sum join an f32 accumulator, and so does the minimum,
// times the sum of x over them.
//
// A work-group makes 64 positions x 128 rows, a subgroup 32 x 64 of them by itself: x and the integers
// lie in memory as its lanes hold them (lanes.comp), so neither shared memory nor barriers are needed,
// and what the next 32 k take is read while these are multiplied. Every output is one chain over k
// whose order hangs on COLS alone. Twin: ks_gpu_twin_matrix, to a tolerance.
//
// One matrix a declaration: the second loses its use in some compilers. Registers are full, and what a
// compiler makes of it hangs on how things are written: the bits don't, but times are to be measured
// after every change, of each layout (gpu/README.md).
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#pragma use_vulkan_memory_model

const uint SUBGROUPS = 4;
const uint TALL = 64;  // positions of a tile
const uint WIDE = 128; // weight rows of a tile
const uint DEEP = 32;  // k of a step; divides COLS
const uint DOWN = 2;   // matrices of a subgroup: 32 positions
const uint ACROSS = 4; // 64 rows

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint BLOCK = 32;  // elements that share a scale: 16 or 32
layout(constant_id = 2) const uint MINIMA = 0u; // whether they have minima

layout(std430, binding = 0) readonly buffer Grains { uvec4 grains[]; };   // grains.comp
layout(std430, binding = 1) readonly buffer Scales { vec4 scales[]; };    // grains.comp
layout(std430, binding = 2) readonly buffer Halves { uvec4 halves[]; };   // split.comp
layout(std430, binding = 3) readonly buffer Factors { float factors[]; }; // split.comp
layout(std430, binding = 4) writeonly buffer Y { vec4 y[]; };             // (positions, stride)
layout(push_constant) uniform Where
{
    uint x_first, height;  // position of the first work-group, and of all there are
    uint w_first, width;   // row of the grains of the first work-group, and of all there are
    uint stride, y_column; // floats; column of y that the first row goes to
};

const uint MAXIMA = TALL;
#include "../maxima.glsl"

const uint LINE = 9u; // uvec4 of 32 floats in shared memory, and one against conflicts
shared uvec4 corner[SUBGROUPS][16u * LINE];

#define X_MATRIX coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define W_MATRIX coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define SUMS coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
const int BY_ROWS = gl_CooperativeMatrixLayoutRowMajor;
const int BY_COLUMNS = gl_CooperativeMatrixLayoutColumnMajor;

#if defined(HALVES)
const uint QUADS = 2u; // uvec4 of a lane for 32 k of 16 rows
#else
const uint QUADS = 1u;
#endif

// What a lane reads of 32 k ahead of time: of x the high and low halves of 16 k, then of the next 16;
// and the elements.
struct Step {
    uvec4 x[DOWN][4];
    uvec4 w[ACROSS][QUADS];
};

// Where the first of them lie, which is found once.
struct Place {
    uint x[DOWN];
    uint w[ACROSS];
};

Place place_of(uint position, uint row)
{
    Place at;
    [[unroll]] for (uint i = 0u; i < DOWN; i++)
        at.x[i] = (position / 16u + i) * (COLS / 16u) * 64u + gl_SubgroupInvocationID;
    [[unroll]] for (uint j = 0u; j < ACROSS; j++)
        at.w[j] = (row / 16u + j) * (COLS / 32u * QUADS) * 32u + gl_SubgroupInvocationID;
    return at;
}

Step fetch(Place at, uint step)
{
    Step s;
    [[unroll]] for (uint i = 0u; i < DOWN; i++)
        [[unroll]] for (uint k = 0u; k < 4u; k++)
            s.x[i][k] = halves[at.x[i] + step * 128u + k * 32u];
    [[unroll]] for (uint j = 0u; j < ACROSS; j++)
        [[unroll]] for (uint k = 0u; k < QUADS; k++)
            s.w[j][k] = grains[at.w[j] + (step * QUADS + k) * 32u];
    return s;
}

void set_x(out X_MATRIX m, uvec4 v)
{
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        f16vec2 both = unpackFloat2x16(v[i]);
        m[2u * i] = both.x;
        m[2u * i + 1u] = both.y;
    }
}

#if defined(HALVES)
void set_w(out W_MATRIX m, uvec4 v)
{
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        f16vec2 both = unpackFloat2x16(v[i]);
        m[2u * i] = both.x;
        m[2u * i + 1u] = both.y;
    }
}
#else
// Bytes 0 and 2 of a word, 128 above the integers they stand for: 0x6400 with u below it is 1024 + u.
f16vec2 widen(uint word)
{
    return unpackFloat2x16((word & 0x00ff00ffu) | 0x64006400u) - f16vec2(1152.0);
}

void set_w(out W_MATRIX m, uvec2 v)
{
    [[unroll]] for (uint i = 0u; i < 2u; i++) {
        f16vec2 even = widen(v[i]), odd = widen(v[i] >> 8);
        m[4u * i] = even.x;
        m[4u * i + 1u] = even.y;
        m[4u * i + 2u] = odd.x;
        m[4u * i + 3u] = odd.y;
    }
}

#endif

SUMS row_of_scales(uint line, uint row)
{
    SUMS m;
    coopMatLoad(m, scales, (line * width + row) / 4u, 0u, BY_ROWS);
    return m;
}

void multiply(inout SUMS acc[DOWN][ACROSS], Step s, uint step, uint position, uint row)
{
    X_MATRIX high[DOWN][2];
    X_MATRIX low[DOWN][2];
    [[unroll]] for (uint i = 0u; i < DOWN; i++)
        [[unroll]] for (uint k = 0u; k < 2u; k++) {
            set_x(high[i][k], s.x[i][2u * k]);
            set_x(low[i][k], s.x[i][2u * k + 1u]);
        }
    [[unroll]] for (uint j = 0u; j < ACROSS; j++) {
        W_MATRIX q[2];
#if defined(HALVES)
        set_w(q[0], s.w[j][0]);
        set_w(q[1], s.w[j][1]);
#else
        set_w(q[0], s.w[j][0].xy);
        set_w(q[1], s.w[j][0].zw);
#endif
        [[unroll]] for (uint part = 0u; part < DEEP / BLOCK; part++) {
            uint block = step * (DEEP / BLOCK) + part;
            SUMS scale = row_of_scales(block, row + 16u * j);
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
                SUMS minimum = row_of_scales(COLS / BLOCK + block, row + 16u * j);
                [[unroll]] for (uint i = 0u; i < DOWN; i++) {
                    SUMS of_x;
                    coopMatLoad(of_x, factors, (1u + block) * height + position + 16u * i, 0u,
                                BY_COLUMNS);
                    acc[i][j] = acc[i][j] + of_x * minimum;
                }
            }
        }
    }
}

// As integers, the bits of floats rise with those that are not negative, and fall with the others: the
// largest of both and the smallest are enough to find the largest float.
void widen_range(inout ivec2 range, vec4 v)
{
    ivec4 b = floatBitsToInt(v);
    range.x = max(range.x, max(max(b.x, b.y), max(b.z, b.w)));
    range.y = min(range.y, min(min(b.x, b.y), min(b.z, b.w)));
}

// By way of shared memory, 16 positions x 32 rows at a time, so that whole lines are written, and the
// largest of every position is found. p, w: the subgroup's first position and row in the tile.
void leave(SUMS acc[DOWN][ACROSS], uint p, uint w)
{
    uint quad = gl_SubgroupInvocationID % 8u;
    [[unroll]] for (uint i = 0u; i < DOWN; i++) {
        ivec2 range[4];
        [[unroll]] for (uint r = 0u; r < 4u; r++)
            range[r] = ivec2(0x80000000, 0x7fffffff);
        [[unroll]] for (uint j = 0u; j < ACROSS; j += 2u) {
            subgroupBarrier();
            coopMatStore(acc[i][j], corner[gl_SubgroupID], 0u, LINE, BY_ROWS);
            coopMatStore(acc[i][j + 1u], corner[gl_SubgroupID], 4u, LINE, BY_ROWS);
            subgroupBarrier();
            [[unroll]] for (uint r = 0u; r < 4u; r++) {
                uint line = 4u * r + gl_SubgroupInvocationID / 8u;
                uint position = gl_WorkGroupID.x * TALL + p + 16u * i + line;
                uint column = y_column + gl_WorkGroupID.y * WIDE + w + 16u * j;
                vec4 v = uintBitsToFloat(corner[gl_SubgroupID][line * LINE + quad]) *
                         factors[x_first + position];
                y[(position * stride + column) / 4u + quad] = v;
                widen_range(range[r], v);
            }
        }
        [[unroll]] for (uint r = 0u; r < 4u; r++) {
            uint most = order(uint(range[r].x >= 0 ? range[r].x : range[r].y));
            [[unroll]] for (uint apart = 4u; apart > 0u; apart >>= 1)
                most = max(most, subgroupShuffleXor(most, apart));
            if (quad == 0u)
                offer_maximum(p + 16u * i + 4u * r + gl_SubgroupInvocationID / 8u, most);
        }
    }
}

void main()
{
    uint p = gl_SubgroupID % 2u * 32u, w = gl_SubgroupID / 2u * 64u;
    uint position = x_first + gl_WorkGroupID.x * TALL + p;
    uint row = w_first + gl_WorkGroupID.y * WIDE + w;
    SUMS acc[DOWN][ACROSS];
    [[unroll]] for (uint i = 0u; i < DOWN; i++)
        [[unroll]] for (uint j = 0u; j < ACROSS; j++)
            acc[i][j] = SUMS(0.0);
    Place at = place_of(position, row);
    Step next = fetch(at, 0u);
    for (uint step = 0u; step < COLS / DEEP; step++) {
        Step now = next;
        next = fetch(at, step + 1u < COLS / DEEP ? step + 1u : 0u);
        multiply(acc, now, step, position, row);
    }
    clear_maxima();
    barrier();
    leave(acc, p, w);
    barrier();
    store_maxima(gl_WorkGroupID.x * TALL, y_column / WIDE + gl_WorkGroupID.y, stride / WIDE);
}

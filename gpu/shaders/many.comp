// Many positions: y = x W^T over f32 tiles, both factors in blocks with k as the slow index.
//
// A work-group makes 64 positions x 128 rows, a thread 8 x 8 of them; while one slice of 16 k is
// multiplied from shared memory the next is on its way from the buffers to registers. (A second
// slice of shared memory costs more work-groups than it saves barriers.) Every output is one chain
// of additions over k in order; their maxima are left beside them. Twin: ks_gpu_twin_many.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

const uint THREADS = 128;
const uint TALL = 64;  // positions of a tile
const uint WIDE = 128; // weight rows of a tile
const uint DEEP = 16;  // k of a slice; divides cols
const uint EACH = 8;   // outputs of a thread, squared

layout(local_size_x = THREADS) in;

layout(std430, binding = 0) readonly buffer X { vec4 x[]; };       // (blocks, cols, TALL)
layout(std430, binding = 1) readonly buffer Tile { vec4 tile[]; }; // (blocks, cols, WIDE)
layout(std430, binding = 2) writeonly buffer Y { vec4 y[]; };      // (positions, stride)
layout(push_constant) uniform Where
{
    uint x_block, w_block; // that the first work-group takes
    uint stride, y_column; // floats; column of y that the first row goes to
    uint cols;
};

const uint MAXIMA = TALL;
#include "maxima.glsl"

const uint X_LOADS = DEEP * TALL / 4 / THREADS;
const uint W_LOADS = DEEP * WIDE / 4 / THREADS;

shared vec4 xs[DEEP * TALL / 4];
shared vec4 ws[DEEP * WIDE / 4];

vec4 next_x[X_LOADS], next_w[W_LOADS];

// A slice of a block lies in one piece, so neither strides nor pages are crossed.
void fetch(uint k0)
{
    uint x0 = ((x_block + gl_WorkGroupID.x) * cols + k0) * (TALL / 4u) + gl_LocalInvocationIndex;
    uint w0 = ((w_block + gl_WorkGroupID.y) * cols + k0) * (WIDE / 4u) + gl_LocalInvocationIndex;
    [[unroll]] for (uint i = 0u; i < X_LOADS; i++)
        next_x[i] = x[x0 + i * THREADS];
    [[unroll]] for (uint i = 0u; i < W_LOADS; i++)
        next_w[i] = tile[w0 + i * THREADS];
}

void store()
{
    [[unroll]] for (uint i = 0u; i < X_LOADS; i++)
        xs[gl_LocalInvocationIndex + i * THREADS] = next_x[i];
    [[unroll]] for (uint i = 0u; i < W_LOADS; i++)
        ws[gl_LocalInvocationIndex + i * THREADS] = next_w[i];
}

float acc[EACH][EACH];

// Four blocks of 32 threads make 32 x 64 each, 4 x 8 threads. A thread's outputs are quads 16
// positions and 32 rows apart, so that threads read neighbouring words.
void multiply(uint p, uint w)
{
    [[unroll]] for (uint k = 0u; k < DEEP; k++) {
        vec4 a[2], b[2];
        [[unroll]] for (uint i = 0u; i < 2u; i++) {
            a[i] = xs[k * (TALL / 4u) + p / 4u + 4u * i];
            b[i] = ws[k * (WIDE / 4u) + w / 4u + 8u * i];
        }
        [[unroll]] for (uint i = 0u; i < EACH; i++)
            [[unroll]] for (uint j = 0u; j < EACH; j++)
                acc[i][j] += a[i / 4u][i % 4u] * b[j / 4u][j % 4u];
    }
}

// p: of the thread's first output in the tile.
void leave_maxima(uint p)
{
    [[unroll]] for (uint i = 0u; i < EACH; i++) {
        uint most = 0u;
        [[unroll]] for (uint j = 0u; j < EACH; j++)
            most = max(most, order(floatBitsToUint(acc[i][j])));
        offer_maximum(p + i / 4u * 16u + i % 4u, most);
    }
    barrier();
    store_maxima(gl_WorkGroupID.x * TALL, y_column / WIDE + gl_WorkGroupID.y, stride / WIDE);
}

void main()
{
    uint thread = gl_LocalInvocationIndex % 32u, block = gl_LocalInvocationIndex / 32u;
    // Of threads 1 apart both read the same w, of threads 2 apart the same p: shared memory then
    // answers 16 threads at once instead of 8.
    uint p = block % 2u * 32u + (thread % 2u + thread / 16u * 2u) * 4u;
    uint w = block / 2u * 64u + thread / 2u % 8u * 4u;
    [[unroll]] for (uint i = 0u; i < EACH; i++)
        [[unroll]] for (uint j = 0u; j < EACH; j++)
            acc[i][j] = 0.0;
    clear_maxima();
    fetch(0u);
    for (uint k0 = 0u; k0 < cols; k0 += DEEP) {
        barrier(); // no thread needs the last slice any more
        store();
        barrier();
        if (k0 + DEEP < cols)
            fetch(k0 + DEEP);
        multiply(p, w);
    }
    uint p0 = gl_WorkGroupID.x * TALL + p, w0 = y_column + gl_WorkGroupID.y * WIDE + w;
    [[unroll]] for (uint i = 0u; i < EACH; i++)
        [[unroll]] for (uint j = 0u; j < 2u; j++)
            y[((p0 + i / 4u * 16u + i % 4u) * stride + w0 + 32u * j) / 4u] =
                vec4(acc[i][4u * j], acc[i][4u * j + 1u], acc[i][4u * j + 2u], acc[i][4u * j + 3u]);
    leave_maxima(p);
}

// Many positions: y = x W^T, x in blocks with k as the slow index, and so the weight: decoded before
// (decode.comp), or with PACKED unpacked on its way to shared memory, which saves few positions the
// decoding. Both have the same bits.
//
// A work-group makes 8 EACH positions x 128 rows, a thread EACH x 8 of them. It goes through the
// columns unit by unit; while one unit is multiplied from shared memory the next is on its way from
// the buffers to registers. (A second unit in shared memory costs more work-groups than it saves
// barriers.) Every output is one chain of additions over the columns, units in the order of unit_at;
// their maxima are left beside them. Twin: ks_gpu_twin_many.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

const uint THREADS = 128;
const uint WIDE = 128; // weight rows of a tile
const uint DEEP = 16;  // columns of a unit
const uint BLOCK = 64; // positions of a block of x

layout(local_size_x = THREADS) in;
layout(constant_id = 0) const uint COLS = 1024;
layout(constant_id = 1) const uint HALVES = 0; // as in halves.glsl
layout(constant_id = 2) const uint EACH = 8;   // positions of a thread: 4 or 8

#if defined(PACKED)
#include "weights/layouts.glsl"
#else
layout(std430, binding = 0) readonly buffer Tile { vec4 tile[]; }; // (blocks, COLS, WIDE)
#endif

const uint TALL = 8 * EACH;
const uint TAKEN = COLS / DEEP; // units

layout(std430, binding = 3) readonly buffer X { vec4 x[]; };  // (blocks, COLS, BLOCK)
layout(std430, binding = 4) writeonly buffer Y { vec4 y[]; }; // (positions, stride)
layout(push_constant) uniform Where
{
    uint x_block;          // whose first position the first work-group takes
    uint first, rows;      // of the weight, that the first work-group takes; in the buffers
    uint stride, y_column; // floats; column of y that `first` goes to
};

const uint MAXIMA = TALL;
#include "maxima.glsl"

shared vec4 xs[DEEP * TALL / 4u];
shared vec4 ws[DEEP * WIDE / 4u];

vec4 next_x[EACH / 4u];

// The s-th unit that is taken: of every whole 8, those 2 apart behind each other, which are a piece
// of the layouts whose pieces are largest.
uint unit_at(uint s)
{
    if (s / 8u * 8u + 8u > TAKEN)
        return s;
    return s / 8u * 8u + s % 4u * 2u + s / 4u % 2u;
}

#if defined(PACKED)

Packed next_w;

// A unit of one row for each thread.
void fetch_weights(uint s)
{
    uint row = first + gl_WorkGroupID.y * WIDE + gl_LocalInvocationIndex, unit = unit_at(s);
    if (TOGETHER < 4u || s % 4u == 0u)
        next_w = fetch(min(row, rows - 1u), unit / 16u, piece_of(unit % 16u));
}

void store_weights(uint s)
{
    uint row = gl_LocalInvocationIndex, i = place_in_piece(unit_at(s) % 16u);
    float factor = factor_of(next_w, i);
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        vec4 v = factor * unpack(next_w, i, j);
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            ws[((4u * j + c) * WIDE + row) / 4u][row % 4u] = v[c];
    }
}

#else

const uint W_LOADS = DEEP * WIDE / 4 / THREADS;

vec4 next_w[W_LOADS];

// A unit of a block lies in one piece, so neither strides nor pages are crossed.
void fetch_weights(uint s)
{
    uint block = first / WIDE + gl_WorkGroupID.y;
    uint at = (block * COLS + unit_at(s) * DEEP) * (WIDE / 4u) + gl_LocalInvocationIndex;
    [[unroll]] for (uint n = 0u; n < W_LOADS; n++)
        next_w[n] = tile[at + n * THREADS];
}

void store_weights(uint s)
{
    [[unroll]] for (uint n = 0u; n < W_LOADS; n++)
        ws[gl_LocalInvocationIndex + n * THREADS] = next_w[n];
}

#endif

void fetch_next(uint s)
{
    [[unroll]] for (uint n = 0u; n < EACH / 4u; n++) {
        uint at = gl_LocalInvocationIndex + n * THREADS;
        uint k = unit_at(s) * DEEP + at / (TALL / 4u);
        uint p = gl_WorkGroupID.x * (TALL / 4u) + at % (TALL / 4u); // in fours
        next_x[n] = x[((x_block + p / (BLOCK / 4u)) * COLS + k) * (BLOCK / 4u) + p % (BLOCK / 4u)];
    }
    fetch_weights(s);
}

void store_next(uint s)
{
    [[unroll]] for (uint n = 0u; n < EACH / 4u; n++)
        xs[gl_LocalInvocationIndex + n * THREADS] = next_x[n];
    store_weights(s);
}

float acc[EACH][8];

// Four blocks of 32 threads make 4 EACH x 64 each, 4 x 8 threads. A thread's outputs are quads 16
// positions and 32 rows apart, so that threads read neighbouring words.
void multiply(uint p, uint w)
{
    [[unroll]] for (uint k = 0u; k < DEEP; k++) {
        vec4 a[EACH / 4u], b[2];
        [[unroll]] for (uint i = 0u; i < EACH / 4u; i++)
            a[i] = xs[k * (TALL / 4u) + p / 4u + 4u * i];
        [[unroll]] for (uint i = 0u; i < 2u; i++)
            b[i] = ws[k * (WIDE / 4u) + w / 4u + 8u * i];
        [[unroll]] for (uint i = 0u; i < EACH; i++)
            [[unroll]] for (uint j = 0u; j < 8u; j++)
                acc[i][j] += a[i / 4u][i % 4u] * b[j / 4u][j % 4u];
    }
}

// p: of the thread's first output in the tile.
void leave_maxima(uint p)
{
    [[unroll]] for (uint i = 0u; i < EACH; i++) {
        uint most = 0u;
        [[unroll]] for (uint j = 0u; j < 8u; j++)
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
    uint p = block % 2u * (4u * EACH) + (thread % 2u + thread / 16u * 2u) * 4u;
    uint w = block / 2u * 64u + thread / 2u % 8u * 4u;
    [[unroll]] for (uint i = 0u; i < EACH; i++)
        [[unroll]] for (uint j = 0u; j < 8u; j++)
            acc[i][j] = 0.0;
    clear_maxima();
#if defined(PACKED)
    begin_layout();
#endif
    fetch_next(0u);
    for (uint s = 0u; s < TAKEN; s++) {
        barrier(); // no thread needs the last unit any more
        store_next(s);
        barrier();
        if (s + 1u < TAKEN)
            fetch_next(s + 1u);
        multiply(p, w);
    }
    uint p0 = gl_WorkGroupID.x * TALL + p, w0 = y_column + gl_WorkGroupID.y * WIDE + w;
    [[unroll]] for (uint i = 0u; i < EACH; i++)
        [[unroll]] for (uint j = 0u; j < 2u; j++)
            y[((p0 + i / 4u * 16u + i % 4u) * stride + w0 + 32u * j) / 4u] =
                vec4(acc[i][4u * j], acc[i][4u * j + 1u], acc[i][4u * j + 2u], acc[i][4u * j + 3u]);
    leave_maxima(p);
}

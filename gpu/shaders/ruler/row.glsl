// What the ruler's shaders share: how rows are cut, how logits are ordered, and arithmetic whose
// every bit is told. Definition: gpu/ruler/twin.c.
//
// A row is cut into chunks of 16 slices of 1024 columns, a work-group each. Thread t of 256 takes
// the four columns from 4 t on of every slice. Two neighbouring threads are a group, which gets one
// key: the order of its largest logit, and its column turned around, so that the larger of two keys
// is the one further up, ties to the lowest column.

#include "../order.glsl"

const uint THREADS = 256u;
const uint SLICE = 1024u;
const uint SLICES = 16u;
const uint CHUNK = SLICES * SLICE;
const uint GROUPS = 128u;      // of a chunk
const uint GROUP_SLICE = 8u;   // columns of a group in a slice
const uint GROUP = 128u;       // and in all slices
const uint AT_ONCE = 2u;       // slices that a thread reads before it works on them
const uint PARTIAL = 8u;   // words of a chunk: tallies, then three pairs
const uint PICK = 12u;     // words of a position before its top columns

const uint NONE = 0xff800000u; // -inf

layout(push_constant) uniform Where
{
    uint width, stride;  // columns that count, and from row to row
    uint chunks;         // of a row
    uint first;          // position in the ruler's own buffers
    uint row, arm_row;   // of that position in the segments of the tiles
    uint threads;        // that have work, in stages of a thread for each position or sum
};

// NaN or +inf
bool wrong(uint bits)
{
    return (bits & 0x7f800000u) == 0x7f800000u && bits != NONE;
}

// The first of four columns that the thread takes of a slice.
uint column_of(uint chunk, uint slice)
{
    return chunk * CHUNK + slice * SLICE + 4u * gl_LocalInvocationIndex;
}

// Columns past the row's end are read as if they held -inf.
uvec4 cut(uvec4 bits, uint column)
{
    uvec4 columns = column + uvec4(0u, 1u, 2u, 3u);
    return mix(uvec4(NONE), bits, lessThan(columns, uvec4(width)));
}

// ------------------------------------------------------------------ arithmetic

float times_plus(float a, float b, float c)
{
    precise float product = a * b;
    precise float sum = product + c;
    return sum;
}

// A number as an unevaluated sum.
struct Pair {
    float high, low;
};

Pair add(Pair s, float v)
{
    precise float t = s.high + v;
    precise float z = t - s.high;
    precise float e = (s.high - (t - z)) + (v - z);
    precise float low = s.low + e;
    return Pair(t, low);
}

Pair join(Pair a, Pair b)
{
    precise float t = a.high + b.high;
    precise float z = t - a.high;
    precise float e = (a.high - (t - z)) + (b.high - z);
    precise float low = (a.low + b.low) + e;
    precise float high = t + low;
    precise float rest = low - (high - t);
    return Pair(high, rest);
}

Pair difference(float a, float b)
{
    precise float t = a - b;
    precise float z = t - a;
    precise float e = (a - (t - z)) - (b + z);
    return Pair(t, e);
}

// e^(x + low) for -87 <= x <= 88 and |low| far below 1: 2^n e^f with f up to ln 2 / 2. Adding 1.5 *
// 2^23 rounds to a whole n, whose bits are then the sum's lowest.
float exponential(float x, float low)
{
    precise float scaled = x * 1.44269504088896341;
    precise float shifted = scaled + 12582912.0;
    precise float n = shifted - 12582912.0;
    float f = times_plus(n, -0.693359375, x);
    f = times_plus(n, 2.12194440e-4, f);
    precise float g = f + low;
    float p = 1.38145150e-3;
    p = times_plus(p, g, 8.36875575e-3);
    p = times_plus(p, g, 4.16683927e-2);
    p = times_plus(p, g, 1.66665196e-1);
    p = times_plus(p, g, 4.99999940e-1);
    p = times_plus(p, g, 1.0);
    p = times_plus(p, g, 1.0);
    precise float e = p * uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f800000u);
    return e;
}

// Weights below e^-69 are 0: not even a vocabulary of them is worth 1e-24, and everything that is
// made of the others stays in the normal range.
const float LEAST = -69.0;

float weight(float x, float low)
{
    float e = exponential(max(x, LEAST), low);
    return x >= LEAST ? e : 0.0;
}

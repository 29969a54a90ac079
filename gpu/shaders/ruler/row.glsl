// What the ruler's shaders share: how rows are cut, where notes lie, and arithmetic whose every bit
// is told. Definition: gpu/ruler/twin.c.
//
// A row is cut into chunks of 32 slices of 512 columns, a work-group each. Thread t of 128 takes
// the four columns from 4 t on of every slice, so that 32 threads have a block of 128 columns, of
// which the tile knows the largest logit.

#include "../order.glsl"

const uint THREADS = 128u;
const uint SLICE = 512u;
const uint SLICES = 32u;
const uint CHUNK = SLICES * SLICE;
const uint BLOCK = 128u;
const uint BLOCKS = 4u; // of a slice

// Sums, as compare.comp tells; the last two are the reference's own.
const uint D = 0u, PHI = 1u, CROSS = 2u, FAR = 3u, EXP = 4u, EXP_X = 5u;
const uint SUMS = 6u;
const uint OF_ARM = 4u;

// Words of `notes`: a table of weights, the targets, then for each position a record, with the bits
// of the reference's blocks behind it and those of the arm's behind them: for each chunk BLOCKS
// words, in which a bit is a slice.
const uint TABLE = 801u;
const uint TARGETS = 832u;
const uint RECORDS = TARGETS + 512u;
const uint RECORD = 8u; // base, shift, target, its order in the reference and in the arm

// Words of `partials` for a chunk: columns before the target in the reference and in the arm, flags,
// and from the fourth on the sums' pairs.
const uint PARTIAL = 16u;

// Words of `answers`, and of `aimed` as far as they are known before the sums, for a position: flags, columns before the target, its logit, the largest logit,
// each but the flags of the reference and of the arm, the shift, the base, and from the tenth on the
// sums' pairs; then the top columns of the reference and of the arm.
const uint ANSWER = 22u;

// Flags
const uint WRONG = 1u; // the arm's row is not finite; the reference's: WRONG_REFERENCE
const uint UNEVEN = 2u;
const uint RANGE = 4u;
const uint WRONG_REFERENCE = 8u;

const uint NONE = 0xff800000u; // -inf

layout(push_constant) uniform Where
{
    uint width, stride;  // columns that count, and from row to row
    uint chunks;         // of a row
    uint first;          // position in the ruler's own buffers
    uint row, arm_row;   // of that position in the segments of the tiles
    uint threads;        // that have work, in total.comp
};

uint record_of(uint position)
{
    return RECORDS + position * (RECORD + 2u * BLOCKS * chunks);
}

// NaN or infinite
bool infinite(uint bits)
{
    return (bits & 0x7f800000u) == 0x7f800000u;
}

// NaN or +inf
bool wrong(uint bits)
{
    return infinite(bits) && bits != NONE;
}

// ------------------------------------------------------------------ arithmetic

float plus(float a, float b)
{
    precise float sum = a + b;
    return sum;
}

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

// e^x for -87 <= x <= 88: 2^n e^f with f up to ln 2 / 2. Adding 1.5 * 2^23 rounds to a whole n, whose
// bits are then the sum's lowest.
float exponential(float x)
{
    precise float scaled = x * 1.44269504088896341;
    precise float shifted = scaled + 12582912.0;
    precise float n = shifted - 12582912.0;
    float f = times_plus(n, -0.693359375, x);
    f = times_plus(n, 2.12194440e-4, f);
    float p = 1.38145150e-3;
    p = times_plus(p, f, 8.36875575e-3);
    p = times_plus(p, f, 4.16683927e-2);
    p = times_plus(p, f, 1.66665196e-1);
    p = times_plus(p, f, 4.99999940e-1);
    p = times_plus(p, f, 1.0);
    p = times_plus(p, f, 1.0);
    precise float e = p * uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f800000u);
    return e;
}

// Adding it rounds to a multiple of 1/16: in the sum's lowest bits then is how many.
const float SIXTEENTHS = 786432.0;

// Weights below about e^-50 are 0: a vocabulary of them is worth 1e-16, and what is made of the others
// stays in the normal range.
const float LEAST = -50.0;

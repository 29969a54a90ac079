// Reading packed weights. LAYOUT_... is set for the build; COLS is the row's length.
//
// Columns come in groups of 256, which are 16 units of 16. What a thread reads at once is a piece: so
// many units of a group that what is read for one of them serves them all (TOGETHER: 1, 2 or 4).
//
//   Packed fetch(row, group, piece)
//   vec4 stored(p, i, j)         elements 4 j .. 4 j + 3 of the piece's i-th unit as they are stored
//   float scale_of(p, i)
//   float minimum_of(p, i)       where there is one (MINIMA): the weight is scale * stored + minimum
//
//   vec4 unpack(p, i, j)         both are what users want: the weight is factor * unpacked, and the
//   float factor_of(p, i)        factor is 1 for layouts with minima
//
// i may be known at run time alone, so it indexes no array: one that is indexed so leaves the registers.
//
// A scale times a stored element is exact in f32: 11 bits of a half, up to 7 of a block's scale and up
// to 7 of an element, and no layout has more than 24 together. So a weight is rounded once at most,
// where its minimum is added, and contraction changes nothing.
// gpu/head/proof/twin.c is the definition.

#include "halves.glsl"

layout(std430, binding = 0) readonly buffer Part0 { uint part0[]; };
layout(std430, binding = 1) readonly buffer Part1 { uint part1[]; };
layout(std430, binding = 2) readonly buffer Part2 { uint part2[]; };
// The same bytes more at a time, where blocks and fields are multiples of that.
layout(std430, binding = 0) readonly buffer Part0Pairs { uvec2 part0_pairs[]; };
layout(std430, binding = 0) readonly buffer Part0Wide { uvec4 part0_wide[]; };

const uint UNITS = COLS / 16u;

#if defined(LAYOUT_F32) || defined(LAYOUT_F16) || defined(LAYOUT_BF16) || defined(LAYOUT_I8)
const uint TOGETHER = 1;
#elif defined(LAYOUT_K2) || defined(LAYOUT_K3) || defined(LAYOUT_K4) || defined(LAYOUT_K5) ||     \
    defined(LAYOUT_K6)
const uint TOGETHER = 4;
#else
const uint TOGETHER = 2;
#endif

// Fields of blocks of 256 lie so that units 2 apart share bytes, within a half of the block.
uint unit_of(uint piece, uint i)
{
    if (TOGETHER == 4u)
        return piece / 2u * 8u + i * 2u + piece % 2u;
    return piece * TOGETHER + i;
}

uint piece_of(uint unit)
{
    return TOGETHER == 4u ? unit / 8u * 2u + unit % 2u : unit / TOGETHER;
}

uint place_in_piece(uint unit)
{
    return TOGETHER == 4u ? unit / 2u % 4u : unit % TOGETHER;
}

// The four bytes of a word, which have a sign.
vec4 bytes_of(uint word)
{
    int w = int(word);
    return vec4(bitfieldExtract(w, 0, 8), bitfieldExtract(w, 8, 8), bitfieldExtract(w, 16, 8), w >> 24);
}

// Four bytes below 128, each less so much: no borrow crosses a byte's border.
uint less(uint w, uint much)
{
    return (w + (128u - much) * 0x01010101u) ^ 0x80808080u;
}

float half_of_part1(uint i)
{
    return half_to_float(part1[i >> 1] >> (16u * (i & 1u)) & 0xffffu);
}

// Indexing a constant is slow where threads differ; shared memory answers all of them at once, as
// 16 levels lie in 16 banks. Whoever reads weights calls begin_layout and then barrier.
#if defined(LAYOUT_LEVELS4) || defined(LAYOUT_LEVELS4_K) || defined(LAYOUT_FP4)

#if defined(LAYOUT_FP4)
const float LEVELS[16] = float[](0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0,
                                 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0);
#else
const float LEVELS[16] = float[](-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0,
                                 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0);
#endif
shared float levels[16];

void begin_layout()
{
    if (gl_LocalInvocationIndex < 16u)
        levels[gl_LocalInvocationIndex] = LEVELS[gl_LocalInvocationIndex];
}

// By the lower nibbles of the word's bytes.
vec4 levels_of(uint w)
{
    return vec4(levels[w & 15u], levels[w >> 8 & 15u], levels[w >> 16 & 15u], levels[w >> 24 & 15u]);
}

#else

void begin_layout()
{
}

#endif

// ------------------------------------------------------------------ plain elements

#if defined(LAYOUT_F32)

struct Packed { uvec4 words[4]; };

Packed fetch(uint row, uint group, uint piece)
{
    Packed p;
    [[unroll]] for (uint j = 0u; j < 4u; j++)
        p.words[j] = part0_wide[(row * UNITS + group * 16u + piece) * 4u + j];
    return p;
}

vec4 stored(Packed p, uint i, uint j)
{
    return uintBitsToFloat(p.words[j]);
}

float scale_of(Packed p, uint i)
{
    return 1.0;
}

#elif defined(LAYOUT_F16) || defined(LAYOUT_BF16)

struct Packed { uvec4 words[2]; };

Packed fetch(uint row, uint group, uint piece)
{
    uint first = (row * UNITS + group * 16u + piece) * 2u;
    Packed p;
    p.words[0] = part0_wide[first];
    p.words[1] = part0_wide[first + 1u];
    return p;
}

vec2 widen(uint w)
{
#if defined(LAYOUT_F16)
    return halves_to_floats(w);
#else
    return vec2(uintBitsToFloat(w << 16), uintBitsToFloat(w & 0xffff0000u));
#endif
}

vec4 stored(Packed p, uint i, uint j)
{
    uvec4 words = p.words[j / 2u];
    return vec4(widen(words[j % 2u * 2u]), widen(words[j % 2u * 2u + 1u]));
}

float scale_of(Packed p, uint i)
{
    return 1.0;
}

// ------------------------------------------------------------------ blocks of 32

#elif defined(LAYOUT_I8)

struct Packed { uvec4 words; float d; };

Packed fetch(uint row, uint group, uint piece)
{
    uint at = row * UNITS + group * 16u + piece;
    return Packed(part0_wide[at], half_of_part1(at >> 1));
}

vec4 stored(Packed p, uint i, uint j)
{
    return bytes_of(p.words[j]);
}

float scale_of(Packed p, uint i)
{
    return p.d;
}

#elif defined(LAYOUT_I4) || defined(LAYOUT_U4) || defined(LAYOUT_I5) || defined(LAYOUT_U5) || \
    defined(LAYOUT_LEVELS4) || defined(LAYOUT_FP4)

struct Packed {
    uvec4 words;
    uint scale; // part 1 of the block: a half, two, or an exponent
    uint high;  // fifth bits
};

Packed fetch(uint row, uint group, uint piece)
{
    uint block = row * (UNITS / 2u) + group * 8u + piece;
    Packed p;
    p.words = part0_wide[block];
#if defined(LAYOUT_U4) || defined(LAYOUT_U5)
    p.scale = part1[block];
#elif defined(LAYOUT_FP4)
    p.scale = part1[block >> 2] >> (8u * (block & 3u)) & 0xffu;
#else
    p.scale = part1[block >> 1] >> (16u * (block & 1u)) & 0xffffu;
#endif
#if defined(LAYOUT_I5) || defined(LAYOUT_U5)
    p.high = part2[block];
#else
    p.high = 0u;
#endif
    return p;
}

vec4 stored(Packed p, uint i, uint j)
{
    uint w = p.words[j] >> (4u * i) & 0x0f0f0f0fu;
#if defined(LAYOUT_I5) || defined(LAYOUT_U5)
    // Four bits, 7 apart after the product, each in its byte.
    w |= ((p.high >> (16u * i + 4u * j) & 15u) * 0x00204081u & 0x01010101u) << 4;
#endif
#if defined(LAYOUT_U4) || defined(LAYOUT_U5)
    return bytes_of(w);
#elif defined(LAYOUT_I4)
    return bytes_of(less(w, 8u));
#elif defined(LAYOUT_I5)
    return bytes_of(less(w, 16u));
#else
    return levels_of(w);
#endif
}

float scale_of(Packed p, uint i)
{
#if defined(LAYOUT_FP4)
    return uintBitsToFloat(p.scale < 2u ? 0x00200000u << p.scale : (p.scale - 1u) << 23);
#else
    return half_to_float(p.scale & 0xffffu);
#endif
}

#if defined(LAYOUT_U4) || defined(LAYOUT_U5)
#define MINIMA
float minimum_of(Packed p, uint i)
{
    return half_to_float(p.scale >> 16);
}
#endif

#else
#include "layouts_256.glsl"
#endif

#if defined(MINIMA)

vec4 unpack(Packed p, uint i, uint j)
{
    return scale_of(p, i) * stored(p, i, j) + minimum_of(p, i);
}

float factor_of(Packed p, uint i)
{
    return 1.0;
}

#else

vec4 unpack(Packed p, uint i, uint j)
{
    return stored(p, i, j);
}

float factor_of(Packed p, uint i)
{
    return scale_of(p, i);
}

#endif

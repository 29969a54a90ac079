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
// gpu/head/twin.c is the definition.

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

// ------------------------------------------------------------------ blocks of 256
//
// The i-th unit of a piece is group of 16 elements number unit_of(piece, i) of the block: number i
// of its half (piece / 2) and parity (piece % 2), as fields of two bits have them in a word. Byte b
// of a word, shifted: w >> 8 b.

#elif defined(LAYOUT_K2)

const uint WORDS = 21u, Q = 4u, D = 20u;

struct Packed { uint words[4], scales_01, scales_23, d; };

Packed fetch(uint row, uint group, uint piece)
{
    uint base = (row * (UNITS / 16u) + group) * WORDS;
    Packed p;
    [[unroll]] for (uint j = 0u; j < 4u; j++)
        p.words[j] = part0[base + Q + 4u * piece + j];
    p.scales_01 = part0[base + piece / 2u * 2u] >> (8u * (piece & 1u));
    p.scales_23 = part0[base + piece / 2u * 2u + 1u] >> (8u * (piece & 1u));
    p.d = part0[base + D];
    return p;
}

// Scale and minimum, a nibble each.
uint byte_of_scales(Packed p, uint i)
{
    return (i < 2u ? p.scales_01 : p.scales_23) >> (16u * (i & 1u)) & 0xffu;
}

vec4 stored(Packed p, uint i, uint j)
{
    return bytes_of(p.words[j] >> (2u * i) & 0x03030303u);
}

float scale_of(Packed p, uint i)
{
    return half_to_float(p.d & 0xffffu) * float(byte_of_scales(p, i) & 15u);
}

#define MINIMA
float minimum_of(Packed p, uint i)
{
    return -half_to_float(p.d >> 16) * float(byte_of_scales(p, i) >> 4);
}

#elif defined(LAYOUT_K3)

const uint WORDS = 27u, HIGH = 0u, Q = 8u, SCALES = 24u;

struct Packed { uint words[4], high[4], low_scales, high_scales; float d; };

// Scale of group g: 4 bits of bytes 0..7, 2 bits of bytes 8..11. A piece's groups are all in one half,
// which is a nibble of bytes g % 8; of the two bits' bytes g % 4, two rounds of them.
Packed fetch(uint row, uint group, uint piece)
{
    uint block = row * (UNITS / 16u) + group, base = block * WORDS;
    uint h = piece / 2u, parity = piece & 1u;
    Packed p;
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        p.words[j] = part0[base + Q + 4u * piece + j];
        p.high[j] = part0[base + HIGH + 4u * parity + j] >> (4u * h);
    }
    uvec2 low = uvec2(part0[base + SCALES], part0[base + SCALES + 1u]) >> (8u * parity + 4u * h);
    p.low_scales = (low.x & 0x000f000fu) | (low.y & 0x000f000fu) << 8;
    p.high_scales = part0[base + SCALES + 2u] >> (8u * parity + 4u * h);
    p.d = half_of_part1(block);
    return p;
}

vec4 stored(Packed p, uint i, uint j)
{
    uint two = p.words[j] >> (2u * i) & 0x03030303u, one = p.high[j] >> i & 0x01010101u;
    return bytes_of(less(two | one << 2, 4u));
}

float scale_of(Packed p, uint i)
{
    uint low = p.low_scales >> (16u * (i & 1u) + 8u * (i >> 1)) & 15u;
    uint high = p.high_scales >> (16u * (i & 1u) + 2u * (i >> 1)) & 3u;
    return p.d * float(int(low | high << 4) - 32);
}

#elif defined(LAYOUT_K4) || defined(LAYOUT_K5)

#if defined(LAYOUT_K4)
const uint WIDES = 9u, Q = 1u;
#else
const uint WIDES = 11u, HIGH = 1u, Q = 3u;
#endif

struct Packed {
    uvec4 words_01, words_23;
    uint d, scales, lows; // scales and minima of 6 bits, a byte for each unit
#if defined(LAYOUT_K5)
    uvec4 high;
#endif
};

// Of the 8 times 32 elements, the first four have their 6 bits in bytes 0..3 and 4..7; the others
// have 4 bits in the nibbles of bytes 8..11 and 2 above those of the first.
Packed fetch(uint row, uint group, uint piece)
{
    uint base = (row * (UNITS / 16u) + group) * WIDES, h = piece / 2u, parity = piece & 1u;
    Packed p;
    p.words_01 = part0_wide[base + Q + 4u * h + parity];
    p.words_23 = part0_wide[base + Q + 4u * h + 2u + parity];
    uvec4 head = part0_wide[base];
    p.d = head.x;
    if (h == 0u) {
        p.scales = head.y & 0x3f3f3f3fu;
        p.lows = head.z & 0x3f3f3f3fu;
    } else {
        p.scales = (head.w & 0x0f0f0f0fu) | (head.y >> 2 & 0x30303030u);
        p.lows = (head.w >> 4 & 0x0f0f0f0fu) | (head.z >> 2 & 0x30303030u);
    }
#if defined(LAYOUT_K5)
    p.high = part0_wide[base + HIGH + parity] >> (4u * h);
#endif
    return p;
}

vec4 stored(Packed p, uint i, uint j)
{
    uint w = (i < 2u ? p.words_01[j] : p.words_23[j]) >> (4u * (i & 1u)) & 0x0f0f0f0fu;
#if defined(LAYOUT_K5)
    w |= (p.high[j] >> i & 0x01010101u) << 4;
#endif
    return bytes_of(w);
}

float scale_of(Packed p, uint i)
{
    return half_to_float(p.d & 0xffffu) * float(p.scales >> (8u * i) & 0xffu);
}

#define MINIMA
float minimum_of(Packed p, uint i)
{
    return -half_to_float(p.d >> 16) * float(p.lows >> (8u * i) & 0xffu);
}

#elif defined(LAYOUT_K6)

const uint WIDES = 13u, HIGH = 8u, SCALES = 12u;

struct Packed {
    uvec4 words_02, words_13, high;
    uint scales_01, scales_23;
    float d;
};

Packed fetch(uint row, uint group, uint piece)
{
    uint block = row * (UNITS / 16u) + group, base = block * WIDES;
    uint h = piece / 2u, parity = piece & 1u;
    Packed p;
    p.words_02 = part0_wide[base + 4u * h + parity];
    p.words_13 = part0_wide[base + 4u * h + 2u + parity];
    p.high = part0_wide[base + HIGH + piece];
    uvec4 scales = part0_wide[base + SCALES];
    p.scales_01 = (h == 0u ? scales.x : scales.z) >> (8u * parity);
    p.scales_23 = (h == 0u ? scales.y : scales.w) >> (8u * parity);
    p.d = half_of_part1(block);
    return p;
}

vec4 stored(Packed p, uint i, uint j)
{
    uint four = ((i & 1u) == 0u ? p.words_02[j] : p.words_13[j]) >> (4u * (i >> 1)) & 0x0f0f0f0fu;
    uint two = p.high[j] >> (2u * i) & 0x03030303u;
    return bytes_of(less(four | two << 4, 32u));
}

float scale_of(Packed p, uint i)
{
    uint scales = i < 2u ? p.scales_01 : p.scales_23;
    return p.d * float(bitfieldExtract(int(scales), int(16u * (i & 1u)), 8));
}

#elif defined(LAYOUT_LEVELS4_K)

const uint PAIRS = 17u, Q = 1u;

struct Packed {
    uvec4 words;
    uint d;
    int scale;
};

// A piece is 32 elements, as in blocks of 32.
Packed fetch(uint row, uint group, uint piece)
{
    uint base = (row * (UNITS / 16u) + group) * PAIRS;
    uvec2 head = part0_pairs[base];
    Packed p;
    p.words.xy = part0_pairs[base + Q + 2u * piece];
    p.words.zw = part0_pairs[base + Q + 2u * piece + 1u];
    p.d = head.x & 0xffffu;
    uint low = head.y >> (4u * piece) & 15u, high = head.x >> (16u + 2u * piece) & 3u;
    p.scale = int(low | high << 4) - 32;
    return p;
}

vec4 stored(Packed p, uint i, uint j)
{
    return levels_of(p.words[j] >> (4u * i));
}

float scale_of(Packed p, uint i)
{
    return half_to_float(p.d) * float(p.scale);
}

#else
#error "which layout?"
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

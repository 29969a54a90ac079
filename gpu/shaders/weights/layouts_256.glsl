// Layouts in blocks of 256, which are a group: part of layouts.glsl.
//
// The i-th unit of a piece is number i in its half of the block (piece / 2) of those with its parity
// (piece % 2), as fields of two bits lie in a word. Byte b of a word, shifted: w >> 8 b.

#if defined(LAYOUT_K2)

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

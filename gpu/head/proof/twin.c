#include "gpu/head/proof/twin.h"

#include "engine/base/bytes.h"
#include "gpu/head/head.h"

float ks_gpu_twin_half(uint16_t half)
{
    uint32_t bits = half;
    uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 31)
        return ks_f32_of_bits(sign | 0x7f800000 | (mantissa ? 0x400000 : 0) | mantissa << 13);
    return ks_f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

static float half_at(const uint8_t *bytes)
{
    return ks_gpu_twin_half(ks_le16(bytes));
}

static const float levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};
static const float fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The bits of a byte from shift on that mask keeps. */
static unsigned bits(uint8_t byte, unsigned shift, unsigned mask)
{
    return (unsigned)byte >> shift & mask;
}

/* Where a unit lies: its parts' bytes of the block it is in, and which of the block's it is. */
struct place {
    const uint8_t *part[KS_GPU_MAX_PARTS];
    unsigned g;
};

static struct place find(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                         uint64_t cols, uint64_t row, uint64_t unit)
{
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
    unsigned units = info->block_elems / 16;
    uint64_t block = row * (cols / info->block_elems) + unit / units;
    struct place at = {.g = (unsigned)(unit % units)};
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
        if (info->part_bytes[p])
            at.part[p] = (const uint8_t *)parts[p] + block * info->part_bytes[p];
    return at;
}

/* ------------------------------------------------------------------ plain and blocks of 32 */

static float plain(enum ks_gpu_layout layout, const struct place *at, float q[16])
{
    for (int i = 0; i < 16; i++) {
        if (layout == KS_GPU_F32)
            q[i] = ks_f32_of_bits(ks_le32(at->part[0] + 4 * i));
        else if (layout == KS_GPU_F16)
            q[i] = half_at(at->part[0] + 2 * i);
        else
            q[i] = ks_f32_of_bits((uint32_t)ks_le16(at->part[0] + 2 * i) << 16);
    }
    return 1;
}

static float eights(const struct place *at, float q[16])
{
    for (int i = 0; i < 16; i++)
        q[i] = (float)(int8_t)at->part[0][16 * at->g + (unsigned)i];
    return half_at(at->part[1]);
}

/* The stored integers of a block with nibbles, and a fifth bit where there is a third part. */
static void nibbles(const struct place *at, unsigned q[16])
{
    uint32_t high = at->part[2] ? ks_le32(at->part[2]) >> (16 * at->g) : 0;
    for (int i = 0; i < 16; i++)
        q[i] = bits(at->part[0][i], 4 * at->g, 15) | (high >> i & 1) << 4;
}

static float scaled(enum ks_gpu_layout layout, const struct place *at, float q[16])
{
    unsigned stored[16];
    nibbles(at, stored);
    for (int i = 0; i < 16; i++) {
        if (layout == KS_GPU_LEVELS4)
            q[i] = levels[stored[i]];
        else if (layout == KS_GPU_FP4)
            q[i] = fp4[stored[i]];
        else
            q[i] = (float)stored[i] - (layout == KS_GPU_I4 ? 8 : 16);
    }
    if (layout != KS_GPU_FP4)
        return half_at(at->part[1]);
    uint32_t e = at->part[1][0];
    return ks_f32_of_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

static float with_minimum(const struct place *at, float q[16], float *minimum)
{
    unsigned stored[16];
    nibbles(at, stored);
    for (int i = 0; i < 16; i++)
        q[i] = (float)stored[i];
    *minimum = half_at(at->part[1] + 2);
    return half_at(at->part[1]);
}

/* ------------------------------------------------------------------ blocks of 256 */

/* Two bits of each element of group g, spread over halves of 128 elements. */
static unsigned two_bits(const uint8_t *field, unsigned g, unsigned i)
{
    return bits(field[32 * (g / 8) + 16 * (g % 2) + i], 2 * (g / 2 % 4), 3);
}

static float k2(const struct place *at, float q[16], float *minimum)
{
    const uint8_t *b = at->part[0];
    for (unsigned i = 0; i < 16; i++)
        q[i] = (float)two_bits(b + 16, at->g, i);
    *minimum = -(half_at(b + 82) * (float)(b[at->g] >> 4));
    return half_at(b + 80) * (float)(b[at->g] & 15);
}

static float k3(const struct place *at, float q[16])
{
    const uint8_t *b = at->part[0], *scales = b + 96;
    unsigned g = at->g;
    for (unsigned i = 0; i < 16; i++) {
        unsigned high = bits(b[16 * (g % 2) + i], g / 2, 1);
        q[i] = (float)((int)(two_bits(b + 32, g, i) | high << 2) - 4);
    }
    unsigned low = bits(scales[g % 8], 4 * (g / 8), 15);
    unsigned high = bits(scales[8 + g % 4], 2 * (g / 4), 3);
    return half_at(at->part[1]) * (float)((int)(low | high << 4) - 32);
}

/* p: which 32 of the block. */
static void scale_and_low(const uint8_t s[12], unsigned p, unsigned *scale, unsigned *low)
{
    if (p < 4) {
        *scale = bits(s[p], 0, 63);
        *low = bits(s[p + 4], 0, 63);
        return;
    }
    *scale = bits(s[p + 4], 0, 15) | bits(s[p - 4], 6, 3) << 4;
    *low = bits(s[p + 4], 4, 15) | bits(s[p], 6, 3) << 4;
}

static float k45(enum ks_gpu_layout layout, const struct place *at, float q[16], float *minimum)
{
    bool five = layout == KS_GPU_K5;
    const uint8_t *b = at->part[0], *high = b + 16, *qs = five ? b + 48 : b + 16;
    unsigned p = at->g / 2, upper = 16 * (at->g % 2), s, m;
    scale_and_low(b + 4, p, &s, &m);
    for (unsigned i = 0; i < 16; i++) {
        unsigned v = bits(qs[32 * (p / 2) + upper + i], 4 * (p % 2), 15);
        if (five)
            v |= bits(high[upper + i], p, 1) << 4;
        q[i] = (float)v;
    }
    *minimum = -(half_at(b + 2) * (float)m);
    return half_at(b) * (float)s;
}

static float k6(const struct place *at, float q[16])
{
    const uint8_t *b = at->part[0];
    unsigned g = at->g, s = g / 2 % 4;
    for (unsigned i = 0; i < 16; i++) {
        unsigned four = bits(b[64 * (g / 8) + 32 * (s % 2) + 16 * (g % 2) + i], 4 * (s / 2), 15);
        q[i] = (float)((int)(four | two_bits(b + 128, g, i) << 4) - 32);
    }
    return half_at(at->part[1]) * (float)(int8_t)b[192 + g];
}

static float levels_k(const struct place *at, float q[16])
{
    const uint8_t *b = at->part[0];
    unsigned p = at->g / 2;
    for (unsigned i = 0; i < 16; i++)
        q[i] = levels[bits(b[8 + 16 * p + i], 4 * (at->g % 2), 15)];
    unsigned low = bits(b[4 + p / 2], 4 * (p % 2), 15);
    unsigned high = (unsigned)ks_le16(b + 2) >> (2 * p) & 3;
    return half_at(b) * (float)((int)(low | high << 4) - 32);
}

/* ------------------------------------------------------------------ rows and products */

float ks_gpu_twin_stored(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                         uint64_t cols, uint64_t row, uint64_t unit, float q[16], float *minimum)
{
    struct place at = find(layout, parts, cols, row, unit);
    *minimum = 0;
    switch (layout) {
    case KS_GPU_F32:
    case KS_GPU_F16:
    case KS_GPU_BF16:
        return plain(layout, &at, q);
    case KS_GPU_I8:
        return eights(&at, q);
    case KS_GPU_U4:
    case KS_GPU_U5:
        return with_minimum(&at, q, minimum);
    case KS_GPU_K2:
        return k2(&at, q, minimum);
    case KS_GPU_K3:
        return k3(&at, q);
    case KS_GPU_K4:
    case KS_GPU_K5:
        return k45(layout, &at, q, minimum);
    case KS_GPU_K6:
        return k6(&at, q);
    case KS_GPU_LEVELS4_K:
        return levels_k(&at, q);
    default:
        return scaled(layout, &at, q);
    }
}

float ks_gpu_twin_unit(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                       uint64_t cols, uint64_t row, uint64_t unit, float q[16])
{
    float minimum, scale = ks_gpu_twin_stored(layout, parts, cols, row, unit, q, &minimum);
    if (!ks_gpu_grains(layout).minima)
        return scale;
    for (int i = 0; i < 16; i++)
        q[i] = scale * q[i] + minimum;
    return 1;
}

void ks_gpu_twin_row(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                     uint64_t cols, uint64_t row, float *out)
{
    for (uint64_t u = 0; u < cols / 16; u++, out += 16) {
        float q[16];
        float scale = ks_gpu_twin_unit(layout, parts, cols, row, u, q);
        for (int i = 0; i < 16; i++)
            out[i] = scale * q[i];
    }
}

float ks_gpu_twin_few(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                      uint64_t cols, uint64_t row, const float *x)
{
    float chains[16] = {0};
    for (uint64_t u = 0; u < cols / 16; u++) {
        float q[16], sum = 0;
        float scale = ks_gpu_twin_unit(layout, parts, cols, row, u, q);
        for (int i = 0; i < 16; i++)
            sum += q[i] * x[16 * u + (uint64_t)i];
        chains[u % 16] += scale * sum;
    }
    for (int apart = 8; apart > 0; apart /= 2)
        for (int i = 0; i < apart; i++)
            chains[i] += chains[i + apart];
    return chains[0];
}

/* The s-th unit that is added: of every whole 8, those 2 apart behind each other. */
static uint64_t unit_at(uint64_t s, uint64_t units)
{
    uint64_t eight = s / 8 * 8;
    return eight + 8 > units ? s : eight + s % 4 * 2 + s / 4 % 2;
}

float ks_gpu_twin_many(const float *weights, uint64_t cols, const float *x)
{
    float sum = 0;
    for (uint64_t s = 0; s < cols / 16; s++)
        for (uint64_t k = 16 * unit_at(s, cols / 16), end = k + 16; k < end; k++)
            sum += weights[k] * x[k];
    return sum;
}

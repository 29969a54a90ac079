/*
 * Dispatch, plain floats and the types of small blocks. Those of 256 elements are in decode_k.c and
 * decode_grid.c.
 */
#include "engine/quant/decode.h"

#include <assert.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/quant/blocks.h"
#include "engine/quant/decode_parts.h"

const int8_t ks_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};
const int8_t ks_mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

float ks_e8m0_half(uint8_t e)
{
    return ks_f32_of_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

float ks_ue4m3_half(uint8_t e)
{
    uint32_t exponent = e >> 3 & 15, mantissa = e & 7;
    if (e == 0x7f)
        return 0;
    if (exponent == 0)
        return (float)mantissa * 0x1p-10f;
    return ks_f32_of_bits((exponent + 119) << 23 | mantissa << 20);
}

static void f32_row(const uint8_t *src, float *dst, size_t n)
{
    memcpy(dst, src, n * sizeof *dst);
}

static void bf16_row(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = ks_bf16_to_f32(ks_le16(src + 2 * i));
}

static void q4_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q4_0 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32) {
        float d = half_at(b->d);
        for (int j = 0; j < 16; j++) {
            dst[j] = (float)((b->qs[j] & 15) - 8) * d;
            dst[j + 16] = (float)((b->qs[j] >> 4) - 8) * d;
        }
    }
}

static void q4_1_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q4_1 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32) {
        float d = half_at(b->d), m = half_at(b->m);
        for (int j = 0; j < 16; j++) {
            dst[j] = (float)(b->qs[j] & 15) * d + m;
            dst[j + 16] = (float)(b->qs[j] >> 4) * d + m;
        }
    }
}

/* Element j (0..31) of a 5-bit block: the nibble and, above it, its bit of qh. */
static int five_bits(const uint8_t qs[16], uint32_t qh, int j)
{
    int nibble = j < 16 ? qs[j] & 15 : qs[j - 16] >> 4;
    return nibble | (int)(qh >> j & 1) << 4;
}

static void q5_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q5_0 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32) {
        float d = half_at(b->d);
        uint32_t qh = ks_le32(b->qh);
        for (int j = 0; j < 32; j++)
            dst[j] = (float)(five_bits(b->qs, qh, j) - 16) * d;
    }
}

static void q5_1_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q5_1 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32) {
        float d = half_at(b->d), m = half_at(b->m);
        uint32_t qh = ks_le32(b->qh);
        for (int j = 0; j < 32; j++)
            dst[j] = (float)five_bits(b->qs, qh, j) * d + m;
    }
}

static void q8_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q8_0 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32) {
        float d = half_at(b->d);
        for (int j = 0; j < 32; j++)
            dst[j] = (float)b->qs[j] * d;
    }
}

/* 32 elements of 4 bits that choose from 16 values. */
static void look_up(const uint8_t qs[16], const int8_t values[16], float d, float *dst)
{
    for (int j = 0; j < 16; j++) {
        dst[j] = d * (float)values[qs[j] & 15];
        dst[j + 16] = d * (float)values[qs[j] >> 4];
    }
}

static void iq4_nl_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq4_nl *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        look_up(b->qs, ks_iq4_values, half_at(b->d), dst);
}

static void mxfp4_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_mxfp4 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        look_up(b->qs, ks_mxfp4_values, ks_e8m0_half(b->e), dst);
}

static void nvfp4_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_nvfp4 *b = (const void *)src;
    for (; n > 0; n -= 64, b++)
        for (int g = 0; g < 4; g++, dst += 16) {
            float d = ks_ue4m3_half(b->d[g]);
            for (int j = 0; j < 8; j++) {
                dst[j] = (float)ks_mxfp4_values[b->qs[8 * g + j] & 15] * d;
                dst[j + 8] = (float)ks_mxfp4_values[b->qs[8 * g + j] >> 4] * d;
            }
        }
}

static void iq4_xs_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq4_xs *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        unsigned high = ks_le16(b->scales_h);
        for (unsigned g = 0; g < 8; g++) {
            unsigned low = (unsigned)b->scales_l[g / 2] >> (4 * (g % 2)) & 15;
            int scale = (int)(low | (high >> (2 * g) & 3) << 4) - 32;
            look_up(b->qs + 16 * g, ks_iq4_values, d * (float)scale, dst + 32 * g);
        }
    }
}

static ks_row_decoder *decoder_of(enum ks_type type)
{
    switch (type) {
    case KS_F32:
        return f32_row;
    case KS_F16:
        return ks_f16_to_f32_row;
    case KS_BF16:
        return bf16_row;
    case KS_Q4_0:
        return q4_0_row;
    case KS_Q4_1:
        return q4_1_row;
    case KS_Q5_0:
        return q5_0_row;
    case KS_Q5_1:
        return q5_1_row;
    case KS_Q8_0:
        return q8_0_row;
    case KS_Q2_K:
        return ks_decode_q2_k;
    case KS_Q3_K:
        return ks_decode_q3_k;
    case KS_Q4_K:
        return ks_decode_q4_k;
    case KS_Q5_K:
        return ks_decode_q5_k;
    case KS_Q6_K:
        return ks_decode_q6_k;
    case KS_IQ4_NL:
        return iq4_nl_row;
    case KS_IQ4_XS:
        return iq4_xs_row;
    case KS_MXFP4:
        return mxfp4_row;
    case KS_NVFP4:
        return nvfp4_row;
    case KS_TQ1_0:
        return ks_decode_tq1_0;
    case KS_TQ2_0:
        return ks_decode_tq2_0;
    case KS_IQ1_S:
        return ks_decode_iq1_s;
    case KS_IQ1_M:
        return ks_decode_iq1_m;
    case KS_IQ2_XXS:
        return ks_decode_iq2_xxs;
    case KS_IQ2_XS:
        return ks_decode_iq2_xs;
    case KS_IQ2_S:
        return ks_decode_iq2_s;
    case KS_IQ3_XXS:
        return ks_decode_iq3_xxs;
    case KS_IQ3_S:
        return ks_decode_iq3_s;
    default:
        return NULL;
    }
}

void ks_decode_row(enum ks_type type, const void *src, float *dst, size_t n)
{
    ks_row_decoder *decode = decoder_of(type);
    assert(decode && n % ks_type_info(type)->block_elems == 0);
    decode(src, dst, n);
}

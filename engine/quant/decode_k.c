/*
 * The types of 256-element blocks whose elements have bits of their own. Each element is found by
 * its index i; h = i / 128, s = i / 32 % 4 and l = i % 32 are the indices of blocks.h.
 */
#include "engine/quant/decode_parts.h"

#include "engine/base/bytes.h"
#include "engine/quant/blocks.h"
#include "engine/quant/decode.h"

/* Two bits of element i in the layout that Q2_K, Q3_K and TQ2_0 share. */
static int two_bits(const uint8_t qs[64], int i)
{
    return qs[32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4)) & 3;
}

void ks_decode_q2_k(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q2_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d), dmin = half_at(b->dmin);
        for (int g = 0; g < 16; g++) {
            float scale = d * (float)(b->scales[g] & 15), min = dmin * (float)(b->scales[g] >> 4);
            for (int i = 16 * g; i < 16 * g + 16; i++)
                dst[i] = scale * (float)two_bits(b->qs, i) - min;
        }
    }
}

void ks_decode_q3_k(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q3_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        for (int g = 0; g < 16; g++) {
            float scale = d * (float)(ks_q3_k_scale(b->scales, (unsigned)g) - 32);
            for (int i = 16 * g; i < 16 * g + 16; i++) {
                int high = b->hmask[i % 32] >> (i / 32) & 1;
                dst[i] = scale * (float)((two_bits(b->qs, i) | high << 2) - 4);
            }
        }
    }
}

void ks_decode_q4_k(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q4_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d), dmin = half_at(b->dmin);
        for (unsigned g = 0; g < 8; g++) {
            uint8_t s, m;
            ks_k_scale_min(b->scales, g, &s, &m);
            float scale = d * (float)s, min = dmin * (float)m;
            for (unsigned l = 0; l < 32; l++) {
                int q = b->qs[32 * (g / 2) + l] >> (4 * (g % 2)) & 15;
                dst[32 * g + l] = scale * (float)q - min;
            }
        }
    }
}

void ks_decode_q5_k(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q5_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d), dmin = half_at(b->dmin);
        for (unsigned g = 0; g < 8; g++) {
            uint8_t s, m;
            ks_k_scale_min(b->scales, g, &s, &m);
            float scale = d * (float)s, min = dmin * (float)m;
            for (unsigned l = 0; l < 32; l++) {
                int q = b->qs[32 * (g / 2) + l] >> (4 * (g % 2)) & 15;
                q |= (b->qh[l] >> g & 1) << 4;
                dst[32 * g + l] = scale * (float)q - min;
            }
        }
    }
}

void ks_decode_q6_k(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q6_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        for (int g = 0; g < 16; g++) {
            float scale = d * (float)b->scales[g];
            for (int i = 16 * g; i < 16 * g + 16; i++) {
                int h = i / 128, s = i / 32 % 4, l = i % 32;
                int low = b->ql[64 * h + 32 * (s % 2) + l] >> (4 * (s / 2)) & 15;
                int high = b->qh[32 * h + l] >> (2 * s) & 3;
                dst[i] = scale * (float)((low | high << 4) - 32);
            }
        }
    }
}

void ks_decode_tq1_0(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_tq1_0 *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        for (unsigned i = 0; i < 160; i++)
            dst[i] = (float)(ks_ternary_digit(b->qs[i % 32], i / 32) - 1) * d;
        for (unsigned i = 0; i < 80; i++)
            dst[160 + i] = (float)(ks_ternary_digit(b->qs[32 + i % 16], i / 16) - 1) * d;
        for (unsigned i = 0; i < 16; i++)
            dst[240 + i] = (float)(ks_ternary_digit(b->qh[i % 4], i / 4) - 1) * d;
    }
}

void ks_decode_tq2_0(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_tq2_0 *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        for (int i = 0; i < 256; i++)
            dst[i] = (float)(two_bits(b->qs, i) - 1) * d;
    }
}

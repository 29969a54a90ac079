/*
 * Decoding with vectors: the same products and differences as engine/quant/decode*.c, 16 elements
 * at a time. The bits of a block are picked apart as bytes, which AVX2 does well enough for both
 * paths, and then widened to floats. Types of few bits are in decode_low.c.
 */
#include "engine/kernels/path/decode.h"

#include "engine/quant/decode.h"

static void f16_row(const uint8_t *src, float *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(load16(src + 2 * i)));
    for (; i < n; i++)
        dst[i] = half_at(src + 2 * i);
}

static void bf16_row(const uint8_t *src, float *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(src + 2 * i)), 16);
        _mm256_storeu_ps(dst + i, _mm256_castsi256_ps(wide));
    }
    for (; i < n; i++)
        dst[i] = ks_bf16_to_f32(ks_le16(src + 2 * i));
}

static void q4_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q4_0 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        put32(dst, _mm256_sub_epi8(nibbles(b->qs), _mm256_set1_epi8(8)), half_at(b->d));
}

static void q4_1_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q4_1 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        put32_min(dst, nibbles(b->qs), half_at(b->d), -half_at(b->m));
}

/* 16 in each byte whose bit of bits is set. */
KS_INLINE __m256i fifth_bits(const uint8_t bits[4])
{
    const __m256i spread =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i one_each = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i q = _mm256_shuffle_epi8(_mm256_set1_epi32((int)ks_le32(bits)), spread);
    __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(q, one_each), one_each);
    return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

static void q5_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q5_0 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32) {
        __m256i q = _mm256_or_si256(nibbles(b->qs), fifth_bits(b->qh));
        put32(dst, _mm256_sub_epi8(q, _mm256_set1_epi8(16)), half_at(b->d));
    }
}

static void q5_1_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q5_1 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        put32_min(dst, _mm256_or_si256(nibbles(b->qs), fifth_bits(b->qh)), half_at(b->d),
                  -half_at(b->m));
}

static void q8_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q8_0 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        put32(dst, load32(b->qs), half_at(b->d));
}

static void iq4_nl_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq4_nl *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        put32(dst, look_up(b->qs, ks_iq4_values), half_at(b->d));
}

static void mxfp4_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_mxfp4 *b = (const void *)src;
    for (; n > 0; n -= 32, b++, dst += 32)
        put32(dst, look_up(b->qs, ks_mxfp4_values), ks_e8m0_half(b->e));
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
            put32(dst + 32 * g, look_up(b->qs + 16 * g, ks_iq4_values), d * (float)scale);
        }
    }
}

static void q2_k_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q2_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d), dmin = half_at(b->dmin);
        for (int g = 0; g < 16; g++) {
            __m128i q = _mm_srli_epi16(load16(b->qs + 32 * (g / 8) + 16 * (g % 2)), g / 2 % 4 * 2);
            put16_min(dst + 16 * g, _mm_and_si128(q, _mm_set1_epi8(3)),
                      d * (float)(b->scales[g] & 15), dmin * (float)(b->scales[g] >> 4));
        }
    }
}

static void q3_k_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q3_k *b = (const void *)src;
    const __m128i four = _mm_set1_epi8(4);
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        for (int g = 0; g < 16; g++) {
            __m128i q = _mm_srli_epi16(load16(b->qs + 32 * (g / 8) + 16 * (g % 2)), g / 2 % 4 * 2);
            __m128i bit = _mm_set1_epi8((char)(1 << g / 2));
            __m128i high = _mm_and_si128(load16(b->hmask + 16 * (g % 2)), bit);
            q = _mm_or_si128(_mm_and_si128(q, _mm_set1_epi8(3)),
                             _mm_and_si128(_mm_cmpeq_epi8(high, bit), four));
            put16(dst + 16 * g, _mm_sub_epi8(q, four),
                  d * (float)(ks_q3_k_scale(b->scales, (unsigned)g) - 32));
        }
    }
}

static void q4_k_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q4_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d), dmin = half_at(b->dmin);
        for (unsigned g = 0; g < 8; g++) {
            uint8_t s, m;
            ks_k_scale_min(b->scales, g, &s, &m);
            __m256i q = load32(b->qs + 32 * (g / 2));
            q = g % 2 ? field(q, 4, 4) : field(q, 0, 4);
            put32_min(dst + 32 * g, q, d * (float)s, dmin * (float)m);
        }
    }
}

static void q5_k_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q5_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d), dmin = half_at(b->dmin);
        __m256i high = load32(b->qh);
        for (unsigned g = 0; g < 8; g++) {
            uint8_t s, m;
            ks_k_scale_min(b->scales, g, &s, &m);
            __m256i q = load32(b->qs + 32 * (g / 2));
            q = g % 2 ? field(q, 4, 4) : field(q, 0, 4);
            __m256i bit = _mm256_set1_epi8((char)(1 << g));
            __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(high, bit), bit);
            q = _mm256_or_si256(q, _mm256_and_si256(set, _mm256_set1_epi8(16)));
            put32_min(dst + 32 * g, q, d * (float)s, dmin * (float)m);
        }
    }
}

/* 32 elements: q of 6 bits with two scales. */
KS_INLINE void put_q6(float *dst, __m256i low, __m256i high, float d, const int8_t scales[2])
{
    __m256i q = _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
    q = _mm256_sub_epi8(q, _mm256_set1_epi8(32));
    put16(dst, _mm256_castsi256_si128(q), d * (float)scales[0]);
    put16(dst + 16, _mm256_extracti128_si256(q, 1), d * (float)scales[1]);
}

static void q6_k_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_q6_k *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        for (int h = 0; h < 2; h++) {
            __m256i a = load32(b->ql + 64 * h), c = load32(b->ql + 64 * h + 32);
            __m256i high = load32(b->qh + 32 * h);
            const int8_t *scales = b->scales + 8 * h;
            float *to = dst + 128 * h;
            put_q6(to, field(a, 0, 4), field(high, 0, 2), d, scales);
            put_q6(to + 32, field(c, 0, 4), field(high, 2, 2), d, scales + 2);
            put_q6(to + 64, field(a, 4, 4), field(high, 4, 2), d, scales + 4);
            put_q6(to + 96, field(c, 4, 4), field(high, 6, 2), d, scales + 6);
        }
    }
}

/* NULL where the scalar definition has to do. */
static ks_vec_decoder *decoder_of(enum ks_type type)
{
    switch (type) {
    case KS_F16:
        return f16_row;
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
        return q2_k_row;
    case KS_Q3_K:
        return q3_k_row;
    case KS_Q4_K:
        return q4_k_row;
    case KS_Q5_K:
        return q5_k_row;
    case KS_Q6_K:
        return q6_k_row;
    case KS_IQ4_NL:
        return iq4_nl_row;
    case KS_IQ4_XS:
        return iq4_xs_row;
    case KS_MXFP4:
        return mxfp4_row;
    default:
        return KS_PATH(low_decoder)(type);
    }
}

void KS_PATH(decode)(enum ks_type type, const void *src, float *dst, size_t n)
{
    ks_vec_decoder *decode = decoder_of(type);
    if (decode)
        decode(src, dst, n);
    else
        ks_decode_row(type, src, dst, n);
}

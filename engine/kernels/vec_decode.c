/*
 * Decoding with vectors: the same products and differences as engine/quant/decode*.c, 16 elements
 * at a time. The bits of a block are picked apart as bytes, which AVX2 does well enough for both
 * paths, and then widened to floats.
 */
#include "engine/base/bytes.h"
#include "engine/kernels/vec_ops.h"
#include "engine/quant/blocks.h"
#include "engine/quant/decode.h"

static float half_at(const uint8_t bytes[2])
{
    return _cvtsh_ss(ks_le16(bytes));
}

static __m128i load16(const void *bytes)
{
    return _mm_loadu_si128(bytes);
}

static __m256i load32(const void *bytes)
{
    return _mm256_loadu_si256(bytes);
}

/* 16 signed bytes as floats. */
KS_INLINE ks_f32x16 widen(__m128i q)
{
    ks_f32x16 r;
#if KS_VF == 16
    r.v[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q));
#else
    r.v[0] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q));
    r.v[1] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(q, 8)));
#endif
    return r;
}

/* dst[16] = q * scale */
KS_INLINE void put16(float *dst, __m128i q, float scale)
{
    ks_f32x16_store(dst, ks_f32x16_mul(widen(q), ks_f32x16_set(scale)));
}

/* dst[16] = q * scale - min, rounded twice */
KS_INLINE void put16_min(float *dst, __m128i q, float scale, float min)
{
    ks_f32x16 product = ks_f32x16_mul(widen(q), ks_f32x16_set(scale));
    ks_f32x16_store(dst, ks_f32x16_sub(product, ks_f32x16_set(min)));
}

KS_INLINE void put32(float *dst, __m256i q, float scale)
{
    put16(dst, _mm256_castsi256_si128(q), scale);
    put16(dst + 16, _mm256_extracti128_si256(q, 1), scale);
}

KS_INLINE void put32_min(float *dst, __m256i q, float scale, float min)
{
    put16_min(dst, _mm256_castsi256_si128(q), scale, min);
    put16_min(dst + 16, _mm256_extracti128_si256(q, 1), scale, min);
}

/* Bits [shift, shift + bits) of each byte. */
KS_INLINE __m256i field(__m256i q, int shift, int bits)
{
    return _mm256_and_si256(_mm256_srli_epi16(q, shift), _mm256_set1_epi8((char)((1 << bits) - 1)));
}

/* The low nibbles of 16 bytes, then the high ones. */
KS_INLINE __m256i nibbles(const uint8_t qs[16])
{
    __m128i q = load16(qs), mask = _mm_set1_epi8(15);
    return _mm256_set_m128i(_mm_and_si128(_mm_srli_epi16(q, 4), mask), _mm_and_si128(q, mask));
}

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

/* Each nibble of 16 bytes chooses one of 16 values. */
KS_INLINE __m256i look_up(const uint8_t qs[16], const int8_t values[16])
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(values)), nibbles(qs));
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

typedef void decode_fn(const uint8_t *src, float *dst, size_t n);

/* NULL where the scalar definition has to do. */
static decode_fn *decoder_of(enum ks_type type)
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
        return NULL;
    }
}

void KS_PATH(decode)(enum ks_type type, const void *src, float *dst, size_t n)
{
    decode_fn *decode = decoder_of(type);
    if (decode)
        decode(src, dst, n);
    else
        ks_decode_row(type, src, dst, n);
}

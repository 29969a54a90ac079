/*
 * Decoding with vectors, the types of few bits: the same products as engine/quant/decode_grid.c, an
 * octet at a time. A point's eight digits are shifted apart in eight lanes and choose their values
 * from a register; AVX2 does that for both paths.
 */
#include "engine/kernels/path/decode.h"

#include "engine/quant/decode.h"
#include "engine/quant/grid/grid.h"

enum { OCTETS = 32 };

/* The values of the digits of `width` bits. */
KS_INLINE __m256 choose(const float values[8], struct ks_octet o, int width)
{
    const __m256i shifts = _mm256_setr_epi32(0, width, 2 * width, 3 * width, 4 * width, 5 * width,
                                             6 * width, 7 * width);
    __m256i digits = _mm256_srlv_epi32(_mm256_set1_epi32((int)o.digits), shifts);
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(values), digits);
}

KS_INLINE void put_signed(struct ks_octet o, int width, const float values[8], float scale,
                          float *dst)
{
    const __m256i to_top = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256i signs = _mm256_sllv_epi32(_mm256_set1_epi32(o.signs), to_top);
    __m256 v = _mm256_mul_ps(_mm256_set1_ps(scale), choose(values, o, width));
    v = _mm256_xor_ps(v, _mm256_and_ps(_mm256_castsi256_ps(signs), sign));
    _mm256_storeu_ps(dst, v);
}

KS_INLINE void put_shifted(struct ks_octet o, float scale, float *dst)
{
    __m256 shift = _mm256_set1_ps(o.signs ? -KS_IQ1_SHIFT : KS_IQ1_SHIFT);
    __m256 v = _mm256_add_ps(choose(ks_iq1_values, o, 2), shift);
    _mm256_storeu_ps(dst, _mm256_mul_ps(_mm256_set1_ps(scale), v));
}

static void iq2_xxs_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq2_xxs *b = (const void *)src;
    for (; n > 0; n -= 256, b++) {
        float d = half_at(b->d);
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq2_xxs_octet(b, i);
            put_signed(o, 2, ks_iq2_values, ks_iq2_scale(d, o.scale), dst);
        }
    }
}

static void iq2_xs_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq2_xs *b = (const void *)src;
    for (; n > 0; n -= 256, b++) {
        float d = half_at(b->d);
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq2_xs_octet(b, i);
            put_signed(o, 2, ks_iq2_values, ks_iq2_scale(d, o.scale), dst);
        }
    }
}

static void iq2_s_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq2_s *b = (const void *)src;
    for (; n > 0; n -= 256, b++) {
        float d = half_at(b->d);
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq2_s_octet(b, i);
            put_signed(o, 2, ks_iq2_values, ks_iq2_scale(d, o.scale), dst);
        }
    }
}

static void iq3_xxs_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq3_xxs *b = (const void *)src;
    for (; n > 0; n -= 256, b++) {
        float d = half_at(b->d);
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq3_xxs_octet(b, i);
            put_signed(o, 3, ks_iq3_xxs_values, ks_iq3_xxs_scale(d, o.scale), dst);
        }
    }
}

static void iq3_s_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq3_s *b = (const void *)src;
    for (; n > 0; n -= 256, b++) {
        float d = half_at(b->d);
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq3_s_octet(b, i);
            put_signed(o, 3, ks_iq3_s_values, ks_iq3_s_scale(d, o.scale), dst);
        }
    }
}

static void iq1_s_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq1_s *b = (const void *)src;
    for (; n > 0; n -= 256, b++) {
        float d = half_at(b->d);
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq1_s_octet(b, i);
            put_shifted(o, ks_iq3_s_scale(d, o.scale), dst);
        }
    }
}

static void iq1_m_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq1_m *b = (const void *)src;
    for (; n > 0; n -= 256, b++) {
        float d = _cvtsh_ss(ks_iq1_m_d(b));
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq1_m_octet(b, i);
            put_shifted(o, ks_iq3_s_scale(d, o.scale), dst);
        }
    }
}

/* ------------------------------------------------------------------ ternary, NVFP4 */

/* dst[16] = digit n of 16 bytes, less 1, times d */
KS_INLINE void put_ternary(const uint8_t bytes[16], int power, float d, float *dst)
{
    __m256i q =
        _mm256_mullo_epi16(_mm256_cvtepu8_epi16(load16(bytes)), _mm256_set1_epi16((short)power));
    q = _mm256_and_si256(q, _mm256_set1_epi16(255));
    q = _mm256_srli_epi16(_mm256_mullo_epi16(q, _mm256_set1_epi16(3)), 8);
    q = _mm256_sub_epi16(q, _mm256_set1_epi16(1));
    put16(dst, _mm_packs_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)), d);
}

static void tq1_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_tq1_0 *b = (const void *)src;
    for (; n > 0; n -= 256, b++, dst += 256) {
        float d = half_at(b->d);
        for (int i = 0, power = 1; i < 5; i++, power *= 3) {
            put_ternary(b->qs, power, d, dst + 32 * i);
            put_ternary(b->qs + 16, power, d, dst + 32 * i + 16);
            put_ternary(b->qs + 32, power, d, dst + 160 + 16 * i);
        }
        for (unsigned i = 0; i < 16; i++)
            dst[240 + i] = (float)(ks_ternary_digit(b->qh[i % 4], i / 4) - 1) * d;
    }
}

static void tq2_0_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_tq2_0 *b = (const void *)src;
    const __m256i one = _mm256_set1_epi8(1);
    for (; n > 0; n -= 256, b++)
        for (int h = 0; h < 2; h++, dst += 128) {
            __m256i q = load32(b->qs + 32 * h);
            float d = half_at(b->d);
            put32(dst, _mm256_sub_epi8(field(q, 0, 2), one), d);
            put32(dst + 32, _mm256_sub_epi8(field(q, 2, 2), one), d);
            put32(dst + 64, _mm256_sub_epi8(field(q, 4, 2), one), d);
            put32(dst + 96, _mm256_sub_epi8(field(q, 6, 2), one), d);
        }
}

static void nvfp4_row(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_nvfp4 *b = (const void *)src;
    const __m128i values = load16(ks_mxfp4_values), mask = _mm_set1_epi8(15);
    for (; n > 0; n -= 64, b++)
        for (int g = 0; g < 4; g++, dst += 16) {
            __m128i q = _mm_loadl_epi64((const void *)(b->qs + 8 * g));
            q = _mm_unpacklo_epi64(q, _mm_srli_epi16(q, 4));
            put16(dst, _mm_shuffle_epi8(values, _mm_and_si128(q, mask)), ks_ue4m3_half(b->d[g]));
        }
}

ks_vec_decoder *KS_PATH(low_decoder)(enum ks_type type)
{
    switch (type) {
    case KS_IQ1_S:
        return iq1_s_row;
    case KS_IQ1_M:
        return iq1_m_row;
    case KS_IQ2_XXS:
        return iq2_xxs_row;
    case KS_IQ2_XS:
        return iq2_xs_row;
    case KS_IQ2_S:
        return iq2_s_row;
    case KS_IQ3_XXS:
        return iq3_xxs_row;
    case KS_IQ3_S:
        return iq3_s_row;
    case KS_TQ1_0:
        return tq1_0_row;
    case KS_TQ2_0:
        return tq2_0_row;
    case KS_NVFP4:
        return nvfp4_row;
    default:
        return NULL;
    }
}

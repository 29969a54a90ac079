/*
 * What the vector decoders share: bytes picked apart, widened to floats, scaled and stored.
 */
#ifndef KS_ENGINE_KERNELS_DECODE_H
#define KS_ENGINE_KERNELS_DECODE_H

#include "engine/base/bytes.h"
#include "engine/kernels/path/vector.h"
#include "engine/quant/blocks.h"

typedef void ks_vec_decoder(const uint8_t *src, float *dst, size_t n);

/* The grids', ternary types' and NVFP4's, with ks_decode_row's contract; NULL for another type. */
ks_vec_decoder *KS_PATH(low_decoder)(enum ks_type type);

KS_INLINE float half_at(const uint8_t bytes[2])
{
    return _cvtsh_ss(ks_le16(bytes));
}

KS_INLINE __m128i load16(const void *bytes)
{
    return _mm_loadu_si128(bytes);
}

KS_INLINE __m256i load32(const void *bytes)
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

/* Each nibble of 16 bytes chooses one of 16 values. */
KS_INLINE __m256i look_up(const uint8_t qs[16], const int8_t values[16])
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(values)), nibbles(qs));
}

#endif

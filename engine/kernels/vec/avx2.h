/*
 * vec.h's natives for AVX2 with FMA.
 */
#ifndef KS_ENGINE_KERNELS_VEC_AVX2_H
#define KS_ENGINE_KERNELS_VEC_AVX2_H

#include <immintrin.h>

#include "engine/kernels/elementary/math_table.h"

#define KS_VF 8
#define KS_VD 4

typedef __m256 ks_vf;
typedef __m256d ks_vd;

KS_INLINE ks_vf ks_vf_set(float x)
{
    return _mm256_set1_ps(x);
}

KS_INLINE ks_vf ks_vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

KS_INLINE void ks_vf_store(float *p, ks_vf a)
{
    _mm256_storeu_ps(p, a);
}

/* All ones in the first n lanes. */
KS_INLINE __m256i ks_vf_mask(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* n <= 8 elements; the other lanes are fill's, or not written. */
KS_INLINE ks_vf ks_vf_load_part(const float *p, size_t n, ks_vf fill)
{
    __m256i mask = ks_vf_mask(n);
    return _mm256_blendv_ps(fill, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
}

KS_INLINE void ks_vf_store_part(float *p, size_t n, ks_vf a)
{
    _mm256_maskstore_ps(p, ks_vf_mask(n), a);
}

KS_INLINE ks_vf ks_vf_fma(ks_vf a, ks_vf b, ks_vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* The instruction is a > b ? a : b, NaN and zeros included. */
KS_INLINE ks_vf ks_vf_max(ks_vf a, ks_vf b)
{
    return _mm256_max_ps(a, b);
}

/* Clamping with x second keeps a NaN in x. */
KS_INLINE ks_vf ks_vf_exp(ks_vf x)
{
    static const float c[] = KS_EXPF_COEFFICIENTS;
    x = _mm256_max_ps(ks_vf_set(KS_EXPF_LEAST), x);
    x = _mm256_min_ps(ks_vf_set(KS_EXPF_MOST), x);
    ks_vf shifted = ks_vf_fma(x, ks_vf_set(KS_LOG2EF), ks_vf_set(KS_ROUND_F32));
    ks_vf n = shifted - ks_vf_set(KS_ROUND_F32);
    ks_vf r = _mm256_fnmadd_ps(n, ks_vf_set(KS_LN2F_HIGH), x);
    r = _mm256_fnmadd_ps(n, ks_vf_set(KS_LN2F_LOW), r);
    ks_vf p = ks_vf_set(c[0]);
#pragma GCC unroll 16
    for (int i = 1; i < KS_EXPF_TERMS; i++)
        p = ks_vf_fma(p, r, ks_vf_set(c[i]));
    __m256i k = _mm256_srai_epi32(_mm256_slli_epi32(_mm256_castps_si256(shifted), 10), 10);
    __m256i half = _mm256_srai_epi32(k, 1), rest = _mm256_sub_epi32(k, half);
    __m256i bias = _mm256_set1_epi32(127);
    p = p * _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    return p * _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
}

KS_INLINE ks_vd ks_vd_set(double x)
{
    return _mm256_set1_pd(x);
}

KS_INLINE ks_vd ks_vd_widen(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

KS_INLINE void ks_vd_store(double *p, ks_vd a)
{
    _mm256_storeu_pd(p, a);
}

KS_INLINE ks_vd ks_vd_fma(ks_vd a, ks_vd b, ks_vd c)
{
    return _mm256_fmadd_pd(a, b, c);
}

KS_INLINE ks_vd ks_vd_where_greater(ks_vd a, ks_vd b, ks_vd x, ks_vd y)
{
    return _mm256_blendv_pd(y, x, _mm256_cmp_pd(a, b, _CMP_GT_OQ));
}

/* The low 32 bits of each double hold k; what the shift by 52 keeps is right for either half. */
KS_INLINE ks_vd ks_vd_exp(ks_vd x)
{
    static const double c[] = KS_EXP_COEFFICIENTS;
    x = _mm256_max_pd(ks_vd_set(KS_EXP_LEAST), x);
    x = _mm256_min_pd(ks_vd_set(KS_EXP_MOST), x);
    ks_vd shifted = ks_vd_fma(x, ks_vd_set(KS_LOG2E), ks_vd_set(KS_ROUND_F64));
    ks_vd n = shifted - ks_vd_set(KS_ROUND_F64);
    ks_vd r = _mm256_fnmadd_pd(n, ks_vd_set(KS_LN2_HIGH), x);
    r = _mm256_fnmadd_pd(n, ks_vd_set(KS_LN2_LOW), r);
    ks_vd p = ks_vd_set(c[0]);
#pragma GCC unroll 16
    for (int i = 1; i < KS_EXP_TERMS; i++)
        p = ks_vd_fma(p, r, ks_vd_set(c[i]));
    __m256i k = _mm256_castpd_si256(shifted);
    __m256i half = _mm256_srai_epi32(k, 1), rest = _mm256_sub_epi32(k, half);
    __m256i bias = _mm256_set1_epi32(1023);
    p = p * _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi32(half, bias), 52));
    return p * _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi32(rest, bias), 52));
}

#endif

/*
 * vec.h's natives for AVX-512 F, BW, DQ and VL.
 */
#ifndef KS_ENGINE_KERNELS_VEC_AVX512_H
#define KS_ENGINE_KERNELS_VEC_AVX512_H

#include <immintrin.h>

#include "engine/kernels/elementary/math_table.h"

#define KS_VF 16
#define KS_VD 8

typedef __m512 ks_vf;
typedef __m512d ks_vd;

KS_INLINE ks_vf ks_vf_set(float x)
{
    return _mm512_set1_ps(x);
}

KS_INLINE ks_vf ks_vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

KS_INLINE void ks_vf_store(float *p, ks_vf a)
{
    _mm512_storeu_ps(p, a);
}

/* n <= 16 elements; the other lanes are fill's, or not written. */
KS_INLINE ks_vf ks_vf_load_part(const float *p, size_t n, ks_vf fill)
{
    return _mm512_mask_loadu_ps(fill, (__mmask16)((1u << n) - 1), p);
}

KS_INLINE void ks_vf_store_part(float *p, size_t n, ks_vf a)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), a);
}

KS_INLINE ks_vf ks_vf_fma(ks_vf a, ks_vf b, ks_vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* The instruction is a > b ? a : b, NaN and zeros included. */
KS_INLINE ks_vf ks_vf_max(ks_vf a, ks_vf b)
{
    return _mm512_max_ps(a, b);
}

/* Clamping with x second keeps a NaN in x. Scaling rounds once, as the scalar's two steps do. */
KS_INLINE ks_vf ks_vf_exp(ks_vf x)
{
    static const float c[] = KS_EXPF_COEFFICIENTS;
    x = _mm512_max_ps(ks_vf_set(KS_EXPF_LEAST), x);
    x = _mm512_min_ps(ks_vf_set(KS_EXPF_MOST), x);
    ks_vf round = ks_vf_set(KS_ROUND_F32);
    ks_vf n = ks_vf_fma(x, ks_vf_set(KS_LOG2EF), round) - round;
    ks_vf r = _mm512_fnmadd_ps(n, ks_vf_set(KS_LN2F_HIGH), x);
    r = _mm512_fnmadd_ps(n, ks_vf_set(KS_LN2F_LOW), r);
    ks_vf p = ks_vf_set(c[0]);
#pragma GCC unroll 16
    for (int i = 1; i < KS_EXPF_TERMS; i++)
        p = ks_vf_fma(p, r, ks_vf_set(c[i]));
    return _mm512_scalef_ps(p, n);
}

KS_INLINE ks_vd ks_vd_set(double x)
{
    return _mm512_set1_pd(x);
}

KS_INLINE ks_vd ks_vd_widen(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

KS_INLINE void ks_vd_store(double *p, ks_vd a)
{
    _mm512_storeu_pd(p, a);
}

KS_INLINE ks_vd ks_vd_fma(ks_vd a, ks_vd b, ks_vd c)
{
    return _mm512_fmadd_pd(a, b, c);
}

KS_INLINE ks_vd ks_vd_where_greater(ks_vd a, ks_vd b, ks_vd x, ks_vd y)
{
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_GT_OQ), y, x);
}

KS_INLINE ks_vd ks_vd_exp(ks_vd x)
{
    static const double c[] = KS_EXP_COEFFICIENTS;
    x = _mm512_max_pd(ks_vd_set(KS_EXP_LEAST), x);
    x = _mm512_min_pd(ks_vd_set(KS_EXP_MOST), x);
    ks_vd round = ks_vd_set(KS_ROUND_F64);
    ks_vd n = ks_vd_fma(x, ks_vd_set(KS_LOG2E), round) - round;
    ks_vd r = _mm512_fnmadd_pd(n, ks_vd_set(KS_LN2_HIGH), x);
    r = _mm512_fnmadd_pd(n, ks_vd_set(KS_LN2_LOW), r);
    ks_vd p = ks_vd_set(c[0]);
#pragma GCC unroll 16
    for (int i = 1; i < KS_EXP_TERMS; i++)
        p = ks_vd_fma(p, r, ks_vd_set(c[i]));
    return _mm512_scalef_pd(p, n);
}

#endif

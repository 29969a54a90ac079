/*
 * Vectors of whatever width the including file is compiled for: AVX-512, AVX2 with FMA, or plain
 * scalars. A source written with them is compiled once for each path and gives the same bits on
 * all: every operation is elementwise and rounds once, and what runs over lanes goes through the
 * 16-lane types below, which keep the order of lanes.h.
 *
 * ks_vf and ks_vd are the native vectors of KS_VF floats and KS_VD doubles; + - * / work on them as
 * they do on scalars. ks_f32x16 and ks_f64x16 are 16 lanes, in as many natives as that takes.
 *
 * Only for code that is compiled per path (kernels, ruler). Everything here is inlined.
 */
#ifndef KS_ENGINE_KERNELS_VEC_H
#define KS_ENGINE_KERNELS_VEC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/kernels/elementary/lanes.h"
#include "engine/kernels/elementary/math.h"

#define KS_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "engine/kernels/vec/avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "engine/kernels/vec/avx2.h"
#else
#include "engine/kernels/vec/plain.h"
#endif

#define KS_VF_IN_16 (KS_LANES / KS_VF)
#define KS_VD_IN_16 (KS_LANES / KS_VD)
#define KS_EACH_F32 _Pragma("GCC unroll 16") for (int i = 0; i < KS_VF_IN_16; i++)
#define KS_EACH_F64 _Pragma("GCC unroll 16") for (int i = 0; i < KS_VD_IN_16; i++)

typedef struct {
    ks_vf v[KS_VF_IN_16];
} ks_f32x16;

typedef struct {
    ks_vd v[KS_VD_IN_16];
} ks_f64x16;

KS_INLINE ks_f32x16 ks_f32x16_set(float x)
{
    ks_f32x16 r;
    KS_EACH_F32 r.v[i] = ks_vf_set(x);
    return r;
}

KS_INLINE ks_f32x16 ks_f32x16_load(const float *p)
{
    ks_f32x16 r;
    KS_EACH_F32 r.v[i] = ks_vf_load(p + i * KS_VF);
    return r;
}

/* How many of the first n lanes are in native i. */
#define KS_PART(n, i, width)                                                                       \
    ((n) <= (size_t)(i) * (width)            ? 0                                                   \
     : (n) - (size_t)(i) * (width) < (width) ? (n) - (size_t)(i) * (width)                         \
                                             : (width))

/* n <= 16 elements, the other lanes are fill. */
KS_INLINE ks_f32x16 ks_f32x16_load_part(const float *p, size_t n, float fill)
{
    ks_f32x16 r;
    KS_EACH_F32 r.v[i] = ks_vf_load_part(p + i * KS_VF, KS_PART(n, i, KS_VF), ks_vf_set(fill));
    return r;
}

KS_INLINE void ks_f32x16_store(float *p, ks_f32x16 a)
{
    KS_EACH_F32 ks_vf_store(p + i * KS_VF, a.v[i]);
}

/* The first n <= 16 lanes. */
KS_INLINE void ks_f32x16_store_part(float *p, size_t n, ks_f32x16 a)
{
    KS_EACH_F32 ks_vf_store_part(p + i * KS_VF, KS_PART(n, i, KS_VF), a.v[i]);
}

KS_INLINE ks_f32x16 ks_f32x16_neg(ks_f32x16 a)
{
    KS_EACH_F32 a.v[i] = -a.v[i];
    return a;
}

KS_INLINE ks_f32x16 ks_f32x16_add(ks_f32x16 a, ks_f32x16 b)
{
    KS_EACH_F32 a.v[i] = a.v[i] + b.v[i];
    return a;
}

KS_INLINE ks_f32x16 ks_f32x16_sub(ks_f32x16 a, ks_f32x16 b)
{
    KS_EACH_F32 a.v[i] = a.v[i] - b.v[i];
    return a;
}

KS_INLINE ks_f32x16 ks_f32x16_mul(ks_f32x16 a, ks_f32x16 b)
{
    KS_EACH_F32 a.v[i] = a.v[i] * b.v[i];
    return a;
}

KS_INLINE ks_f32x16 ks_f32x16_div(ks_f32x16 a, ks_f32x16 b)
{
    KS_EACH_F32 a.v[i] = a.v[i] / b.v[i];
    return a;
}

/* a * b + c, one rounding */
KS_INLINE ks_f32x16 ks_f32x16_fma(ks_f32x16 a, ks_f32x16 b, ks_f32x16 c)
{
    KS_EACH_F32 a.v[i] = ks_vf_fma(a.v[i], b.v[i], c.v[i]);
    return a;
}

/* a > b ? a : b */
KS_INLINE ks_f32x16 ks_f32x16_max(ks_f32x16 a, ks_f32x16 b)
{
    KS_EACH_F32 a.v[i] = ks_vf_max(a.v[i], b.v[i]);
    return a;
}

/* ks_expf of each lane */
KS_INLINE ks_f32x16 ks_f32x16_exp(ks_f32x16 a)
{
    KS_EACH_F32 a.v[i] = ks_vf_exp(a.v[i]);
    return a;
}

KS_INLINE float ks_f32x16_sum(ks_f32x16 a)
{
    float lane[KS_LANES];
    ks_f32x16_store(lane, a);
    return ks_lanes_sum_f32(lane);
}

KS_INLINE float ks_f32x16_greatest(ks_f32x16 a)
{
    float lane[KS_LANES];
    ks_f32x16_store(lane, a);
    return ks_lanes_max_f32(lane);
}

KS_INLINE ks_f64x16 ks_f64x16_set(double x)
{
    ks_f64x16 r;
    KS_EACH_F64 r.v[i] = ks_vd_set(x);
    return r;
}

/* 16 floats, widened */
KS_INLINE ks_f64x16 ks_f64x16_widen(const float *p)
{
    ks_f64x16 r;
    KS_EACH_F64 r.v[i] = ks_vd_widen(p + i * KS_VD);
    return r;
}

/* n < 16 floats, widened; the other lanes are fill. */
KS_INLINE ks_f64x16 ks_f64x16_widen_part(const float *p, size_t n, float fill)
{
    float lane[KS_LANES];
    for (size_t i = 0; i < KS_LANES; i++)
        lane[i] = i < n ? p[i] : fill;
    return ks_f64x16_widen(lane);
}

KS_INLINE void ks_f64x16_store(double *p, ks_f64x16 a)
{
    KS_EACH_F64 ks_vd_store(p + i * KS_VD, a.v[i]);
}

KS_INLINE ks_f64x16 ks_f64x16_add(ks_f64x16 a, ks_f64x16 b)
{
    KS_EACH_F64 a.v[i] = a.v[i] + b.v[i];
    return a;
}

KS_INLINE ks_f64x16 ks_f64x16_sub(ks_f64x16 a, ks_f64x16 b)
{
    KS_EACH_F64 a.v[i] = a.v[i] - b.v[i];
    return a;
}

KS_INLINE ks_f64x16 ks_f64x16_fma(ks_f64x16 a, ks_f64x16 b, ks_f64x16 c)
{
    KS_EACH_F64 a.v[i] = ks_vd_fma(a.v[i], b.v[i], c.v[i]);
    return a;
}

/* x where a > b, y elsewhere (so where either is NaN) */
KS_INLINE ks_f64x16 ks_f64x16_where_greater(ks_f64x16 a, ks_f64x16 b, ks_f64x16 x, ks_f64x16 y)
{
    KS_EACH_F64 a.v[i] = ks_vd_where_greater(a.v[i], b.v[i], x.v[i], y.v[i]);
    return a;
}

/* ks_exp of each lane */
KS_INLINE ks_f64x16 ks_f64x16_exp(ks_f64x16 a)
{
    KS_EACH_F64 a.v[i] = ks_vd_exp(a.v[i]);
    return a;
}

KS_INLINE double ks_f64x16_sum(ks_f64x16 a)
{
    double lane[KS_LANES];
    ks_f64x16_store(lane, a);
    return ks_lanes_sum_f64(lane);
}

#endif

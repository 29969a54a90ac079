/*
 * vec.h's natives of width 1, for the scalar path and for CPUs without a vector path of their own.
 */
#ifndef KS_ENGINE_KERNELS_VEC_PLAIN_H
#define KS_ENGINE_KERNELS_VEC_PLAIN_H

#define KS_VF 1
#define KS_VD 1

typedef float ks_vf;
typedef double ks_vd;

KS_INLINE ks_vf ks_vf_set(float x)
{
    return x;
}

KS_INLINE ks_vf ks_vf_load(const float *p)
{
    return *p;
}

KS_INLINE void ks_vf_store(float *p, ks_vf a)
{
    *p = a;
}

/* n <= 1 elements; the other lane is fill's, or not written. */
KS_INLINE ks_vf ks_vf_load_part(const float *p, size_t n, ks_vf fill)
{
    return n ? *p : fill;
}

KS_INLINE void ks_vf_store_part(float *p, size_t n, ks_vf a)
{
    if (n)
        *p = a;
}

KS_INLINE ks_vf ks_vf_fma(ks_vf a, ks_vf b, ks_vf c)
{
    return fmaf(a, b, c);
}

KS_INLINE ks_vf ks_vf_max(ks_vf a, ks_vf b)
{
    return a > b ? a : b;
}

KS_INLINE ks_vf ks_vf_exp(ks_vf x)
{
    return ks_expf(x);
}

KS_INLINE ks_vd ks_vd_set(double x)
{
    return x;
}

KS_INLINE ks_vd ks_vd_widen(const float *p)
{
    return (double)*p;
}

KS_INLINE void ks_vd_store(double *p, ks_vd a)
{
    *p = a;
}

KS_INLINE ks_vd ks_vd_fma(ks_vd a, ks_vd b, ks_vd c)
{
    return fma(a, b, c);
}

KS_INLINE ks_vd ks_vd_where_greater(ks_vd a, ks_vd b, ks_vd x, ks_vd y)
{
    return a > b ? x : y;
}

KS_INLINE ks_vd ks_vd_exp(ks_vd x)
{
    return ks_exp(x);
}

#endif

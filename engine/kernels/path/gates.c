/*
 * A path's elementwise functions between matrices: gates, activations, caps.
 */
#include "engine/kernels/elementary/math_table.h"
#include "engine/kernels/path/vector.h"

/* x / (1 + exp(-gate)) */
KS_INLINE ks_f32x16 times_sigmoid(ks_f32x16 x, ks_f32x16 gate)
{
    ks_f32x16 e = ks_f32x16_exp(ks_f32x16_neg(gate));
    return ks_f32x16_div(x, ks_f32x16_add(ks_f32x16_set(1.0f), e));
}

KS_INLINE ks_f32x16 silu_times(ks_f32x16 gate, ks_f32x16 up)
{
    return ks_f32x16_mul(times_sigmoid(gate, gate), up);
}

/* x < limit or a NaN: x */
KS_INLINE ks_f32x16 at_most(float limit, ks_f32x16 x)
{
    return ks_f32x16_neg(ks_f32x16_max(ks_f32x16_set(-limit), ks_f32x16_neg(x)));
}

KS_INLINE ks_f32x16 clamped_silu_times(ks_f32x16 gate, ks_f32x16 up)
{
    ks_f32x16 g = at_most(KS_CLAMP, gate);
    ks_f32x16 u = ks_f32x16_max(ks_f32x16_set(-KS_CLAMP), at_most(KS_CLAMP, up));
    ks_f32x16 slope = ks_f32x16_set(KS_CLAMPED_SLOPE), one = ks_f32x16_set(1.0f);
    return ks_f32x16_mul(times_sigmoid(g, ks_f32x16_mul(slope, g)), ks_f32x16_add(u, one));
}

/* x(n) = f(x, y) */
KS_INLINE void map(float *x, const float *y, size_t n, ks_f32x16 (*f)(ks_f32x16, ks_f32x16))
{
    size_t whole = n / KS_LANES * KS_LANES, rest = n - whole;
    for (size_t i = 0; i < whole; i += KS_LANES)
        ks_f32x16_store(x + i, f(ks_f32x16_load(x + i), ks_f32x16_load(y + i)));
    if (rest) {
        ks_f32x16 a = ks_f32x16_load_part(x + whole, rest, 0.0f);
        ks_f32x16 b = ks_f32x16_load_part(y + whole, rest, 0.0f);
        ks_f32x16_store_part(x + whole, rest, f(a, b));
    }
}

void KS_PATH(silu_mul)(float *gate, const float *up, size_t n)
{
    map(gate, up, n, silu_times);
}

void KS_PATH(sigmoid_mul)(float *x, const float *gate, size_t n)
{
    map(x, gate, n, times_sigmoid);
}

void KS_PATH(clamped_silu_mul)(float *gate, const float *up, size_t n)
{
    map(gate, up, n, clamped_silu_times);
}

KS_INLINE ks_f32x16 gelu_of(ks_f32x16 x)
{
    ks_f32x16 cubic = ks_f32x16_mul(ks_f32x16_set(KS_GELU_CUBIC), ks_f32x16_mul(x, x));
    ks_f32x16 y = ks_f32x16_mul(ks_f32x16_set(KS_GELU_SLOPE), ks_f32x16_fma(cubic, x, x));
    return times_sigmoid(x, y);
}

KS_INLINE ks_f32x16 gelu_times(ks_f32x16 gate, ks_f32x16 up)
{
    return ks_f32x16_mul(gelu_of(gate), up);
}

void KS_PATH(gelu_mul)(float *gate, const float *up, size_t n)
{
    map(gate, up, n, gelu_times);
}

KS_INLINE ks_f32x16 gelu_alone(ks_f32x16 x, ks_f32x16 same)
{
    (void)same;
    return gelu_of(x);
}

void KS_PATH(gelu)(float *x, size_t n)
{
    map(x, x, n, gelu_alone);
}

/* A NaN stays one. */
KS_INLINE ks_f32x16 relu2_alone(ks_f32x16 x, ks_f32x16 same)
{
    (void)same;
    ks_f32x16 v = ks_f32x16_max(ks_f32x16_set(0.0f), x);
    return ks_f32x16_mul(v, v);
}

void KS_PATH(relu2)(float *x, size_t n)
{
    map(x, x, n, relu2_alone);
}

/* As ks_tanhf. */
KS_INLINE ks_vd tanh_of(ks_vd x)
{
    ks_vd one = ks_vd_set(1.0), two = ks_vd_set(2.0), square = x * x;
    ks_vd small = x * ks_vd_fma(square, ks_vd_set(KS_MINUS_THIRD), one);
    ks_vd large = one - two / (ks_vd_exp(two * x) + one);
    return ks_vd_where_greater(ks_vd_set(KS_TANH_SMALL), square, small, large);
}

/* 16 floats, widened after the f32 product; n of them are stored. */
KS_INLINE void cap_lanes(float *x, size_t n, float scale, float cap)
{
    float lane[KS_LANES];
    double wide[KS_LANES];
    ks_f32x16 v = ks_f32x16_mul(ks_f32x16_load_part(x, n, 0.0f), ks_f32x16_set(scale));
    ks_f32x16_store(lane, v);
    ks_f64x16 t = ks_f64x16_widen(lane);
    KS_EACH_F64 t.v[i] = tanh_of(t.v[i]);
    ks_f64x16_store(wide, t);
    for (size_t i = 0; i < n; i++)
        x[i] = cap * (float)wide[i];
}

void KS_PATH(softcap)(float *x, size_t n, float scale, float cap)
{
    size_t whole = n / KS_LANES * KS_LANES;
    for (size_t i = 0; i < whole; i += KS_LANES)
        cap_lanes(x + i, KS_LANES, scale, cap);
    if (n > whole)
        cap_lanes(x + whole, n - whole, scale, cap);
}

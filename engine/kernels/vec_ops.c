/*
 * A path's table, and its operations on rows.
 */
#include "engine/kernels/vec_ops.h"

static void rmsnorm(const float *x, size_t dim, const float *gain, float eps, float *y)
{
    size_t whole = dim / KS_LANES * KS_LANES, rest = dim - whole;
    ks_f32x16 lanes = ks_f32x16_set(0.0f);
    for (size_t i = 0; i < whole; i += KS_LANES) {
        ks_f32x16 v = ks_f32x16_load(x + i);
        lanes = ks_f32x16_fma(v, v, lanes);
    }
    if (rest) {
        ks_f32x16 v = ks_f32x16_load_part(x + whole, rest, 0.0f);
        lanes = ks_f32x16_fma(v, v, lanes);
    }
    float scale = 1.0f / sqrtf(ks_f32x16_sum(lanes) / (float)dim + eps);
    for (size_t i = 0; i < dim; i++)
        y[i] = x[i] * scale * gain[i];
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

KS_INLINE ks_f32x16 silu(ks_f32x16 gate, ks_f32x16 up)
{
    ks_f32x16 e = ks_f32x16_exp(ks_f32x16_neg(gate));
    return ks_f32x16_mul(ks_f32x16_div(gate, ks_f32x16_add(ks_f32x16_set(1.0f), e)), up);
}

static void silu_mul(float *gate, const float *up, size_t n)
{
    size_t whole = n / KS_LANES * KS_LANES, rest = n - whole;
    for (size_t i = 0; i < whole; i += KS_LANES)
        ks_f32x16_store(gate + i, silu(ks_f32x16_load(gate + i), ks_f32x16_load(up + i)));
    if (rest) {
        ks_f32x16 g = ks_f32x16_load_part(gate + whole, rest, 0.0f);
        ks_f32x16 u = ks_f32x16_load_part(up + whole, rest, 0.0f);
        ks_f32x16_store_part(gate + whole, rest, silu(g, u));
    }
}

static void rotate(float *x, size_t half, enum ks_rope_pairing pairing, const float *c,
                   const float *s)
{
    if (pairing == KS_ROPE_HALVES) {
        for (size_t i = 0; i < half; i++) {
            float a = x[i], b = x[i + half];
            x[i] = a * c[i] - b * s[i];
            x[i + half] = a * s[i] + b * c[i];
        }
        return;
    }
    for (size_t i = 0; i < half; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * c[i] - b * s[i];
        x[2 * i + 1] = a * s[i] + b * c[i];
    }
}

/* row = scale * row; returns the greatest. */
KS_INLINE float scale_row(float *row, size_t n, float scale)
{
    size_t whole = n / KS_LANES * KS_LANES, rest = n - whole;
    ks_f32x16 s = ks_f32x16_set(scale), greatest = ks_f32x16_set(-INFINITY);
    for (size_t i = 0; i < whole; i += KS_LANES) {
        ks_f32x16 v = ks_f32x16_mul(ks_f32x16_load(row + i), s);
        ks_f32x16_store(row + i, v);
        greatest = ks_f32x16_max(v, greatest);
    }
    if (rest) {
        ks_f32x16 v = ks_f32x16_mul(ks_f32x16_load_part(row + whole, rest, 0.0f), s);
        ks_f32x16_store_part(row + whole, rest, v);
        v = ks_f32x16_load_part(row + whole, rest, -INFINITY);
        greatest = ks_f32x16_max(v, greatest);
    }
    return ks_f32x16_greatest(greatest);
}

static void softmax(float *row, size_t n, float scale)
{
    size_t whole = n / KS_LANES * KS_LANES, rest = n - whole;
    ks_f32x16 max = ks_f32x16_set(scale_row(row, n, scale)), lanes = ks_f32x16_set(0.0f);
    for (size_t i = 0; i < whole; i += KS_LANES) {
        ks_f32x16 e = ks_f32x16_exp(ks_f32x16_sub(ks_f32x16_load(row + i), max));
        ks_f32x16_store(row + i, e);
        lanes = ks_f32x16_add(lanes, e);
    }
    if (rest) {
        ks_f32x16 v = ks_f32x16_load_part(row + whole, rest, 0.0f);
        ks_f32x16_store_part(row + whole, rest, ks_f32x16_exp(ks_f32x16_sub(v, max)));
        lanes = ks_f32x16_add(lanes, ks_f32x16_load_part(row + whole, rest, 0.0f));
    }
    ks_f32x16 sum = ks_f32x16_set(ks_f32x16_sum(lanes));
    for (size_t i = 0; i < whole; i += KS_LANES)
        ks_f32x16_store(row + i, ks_f32x16_div(ks_f32x16_load(row + i), sum));
    if (rest) {
        ks_f32x16 v = ks_f32x16_load_part(row + whole, rest, 0.0f);
        ks_f32x16_store_part(row + whole, rest, ks_f32x16_div(v, sum));
    }
}

#define CHAINS 12 /* covers the latency of two units, and fits 16 registers */

static float spin(size_t rounds)
{
    ks_vf chain[CHAINS];
    float lane[KS_VF];
#pragma GCC unroll 16
    for (int c = 0; c < CHAINS; c++)
        chain[c] = ks_vf_set((float)c);
    ks_vf a = ks_vf_set(0.999f), b = ks_vf_set(0.001f), sum = ks_vf_set(0.0f);
    for (size_t i = 0; i < rounds; i++)
#pragma GCC unroll 16
        for (int c = 0; c < CHAINS; c++)
            chain[c] = ks_vf_fma(chain[c], a, b);
#pragma GCC unroll 16
    for (int c = 0; c < CHAINS; c++)
        sum = sum + chain[c];
    ks_vf_store(lane, sum);
    return lane[0];
}

const struct ks_ops KS_PATH(ops) = {
    .panel = KS_PANEL,
    .decode = KS_PATH(decode),
    .transpose = KS_PATH(transpose),
    .product = KS_PATH(product),
    .rmsnorm = rmsnorm,
    .add = add,
    .silu_mul = silu_mul,
    .rotate = rotate,
    .softmax = softmax,
    .spin = spin,
    .fmas = CHAINS * (size_t)KS_VF,
};

/*
 * A path's table, and its operations on rows.
 */
#include "engine/kernels/path/vector.h"

KS_INLINE float sum_of_squares(const float *x, size_t dim)
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
    return ks_f32x16_sum(lanes);
}

static void rmsnorm(const float *x, size_t dim, const float *gain, float eps, float *y)
{
    float scale = 1.0f / sqrtf(sum_of_squares(x, dim) / (float)dim + eps);
    for (size_t i = 0; i < dim; i++)
        y[i] = x[i] * scale * gain[i];
}

static void layernorm(const float *x, size_t dim, const float *gain, const float *bias, float eps,
                      float *y)
{
    size_t whole = dim / KS_LANES * KS_LANES, rest = dim - whole;
    ks_f32x16 lanes = ks_f32x16_set(0.0f), squares = ks_f32x16_set(0.0f);
    for (size_t i = 0; i < whole; i += KS_LANES)
        lanes = ks_f32x16_add(lanes, ks_f32x16_load(x + i));
    if (rest)
        lanes = ks_f32x16_add(lanes, ks_f32x16_load_part(x + whole, rest, 0.0f));
    float mean = ks_f32x16_sum(lanes) / (float)dim;
    ks_f32x16 m = ks_f32x16_set(mean);
    for (size_t i = 0; i < whole; i += KS_LANES) {
        ks_f32x16 d = ks_f32x16_sub(ks_f32x16_load(x + i), m);
        squares = ks_f32x16_fma(d, d, squares);
    }
    if (rest) {
        ks_f32x16 d = ks_f32x16_sub(ks_f32x16_load_part(x + whole, rest, mean), m);
        squares = ks_f32x16_fma(d, d, squares);
    }
    float scale = 1.0f / sqrtf(ks_f32x16_sum(squares) / (float)dim + eps);
    for (size_t i = 0; i < dim; i++)
        y[i] = (x[i] - mean) * scale;
    for (size_t i = 0; gain && i < dim; i++)
        y[i] *= gain[i];
    for (size_t i = 0; bias && i < dim; i++)
        y[i] += bias[i];
}

static void unit(float *x, size_t dim, float eps, float scale)
{
    float factor = scale / sqrtf(sum_of_squares(x, dim) + eps);
    for (size_t i = 0; i < dim; i++)
        x[i] *= factor;
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void scale(float *x, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void mul(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= y[i];
}

static void add_scaled(float *x, const float *y, float weight, size_t n)
{
    size_t whole = n / KS_VF * KS_VF;
    ks_vf w = ks_vf_set(weight);
    for (size_t i = 0; i < whole; i += KS_VF)
        ks_vf_store(x + i, ks_vf_fma(w, ks_vf_load(y + i), ks_vf_load(x + i)));
    for (size_t i = whole; i < n; i++)
        x[i] = fmaf(weight, y[i], x[i]);
}

static void add_product(float *x, const float *a, const float *b, size_t n)
{
    size_t whole = n / KS_VF * KS_VF;
    for (size_t i = 0; i < whole; i += KS_VF)
        ks_vf_store(x + i, ks_vf_fma(ks_vf_load(a + i), ks_vf_load(b + i), ks_vf_load(x + i)));
    for (size_t i = whole; i < n; i++)
        x[i] = fmaf(a[i], b[i], x[i]);
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

static void softmax(float *row, size_t n, float scale, const float *sink)
{
    size_t whole = n / KS_LANES * KS_LANES, rest = n - whole;
    float greatest = scale_row(row, n, scale);
    greatest = sink && *sink > greatest ? *sink : greatest;
    ks_f32x16 max = ks_f32x16_set(greatest), lanes = ks_f32x16_set(0.0f);
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
    float total = ks_f32x16_sum(lanes);
    if (sink)
        total += ks_expf(*sink - greatest);
    ks_f32x16 sum = ks_f32x16_set(total);
    for (size_t i = 0; i < whole; i += KS_LANES)
        ks_f32x16_store(row + i, ks_f32x16_div(ks_f32x16_load(row + i), sum));
    if (rest) {
        ks_f32x16 v = ks_f32x16_load_part(row + whole, rest, 0.0f);
        ks_f32x16_store_part(row + whole, rest, ks_f32x16_div(v, sum));
    }
}

/* One step on `groups` times 16 columns; those past s->columns are the state's padding. */
KS_INLINE void delta_groups(const struct ks_delta_step *step, int groups)
{
    const struct ks_delta_step s = *step; /* a copy, which no store can change */
    ks_f32x16 kept[2], out[2], d[2], decay = ks_f32x16_set(s.decay), beta = ks_f32x16_set(s.beta);
#pragma GCC unroll 2
    for (int g = 0; g < groups; g++)
        kept[g] = out[g] = ks_f32x16_set(0.0f);
    for (size_t i = 0; i < s.dim_k; i++)
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++) {
            float *at = s.state + i * KS_DELTA_COLUMNS + g * KS_LANES;
            ks_f32x16 element = ks_f32x16_mul(ks_f32x16_load(at), decay);
            ks_f32x16_store(at, element);
            kept[g] = ks_f32x16_fma(ks_f32x16_set(s.k[i]), element, kept[g]);
        }
#pragma GCC unroll 2
    for (int g = 0; g < groups; g++) {
        size_t n = KS_PART(s.columns, g, KS_LANES);
        ks_f32x16 v = ks_f32x16_load_part(s.v + g * KS_LANES, n, 0.0f);
        d[g] = ks_f32x16_mul(ks_f32x16_sub(v, kept[g]), beta);
    }
    for (size_t i = 0; i < s.dim_k; i++)
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++) {
            float *at = s.state + i * KS_DELTA_COLUMNS + g * KS_LANES;
            ks_f32x16 element = ks_f32x16_fma(ks_f32x16_set(s.k[i]), d[g], ks_f32x16_load(at));
            ks_f32x16_store(at, element);
            out[g] = ks_f32x16_fma(ks_f32x16_set(s.q[i]), element, out[g]);
        }
#pragma GCC unroll 2
    for (int g = 0; g < groups; g++)
        ks_f32x16_store_part(s.out + g * KS_LANES, KS_PART(s.columns, g, KS_LANES), out[g]);
}

static void delta(const struct ks_delta_step *step)
{
    if (step->columns > KS_LANES)
        delta_groups(step, 2);
    else
        delta_groups(step, 1);
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
    .layernorm = layernorm,
    .add = add,
    .scale = scale,
    .mul = mul,
    .add_scaled = add_scaled,
    .add_product = add_product,
    .silu_mul = KS_PATH(silu_mul),
    .sigmoid_mul = KS_PATH(sigmoid_mul),
    .clamped_silu_mul = KS_PATH(clamped_silu_mul),
    .gelu_mul = KS_PATH(gelu_mul),
    .gelu = KS_PATH(gelu),
    .relu2 = KS_PATH(relu2),
    .softcap = KS_PATH(softcap),
    .unit = unit,
    .rotate = rotate,
    .softmax = softmax,
    .delta = delta,
    .spin = spin,
    .fmas = CHAINS * (size_t)KS_VF,
};

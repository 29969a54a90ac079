/*
 * The definition of every operation, in plain C. The other paths give these bits.
 */
#include <math.h>
#include <string.h>

#include "engine/kernels/elementary/lanes.h"
#include "engine/kernels/elementary/math.h"
#include "engine/kernels/elementary/math_table.h"
#include "engine/kernels/path/ops.h"
#include "engine/quant/decode.h"

#define PANEL 16

static void transpose(const float *rows, size_t ld, size_t n_rows, size_t k, float *panel)
{
    for (size_t i = 0; i < k; i++)
        for (size_t r = 0; r < KS_LANES; r++)
            panel[i * PANEL + r] = r < n_rows ? rows[r * ld + i] : 0.0f;
}

static void product(const struct ks_product *p)
{
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            float *y = p->y + i * p->ldy + j;
            float sum = p->resume ? *y : 0.0f;
            for (size_t k = 0; k < p->k + (p->stairs ? i : 0); k++)
                sum = fmaf(p->x[i * p->ldx + k], p->b[k * PANEL + j], sum);
            *y = sum;
        }
    }
}

static void rmsnorm(const float *x, size_t dim, const float *gain, float eps, float *y)
{
    float lane[KS_LANES] = {0};
    for (size_t i = 0; i < dim; i++)
        lane[i % KS_LANES] = fmaf(x[i], x[i], lane[i % KS_LANES]);
    float mean = ks_lanes_sum_f32(lane) / (float)dim;
    float scale = 1.0f / sqrtf(mean + eps);
    for (size_t i = 0; i < dim; i++)
        y[i] = x[i] * scale * gain[i];
}

static void layernorm(const float *x, size_t dim, const float *gain, const float *bias, float eps,
                      float *y)
{
    float lane[KS_LANES] = {0}, square[KS_LANES] = {0};
    for (size_t i = 0; i < dim; i++)
        lane[i % KS_LANES] += x[i];
    float mean = ks_lanes_sum_f32(lane) / (float)dim;
    for (size_t i = 0; i < dim; i++) {
        float d = x[i] - mean;
        square[i % KS_LANES] = fmaf(d, d, square[i % KS_LANES]);
    }
    float scale = 1.0f / sqrtf(ks_lanes_sum_f32(square) / (float)dim + eps);
    for (size_t i = 0; i < dim; i++) {
        y[i] = (x[i] - mean) * scale;
        if (gain)
            y[i] *= gain[i];
        if (bias)
            y[i] += bias[i];
    }
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void mul(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= y[i];
}

static void add_scaled(float *x, const float *y, float weight, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fmaf(weight, y[i], x[i]);
}

static void add_product(float *x, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fmaf(a[i], b[i], x[i]);
}

static void unit(float *x, size_t dim, float eps, float scale)
{
    float lane[KS_LANES] = {0};
    for (size_t i = 0; i < dim; i++)
        lane[i % KS_LANES] = fmaf(x[i], x[i], lane[i % KS_LANES]);
    float factor = scale / sqrtf(ks_lanes_sum_f32(lane) + eps);
    for (size_t i = 0; i < dim; i++)
        x[i] *= factor;
}

static void sigmoid_mul(float *x, const float *gate, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] / (1.0f + ks_expf(-gate[i]));
}

/* A NaN passes through the clamps. */
static void clamped_silu_mul(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float g = KS_CLAMP < gate[i] ? KS_CLAMP : gate[i];
        float u = KS_CLAMP < up[i] ? KS_CLAMP : up[i];
        u = -KS_CLAMP > u ? -KS_CLAMP : u;
        gate[i] = g / (1.0f + ks_expf(-(KS_CLAMPED_SLOPE * g))) * (u + 1.0f);
    }
}

static void silu_mul(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = gate[i] / (1.0f + ks_expf(-gate[i])) * up[i];
}

static float gelu_of(float x)
{
    float y = KS_GELU_SLOPE * fmaf(KS_GELU_CUBIC * (x * x), x, x);
    return x / (1.0f + ks_expf(-y));
}

static void gelu_mul(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = gelu_of(gate[i]) * up[i];
}

static void gelu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = gelu_of(x[i]);
}

/* A NaN stays one. */
static void relu2(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = 0.0f > x[i] ? 0.0f : x[i];
        x[i] = v * v;
    }
}

static void softcap(float *x, size_t n, float scale, float cap)
{
    for (size_t i = 0; i < n; i++)
        x[i] = cap * ks_tanhf(scale * x[i]);
}

static void scale(float *x, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void rotate(float *x, size_t half, enum ks_rope_pairing pairing, const float *c,
                   const float *s)
{
    size_t step = pairing == KS_ROPE_ADJACENT ? 2 : 1;
    size_t apart = pairing == KS_ROPE_ADJACENT ? 1 : half;
    for (size_t i = 0; i < half; i++) {
        float a = x[i * step], b = x[i * step + apart];
        x[i * step] = a * c[i] - b * s[i];
        x[i * step + apart] = a * s[i] + b * c[i];
    }
}

static void softmax(float *row, size_t n, float scale, const float *sink)
{
    float greatest[KS_LANES], sum[KS_LANES] = {0};
    for (size_t l = 0; l < KS_LANES; l++)
        greatest[l] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        float *g = &greatest[i % KS_LANES];
        row[i] *= scale;
        *g = row[i] > *g ? row[i] : *g;
    }
    float max = ks_lanes_max_f32(greatest);
    max = sink && *sink > max ? *sink : max;
    for (size_t i = 0; i < n; i++) {
        row[i] = ks_expf(row[i] - max);
        sum[i % KS_LANES] += row[i];
    }
    float total = ks_lanes_sum_f32(sum);
    if (sink)
        total += ks_expf(*sink - max);
    for (size_t i = 0; i < n; i++)
        row[i] /= total;
}

static void delta(const struct ks_delta_step *s)
{
    for (size_t j = 0; j < s->columns; j++) {
        float *column = s->state + j, kept = 0.0f, out = 0.0f;
        for (size_t i = 0; i < s->dim_k; i++) {
            column[i * KS_DELTA_COLUMNS] *= s->decay;
            kept = fmaf(s->k[i], column[i * KS_DELTA_COLUMNS], kept);
        }
        float d = (s->v[j] - kept) * s->beta;
        for (size_t i = 0; i < s->dim_k; i++) {
            float *element = column + i * KS_DELTA_COLUMNS;
            *element = fmaf(s->k[i], d, *element);
            out = fmaf(s->q[i], *element, out);
        }
        s->out[j] = out;
    }
}

#define CHAINS 4

static float spin(size_t rounds)
{
    float chain[CHAINS] = {0.0f, 1.0f, 2.0f, 3.0f};
    for (size_t i = 0; i < rounds; i++)
        for (size_t c = 0; c < CHAINS; c++)
            chain[c] = fmaf(chain[c], 0.999f, 0.001f);
    return chain[0] + chain[1] + chain[2] + chain[3];
}

const struct ks_ops ks_scalar_ops = {
    .panel = PANEL,
    .decode = ks_decode_row,
    .transpose = transpose,
    .product = product,
    .rmsnorm = rmsnorm,
    .layernorm = layernorm,
    .add = add,
    .scale = scale,
    .mul = mul,
    .add_scaled = add_scaled,
    .add_product = add_product,
    .silu_mul = silu_mul,
    .sigmoid_mul = sigmoid_mul,
    .clamped_silu_mul = clamped_silu_mul,
    .gelu_mul = gelu_mul,
    .gelu = gelu,
    .relu2 = relu2,
    .softcap = softcap,
    .unit = unit,
    .rotate = rotate,
    .softmax = softmax,
    .delta = delta,
    .spin = spin,
    .fmas = CHAINS,
};

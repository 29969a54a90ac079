/*
 * The definition of every operation, in plain C. The other paths give these bits.
 */
#include <math.h>
#include <string.h>

#include "engine/kernels/lanes.h"
#include "engine/kernels/math.h"
#include "engine/kernels/ops.h"
#include "engine/quant/decode.h"

#define PANEL 16

static void transpose(const float *rows, size_t ld, size_t n_rows, size_t k, float *panel)
{
    for (size_t i = 0; i < k; i++)
        for (size_t r = 0; r < PANEL; r++)
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

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void silu_mul(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = gate[i] / (1.0f + ks_expf(-gate[i])) * up[i];
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

static void softmax(float *row, size_t n, float scale)
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
    for (size_t i = 0; i < n; i++) {
        row[i] = ks_expf(row[i] - max);
        sum[i % KS_LANES] += row[i];
    }
    float total = ks_lanes_sum_f32(sum);
    for (size_t i = 0; i < n; i++)
        row[i] /= total;
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
    .add = add,
    .silu_mul = silu_mul,
    .rotate = rotate,
    .softmax = softmax,
    .spin = spin,
    .fmas = CHAINS,
};

/*
 * Operations on token rows, split over the pool in pieces of some thousand elements.
 */
#include "engine/kernels/path/ops.h"
#include "engine/quant/activations.h"
#include "engine/quant/round.h"

#define PIECE 8192 /* elements; below two of them nobody else is woken */

struct rows {
    const struct ks_ops *ops;
    float *x, *out;
    const float *in, *vector, *bias;
    const float *cosine, *sine;
    const int32_t *positions;
    size_t n, dim, ldx, heads, half;
    enum ks_rope_pairing pairing;
    enum ks_type type; /* rounded to, or multiplied by */
    float eps, factor;
    size_t piece; /* rows in an item */
    void (*run)(const struct rows *r, size_t row);
};

static void run_piece(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct rows *r = ctx;
    size_t end = (i + 1) * r->piece;
    for (size_t row = i * r->piece; row < end && row < r->n; row++)
        r->run(r, row);
}

static void run_rows(struct ks_cpu *cpu, struct rows *r)
{
    r->ops = cpu->ops;
    r->piece = r->dim < PIECE ? PIECE / (r->dim ? r->dim : 1) : 1;
    ks_pool_for(cpu->pool, (r->n + r->piece - 1) / r->piece, run_piece, r);
}

static void rmsnorm_row(const struct rows *r, size_t row)
{
    size_t at = row * r->dim;
    r->ops->rmsnorm(r->in + at, r->dim, r->vector, r->eps, r->out + at);
}

void ks_rmsnorm(struct ks_cpu *cpu, const float *x, size_t n, size_t dim, const float *gain,
                float eps, float *y)
{
    struct rows r = {
        .in = x, .vector = gain, .out = y, .n = n, .dim = dim, .eps = eps, .run = rmsnorm_row};
    run_rows(cpu, &r);
}

static void layernorm_row(const struct rows *r, size_t row)
{
    size_t at = row * r->dim;
    r->ops->layernorm(r->in + at, r->dim, r->vector, r->bias, r->eps, r->out + at);
}

void ks_layernorm(struct ks_cpu *cpu, const float *x, size_t n, size_t dim, const float *gain,
                  const float *bias, float eps, float *y)
{
    struct rows r = {.in = x,
                     .vector = gain,
                     .bias = bias,
                     .out = y,
                     .n = n,
                     .dim = dim,
                     .eps = eps,
                     .run = layernorm_row};
    run_rows(cpu, &r);
}

static void layernorm_heads_row(const struct rows *r, size_t row)
{
    size_t dim = r->dim / r->heads;
    for (size_t h = 0; h < r->heads; h++) {
        float *x = r->x + row * r->dim + h * dim;
        r->ops->layernorm(x, dim, r->vector + h * dim, NULL, r->eps, x);
    }
}

void ks_layernorm_heads(struct ks_cpu *cpu, float *x, size_t n, size_t heads, size_t dim,
                        const float *gain, float eps)
{
    struct rows r = {.x = x,
                     .vector = gain,
                     .n = n,
                     .heads = heads,
                     .dim = heads * dim,
                     .eps = eps,
                     .run = layernorm_heads_row};
    run_rows(cpu, &r);
}

static void add_row(const struct rows *r, size_t row)
{
    r->ops->add(r->x + row * r->dim, r->in + row * r->dim, r->dim);
}

void ks_add(struct ks_cpu *cpu, float *x, const float *y, size_t n, size_t dim)
{
    struct rows r = {.x = x, .in = y, .n = n, .dim = dim, .run = add_row};
    run_rows(cpu, &r);
}

static void add_bias_row(const struct rows *r, size_t row)
{
    r->ops->add(r->x + row * r->dim, r->vector, r->dim);
}

void ks_add_bias(struct ks_cpu *cpu, float *x, const float *bias, size_t n, size_t dim)
{
    struct rows r = {.x = x, .vector = bias, .n = n, .dim = dim, .run = add_bias_row};
    run_rows(cpu, &r);
}

static void silu_mul_row(const struct rows *r, size_t row)
{
    r->ops->silu_mul(r->x + row * r->dim, r->in + row * r->dim, r->dim);
}

void ks_silu_mul(struct ks_cpu *cpu, float *gate, const float *up, size_t n, size_t dim)
{
    struct rows r = {.x = gate, .in = up, .n = n, .dim = dim, .run = silu_mul_row};
    run_rows(cpu, &r);
}

static void clamped_silu_mul_row(const struct rows *r, size_t row)
{
    r->ops->clamped_silu_mul(r->x + row * r->dim, r->in + row * r->dim, r->dim);
}

void ks_clamped_silu_mul(struct ks_cpu *cpu, float *gate, const float *up, size_t n, size_t dim)
{
    struct rows r = {.x = gate, .in = up, .n = n, .dim = dim, .run = clamped_silu_mul_row};
    run_rows(cpu, &r);
}

static void gelu_mul_row(const struct rows *r, size_t row)
{
    r->ops->gelu_mul(r->x + row * r->dim, r->in + row * r->dim, r->dim);
}

void ks_gelu_mul(struct ks_cpu *cpu, float *gate, const float *up, size_t n, size_t dim)
{
    struct rows r = {.x = gate, .in = up, .n = n, .dim = dim, .run = gelu_mul_row};
    run_rows(cpu, &r);
}

static void gelu_row(const struct rows *r, size_t row)
{
    r->ops->gelu(r->x + row * r->dim, r->dim);
}

void ks_gelu(struct ks_cpu *cpu, float *x, size_t n, size_t dim)
{
    struct rows r = {.x = x, .n = n, .dim = dim, .run = gelu_row};
    run_rows(cpu, &r);
}

static void relu2_row(const struct rows *r, size_t row)
{
    r->ops->relu2(r->x + row * r->dim, r->dim);
}

void ks_relu2(struct ks_cpu *cpu, float *x, size_t n, size_t dim)
{
    struct rows r = {.x = x, .n = n, .dim = dim, .run = relu2_row};
    run_rows(cpu, &r);
}

static void scale_row(const struct rows *r, size_t row)
{
    float factor = r->vector ? r->vector[r->positions[row]] : r->factor;
    r->ops->scale(r->x + row * r->dim, r->dim, factor);
}

void ks_scale(struct ks_cpu *cpu, float *x, size_t n, size_t dim, float factor)
{
    struct rows r = {.x = x, .n = n, .dim = dim, .factor = factor, .run = scale_row};
    run_rows(cpu, &r);
}

void ks_scale_at(struct ks_cpu *cpu, float *x, size_t n, size_t dim, const int32_t *positions,
                 const float *factors)
{
    struct rows r = {
        .x = x, .n = n, .dim = dim, .positions = positions, .vector = factors, .run = scale_row};
    run_rows(cpu, &r);
}

static void softcap_row(const struct rows *r, size_t row)
{
    r->ops->softcap(r->x + row * r->dim, r->dim, 1.0f / r->factor, r->factor);
}

void ks_softcap(struct ks_cpu *cpu, float *x, size_t n, size_t dim, float cap)
{
    struct rows r = {.x = x, .n = n, .dim = dim, .factor = cap, .run = softcap_row};
    run_rows(cpu, &r);
}

static void rotate_row(const struct rows *r, size_t row)
{
    size_t at = (size_t)r->positions[row] * r->half, head_dim = r->dim / r->heads;
    for (size_t h = 0; h < r->heads; h++)
        r->ops->rotate(r->x + row * r->ldx + h * head_dim, r->half, r->pairing, r->cosine + at,
                       r->sine + at);
}

void ks_rope(struct ks_cpu *cpu, float *x, size_t ldx, size_t n, size_t heads, size_t head_dim,
             size_t dims, enum ks_rope_pairing pairing, const int32_t *positions,
             const float *cosine, const float *sine)
{
    struct rows r = {
        .x = x,
        .ldx = ldx,
        .n = n,
        .heads = heads,
        .dim = heads * head_dim,
        .half = dims / 2,
        .pairing = pairing,
        .positions = positions,
        .cosine = cosine,
        .sine = sine,
        .run = rotate_row,
    };
    run_rows(cpu, &r);
}

static void round_one_row(const struct rows *r, size_t row)
{
    ks_round_row(r->type, r->x + row * r->dim, r->dim);
}

void ks_round_rows(struct ks_cpu *cpu, enum ks_type type, float *x, size_t n, size_t dim)
{
    struct rows r = {.x = x, .type = type, .n = n, .dim = dim, .run = round_one_row};
    if (type != KS_F32)
        run_rows(cpu, &r);
}

static void round_for_product(const struct rows *r, size_t row)
{
    size_t at = row * r->dim;
    ks_activations_round_row(r->type, r->in + at, r->dim, r->out + at);
}

void ks_round_activations(struct ks_cpu *cpu, enum ks_type weights, const float *x, size_t n,
                          size_t dim, float *out)
{
    struct rows r = {
        .in = x, .type = weights, .out = out, .n = n, .dim = dim, .run = round_for_product};
    run_rows(cpu, &r);
}

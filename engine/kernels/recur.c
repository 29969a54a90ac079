#include "engine/kernels/recur.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/kernels/elementary/math.h"
#include "engine/kernels/path/ops.h"

#define PIECE 8192 /* elements an item, where rows are short */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t pieces(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

/* ------------------------------------------------------------------ rows */

struct rows {
    const struct ks_ops *ops;
    float *x;
    const float *in;
    const int32_t *positions;
    const float *taps; /* (n_taps, dim) */
    size_t n, dim, n_taps, ldx, heads;
    float eps, scale;
    void (*run)(const struct rows *r, size_t row);
};

static void run_piece(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct rows *r = ctx;
    size_t size = r->dim < PIECE ? PIECE / r->dim : 1, end = (i + 1) * size;
    for (size_t row = i * size; row < end && row < r->n; row++)
        r->run(r, row);
}

static void run_rows(struct ks_cpu *cpu, struct rows *r)
{
    size_t size = r->dim < PIECE ? PIECE / r->dim : 1;
    r->ops = cpu->ops;
    ks_pool_for(cpu->pool, pieces(r->n, size), run_piece, r);
}

static void convolve_row(const struct rows *r, size_t row)
{
    float *out = r->x + row * r->dim;
    size_t seen = least((size_t)r->positions[row] + 1, r->n_taps), skipped = r->n_taps - seen;
    const float *x = r->in + (row + 1 - seen) * r->dim;
    memset(out, 0, r->dim * sizeof *out);
    for (size_t j = 0; j < seen; j++)
        r->ops->add_product(out, r->taps + (skipped + j) * r->dim, x + j * r->dim, r->dim);
}

int ks_convolve(struct ks_cpu *cpu, const float *x, size_t n, size_t channels,
                const int32_t *positions, const float *taps, size_t n_taps, float *out,
                struct ks_error *err)
{
    if (ks_growing_reserve(&cpu->spaced, n_taps * channels, "a convolution's taps", err))
        return -1;
    float *by_tap = cpu->spaced.floats;
    for (size_t c = 0; c < channels; c++)
        for (size_t j = 0; j < n_taps; j++)
            by_tap[j * channels + c] = taps[c * n_taps + j];
    struct rows r = {.x = out,
                     .in = x,
                     .positions = positions,
                     .taps = by_tap,
                     .n = n,
                     .dim = channels,
                     .n_taps = n_taps,
                     .run = convolve_row};
    run_rows(cpu, &r);
    return 0;
}

static void mul_row(const struct rows *r, size_t row)
{
    r->ops->mul(r->x + row * r->dim, r->in + row * r->dim, r->dim);
}

void ks_mul(struct ks_cpu *cpu, float *x, const float *y, size_t n, size_t dim)
{
    struct rows r = {.x = x, .in = y, .n = n, .dim = dim, .run = mul_row};
    run_rows(cpu, &r);
}

static void silu_row(const struct rows *r, size_t row)
{
    float *x = r->x + row * r->dim;
    r->ops->sigmoid_mul(x, x, r->dim);
}

void ks_silu(struct ks_cpu *cpu, float *x, size_t n, size_t dim)
{
    struct rows r = {.x = x, .n = n, .dim = dim, .run = silu_row};
    run_rows(cpu, &r);
}

static void sigmoid_mul_row(const struct rows *r, size_t row)
{
    r->ops->sigmoid_mul(r->x + row * r->dim, r->in + row * r->dim, r->dim);
}

void ks_sigmoid_mul(struct ks_cpu *cpu, float *x, const float *gate, size_t n, size_t dim)
{
    struct rows r = {.x = x, .in = gate, .n = n, .dim = dim, .run = sigmoid_mul_row};
    run_rows(cpu, &r);
}

static void unit_row(const struct rows *r, size_t row)
{
    size_t dim = r->dim / r->heads;
    for (size_t h = 0; h < r->heads; h++)
        r->ops->unit(r->x + row * r->ldx + h * dim, dim, r->eps, r->scale);
}

void ks_unit_heads(struct ks_cpu *cpu, float *x, size_t ldx, size_t n, size_t heads, size_t dim,
                   float eps, float scale)
{
    struct rows r = {.x = x,
                     .ldx = ldx,
                     .n = n,
                     .dim = heads * dim,
                     .heads = heads,
                     .eps = eps,
                     .scale = scale,
                     .run = unit_row};
    run_rows(cpu, &r);
}

/* ------------------------------------------------------------------ the delta rule */

/* ln(1 + e^x); beyond 40 that is x to the last bit. */
static double softplus(double x)
{
    return x > 40.0 ? x : ks_log1p(ks_exp(x));
}

void ks_delta_gates(float *decay, float *beta, const float *rate, const float *bias, size_t n,
                    size_t heads)
{
    for (size_t i = 0; i < n * heads; i++) {
        double step = softplus((double)decay[i] + (double)bias[i % heads]);
        decay[i] = (float)ks_exp((double)rate[i % heads] * step);
        beta[i] = (float)(1.0 / (1.0 + ks_exp(-(double)beta[i])));
    }
}

struct delta {
    const struct ks_ops *ops;
    const struct ks_delta *d;
    struct ks_cpu *cpu;
    float *out;
    size_t blocks; /* of a head's columns */
};

/* Columns of a state don't touch each other: a task is a block of them, through a sequence. */
static void run_block(void *ctx, size_t i, int worker)
{
    const struct delta *t = ctx;
    const struct ks_delta *d = t->d;
    size_t column = i % t->blocks * KS_DELTA_COLUMNS, head = i / t->blocks % d->v_heads;
    size_t sequence = i / t->blocks / d->v_heads, dim = d->v_heads * d->dim_v;
    float *state = t->cpu->workers[worker].panel;
    struct ks_delta_step step = {
        .state = state,
        .dim_k = d->dim_k,
        .columns = least(KS_DELTA_COLUMNS, d->dim_v - column),
    };
    memset(state, 0, d->dim_k * KS_DELTA_COLUMNS * sizeof *state);
    for (size_t row = d->starts[sequence]; row < d->starts[sequence + 1]; row++) {
        step.q = d->q + row * d->ld + head % d->k_heads * d->dim_k;
        step.k = d->k + row * d->ld + head % d->k_heads * d->dim_k;
        step.v = d->v + row * d->ld + head * d->dim_v + column;
        step.decay = d->decay[row * d->v_heads + head];
        step.beta = d->beta[row * d->v_heads + head];
        step.out = t->out + row * dim + head * d->dim_v + column;
        t->ops->delta(&step);
    }
}

void ks_delta_net(struct ks_cpu *cpu, const struct ks_delta *d, float *out)
{
    assert(d->dim_k <= KS_DELTA_MOST_K);
    struct delta t = {cpu->ops, d, cpu, out, pieces(d->dim_v, KS_DELTA_COLUMNS)};
    ks_pool_for(cpu->pool, t.blocks * d->v_heads * d->n_sequences, run_block, &t);
}

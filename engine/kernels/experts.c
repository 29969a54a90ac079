#include "engine/kernels/experts.h"

#include <assert.h>
#include <string.h>

#include "engine/kernels/elementary/math.h"
#include "engine/kernels/path/ops.h"

#define PIECE 8192 /* elements an item, where rows are short */

static size_t rows_a_piece(size_t dim)
{
    return dim < PIECE ? PIECE / dim : 1;
}

static size_t pieces(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

/* ------------------------------------------------------------------ choice */

struct choice {
    const struct ks_ops *ops;
    const struct ks_router *router;
    const struct ks_routes *routes;
    float *logits;
    size_t n;
};

/* A score's rank for the choice; a NaN never beats anything. */
static float rank(const struct ks_router *r, const float *scores, uint32_t e)
{
    return r->preference ? scores[e] + r->preference[e] : scores[e];
}

/* The experts of greatest rank, best first: each new one moves up past those it beats. */
static void choose(const struct ks_router *r, const float *scores, uint32_t *chosen)
{
    size_t n = 0;
    for (uint32_t e = 0; e < r->experts; e++) {
        size_t at = n;
        while (at > 0 && rank(r, scores, e) > rank(r, scores, chosen[at - 1]))
            at--;
        if (at == r->used)
            continue;
        n += n < r->used;
        memmove(chosen + at + 1, chosen + at, (n - 1 - at) * sizeof *chosen);
        chosen[at] = e;
    }
}

static void sort(uint32_t *chosen, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint32_t e = chosen[i];
        size_t at = i;
        for (; at > 0 && chosen[at - 1] > e; at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = e;
    }
}

static void normalize(float *weights, size_t n, float eps)
{
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++)
        sum += weights[i];
    sum += eps;
    for (size_t i = 0; i < n; i++)
        weights[i] /= sum;
}

static void score(const struct choice *c, float *logits)
{
    const struct ks_router *r = c->router;
    if (r->gating == KS_GATING_SOFTMAX)
        c->ops->softmax(logits, r->experts, 1.0f, NULL);
    for (size_t e = 0; r->gating == KS_GATING_SIGMOID && e < r->experts; e++)
        logits[e] = 1.0f / (1.0f + ks_expf(-logits[e]));
}

static void route_token(const struct choice *c, size_t token)
{
    const struct ks_router *r = c->router;
    float *scores = c->logits + token * r->experts;
    uint32_t *chosen = c->routes->experts + token * r->used;
    float *weights = c->routes->weights + token * r->used;
    score(c, scores);
    choose(r, scores, chosen);
    sort(chosen, r->used);
    for (size_t i = 0; i < r->used; i++)
        weights[i] = scores[chosen[i]];
    if (r->gating == KS_GATING_CHOSEN)
        c->ops->softmax(weights, r->used, 1.0f, NULL);
    if (r->normalize)
        normalize(weights, r->used, r->sum_eps);
    for (size_t i = 0; r->scale != 1.0f && i < r->used; i++)
        weights[i] *= r->scale;
    for (size_t i = 0; r->gains && i < r->used; i++)
        weights[i] *= r->gains[chosen[i]];
}

static void route_piece(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct choice *c = ctx;
    size_t rows = rows_a_piece(c->router->experts), end = (i + 1) * rows;
    for (size_t token = i * rows; token < end && token < c->n; token++)
        route_token(c, token);
}

/* ------------------------------------------------------------------ order */

/* Counts each expert's tokens, then hands out numbers in the order of tokens. */
static void sort_by_expert(const struct ks_routes *r, size_t n, size_t used, size_t experts)
{
    memset(r->starts, 0, (experts + 1) * sizeof *r->starts);
    for (size_t i = 0; i < n * used; i++)
        r->starts[r->experts[i] + 1]++;
    for (size_t e = 0; e < experts; e++)
        r->starts[e + 1] += r->starts[e];
    for (size_t i = 0; i < n * used; i++) {
        size_t slot = r->starts[r->experts[i]]++;
        r->slots[i] = (uint32_t)slot;
        r->tokens[slot] = (uint32_t)(i / used);
    }
    memmove(r->starts + 1, r->starts, experts * sizeof *r->starts);
    r->starts[0] = 0;
}

void ks_route(struct ks_cpu *cpu, const struct ks_router *router, float *logits, size_t n,
              const struct ks_routes *routes)
{
    assert(router->used >= 1 && router->used <= router->experts);
    struct choice c = {cpu->ops, router, routes, logits, n};
    ks_pool_for(cpu->pool, pieces(n, rows_a_piece(router->experts)), route_piece, &c);
    sort_by_expert(routes, n, router->used, router->experts);
}

/* ------------------------------------------------------------------ rows */

struct rows {
    const struct ks_ops *ops;
    const struct ks_routes *routes;
    const float *in, *gate;
    float *out;
    const uint32_t *from;
    const size_t *starts;
    size_t n, dim, used, experts;
    void (*run)(const struct rows *r, size_t row);
};

static void run_piece(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct rows *r = ctx;
    size_t size = rows_a_piece(r->dim), end = (i + 1) * size;
    for (size_t row = i * size; row < end && row < r->n; row++)
        r->run(r, row);
}

static void run_rows(struct ks_cpu *cpu, struct rows *r)
{
    r->ops = cpu->ops;
    ks_pool_for(cpu->pool, pieces(r->n, rows_a_piece(r->dim)), run_piece, r);
}

static void gather_row(const struct rows *r, size_t row)
{
    memcpy(r->out + row * r->dim, r->in + r->from[row] * r->dim, r->dim * sizeof *r->out);
}

void ks_gather_rows(struct ks_cpu *cpu, const float *x, size_t dim, const uint32_t *rows, size_t n,
                    float *out)
{
    struct rows r = {.in = x, .out = out, .from = rows, .n = n, .dim = dim, .run = gather_row};
    run_rows(cpu, &r);
}

/* The expert e with starts[e] <= row < starts[e + 1]. */
static size_t expert_of(const struct rows *r, size_t row)
{
    size_t low = 0, high = r->experts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->starts[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void add_bias_row(const struct rows *r, size_t row)
{
    r->ops->add(r->out + row * r->dim, r->in + expert_of(r, row) * r->dim, r->dim);
}

void ks_add_expert_bias(struct ks_cpu *cpu, float *x, const float *bias, size_t dim,
                        const size_t *starts, size_t experts)
{
    struct rows r = {.in = bias,
                     .out = x,
                     .starts = starts,
                     .n = starts[experts],
                     .dim = dim,
                     .experts = experts,
                     .run = add_bias_row};
    run_rows(cpu, &r);
}

static void combine_row(const struct rows *r, size_t row)
{
    float *out = r->out + row * r->dim;
    memset(out, 0, r->dim * sizeof *out);
    for (size_t i = row * r->used; i < (row + 1) * r->used; i++)
        r->ops->add_scaled(out, r->in + r->routes->slots[i] * r->dim, r->routes->weights[i],
                           r->dim);
}

void ks_combine(struct ks_cpu *cpu, const struct ks_routes *routes, size_t used,
                const float *results, size_t dim, size_t n, float *out)
{
    struct rows r = {.routes = routes,
                     .in = results,
                     .out = out,
                     .n = n,
                     .dim = dim,
                     .used = used,
                     .run = combine_row};
    run_rows(cpu, &r);
}

static void add_gated_row(const struct rows *r, size_t row)
{
    float weight = 1.0f / (1.0f + ks_expf(-r->gate[row]));
    r->ops->add_scaled(r->out + row * r->dim, r->in + row * r->dim, weight, r->dim);
}

void ks_add_gated(struct ks_cpu *cpu, float *x, const float *y, const float *gate, size_t n,
                  size_t dim)
{
    struct rows r = {.in = y, .out = x, .gate = gate, .n = n, .dim = dim, .run = add_gated_row};
    run_rows(cpu, &r);
}

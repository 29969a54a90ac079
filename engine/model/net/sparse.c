/*
 * The MLP of experts. Tokens go through it some thousand at a time: enough that every expert has
 * many rows to multiply, and few enough that their copies, one for each expert that a token takes,
 * stay small beside the rest. No number depends on where the batch is cut.
 */
#include "engine/model/net/blocks.h"

#include <math.h>

#define MOST_TOKENS 2048

/* The scratch's parts, one behind the other, and their sizes for `tokens` at once. */
enum part {
    LOGITS, /* (tokens, experts) */
    CHOSEN, /* (tokens, used), as the next three */
    SLOTS,
    TOKENS,
    WEIGHTS,
    STARTS, /* (experts + 1) */
    HALVES, /* (2 * experts + 1): starts of a stack whose experts are two matrices each */
    ROWS,   /* (tokens * used, hidden): gathered, then what experts make of them */
    GATE,   /* (tokens * used, expert_ffn) */
    UP,
    SHARED_GATE, /* (tokens, shared_ffn) */
    SHARED_UP,
    SHARED,        /* (tokens, hidden) */
    SHARED_WEIGHT, /* (tokens) */
    NORMED,        /* (tokens, hidden): what a router with a norm of its own reads */
    PARTS,
};

_Static_assert(sizeof(uint32_t) == sizeof(float), "indices lie among floats");
_Static_assert(sizeof(size_t) <= 2 * sizeof(float), "counts lie among floats");

/* Fills where each part starts; returns the sum. */
static size_t lay_out(const struct ks_hparams *h, size_t tokens, size_t at[PARTS])
{
    size_t pairs = tokens * h->experts_used, sum = 0;
    size_t shared = h->shared_ffn ? tokens : 0;
    const size_t floats[PARTS] = {
        [LOGITS] = tokens * h->experts,
        [CHOSEN] = pairs,
        [SLOTS] = pairs,
        [TOKENS] = pairs,
        [WEIGHTS] = pairs,
        [STARTS] = 2 * ((size_t)h->experts + 1),
        [HALVES] = 2 * (2 * (size_t)h->experts + 1),
        [ROWS] = pairs * h->hidden,
        [GATE] = pairs * h->expert_ffn,
        [UP] = pairs * h->expert_ffn,
        [SHARED_GATE] = shared * h->shared_ffn,
        [SHARED_UP] = shared * h->shared_ffn,
        [SHARED] = shared * h->hidden,
        [SHARED_WEIGHT] = shared,
        [NORMED] = h->design.dense_and_experts ? tokens * h->hidden : 0,
    };
    for (size_t i = 0; i < PARTS; i++) {
        at[i] = sum;
        sum += (floats[i] + 15) & ~(size_t)15; /* whole cache lines */
    }
    return sum;
}

size_t ks_experts_floats(const struct ks_hparams *h, size_t max_rows)
{
    size_t at[PARTS];
    return h->experts ? lay_out(h, max_rows < MOST_TOKENS ? max_rows : MOST_TOKENS, at) : 0;
}

/* Some tokens at work. */
struct tokens {
    const struct ks_step *s;
    const float *in, *x;
    float *out;
    size_t n;
    struct ks_routes routes;
    float *part[PARTS];
};

static void place(struct tokens *t)
{
    size_t at[PARTS];
    lay_out(t->s->net->hparams, t->n, at);
    for (size_t i = 0; i < PARTS; i++)
        t->part[i] = t->s->body->block + at[i];
    t->routes = (struct ks_routes){
        .experts = (uint32_t *)(void *)t->part[CHOSEN],
        .slots = (uint32_t *)(void *)t->part[SLOTS],
        .tokens = (uint32_t *)(void *)t->part[TOKENS],
        .weights = t->part[WEIGHTS],
        .starts = (size_t *)(void *)t->part[STARTS],
    };
}

/* The residual's norm, times the router's gain and 1 / sqrt(hidden). */
static const float *norm_for_router(const struct tokens *t)
{
    const struct ks_hparams *h = t->s->net->hparams;
    float *normed = t->part[NORMED];
    ks_block_norm(t->s->body, h, t->x, t->n, h->hidden, t->s->layer->router_gain, NULL, normed);
    ks_scale(t->s->body->cpu, normed, t->n, h->hidden, 1.0f / sqrtf((float)h->hidden));
    return normed;
}

static int route(const struct tokens *t, struct ks_error *err)
{
    const struct ks_hparams *h = t->s->net->hparams;
    const struct ks_net_layer *l = t->s->layer;
    struct ks_body *b = t->s->body;
    const struct ks_router router = {
        .experts = h->experts,
        .used = h->experts_used,
        .gating = h->design.gating,
        .normalize = h->design.normalize_experts,
        .sum_eps = h->design.expert_sum_eps,
        .scale = h->expert_scale,
        .preference = l->preference,
        .gains = l->weight_gains,
    };
    const float *in = l->router_gain ? norm_for_router(t) : t->in;
    if (ks_block_project(b, &l->router, l->bias_router, in, t->n, t->part[LOGITS], err))
        return -1;
    ks_route(b->cpu, &router, t->part[LOGITS], t->n, &t->routes);
    return 0;
}

/* out(rows) = each row times its expert's matrix, plus its bias. */
static int project(const struct tokens *t, const struct ks_matrix *w, const float *bias,
                   const float *in, float *out, struct ks_error *err)
{
    struct ks_body *b = t->s->body;
    struct ks_cpu *cpu = b->cpu;
    size_t experts = t->s->net->hparams->experts, dim = (size_t)w->rows / experts;
    if (b->watch)
        b->watch(b->watch_ctx, w, experts, t->routes.starts, in);
    if (ks_block_multiply(b, w, experts, t->routes.starts, in, out, dim, err))
        return -1;
    if (bias)
        ks_add_expert_bias(cpu, out, bias, dim, t->routes.starts, experts);
    return 0;
}

/* The first or second half of each expert's matrix: the other one gets no rows. */
static int project_half(const struct tokens *t, const struct ks_matrix *w, size_t half,
                        const float *bias, const float *in, float *out, struct ks_error *err)
{
    struct ks_cpu *cpu = t->s->body->cpu;
    size_t experts = t->s->net->hparams->experts, dim = (size_t)w->rows / (2 * experts);
    size_t *starts = (size_t *)(void *)t->part[HALVES];
    for (size_t e = 0; e < experts; e++) {
        starts[2 * e] = t->routes.starts[e];
        starts[2 * e + 1] = t->routes.starts[half == 0 ? e + 1 : e];
    }
    starts[2 * experts] = t->routes.starts[experts];
    if (ks_block_multiply(t->s->body, w, 2 * experts, starts, in, out, dim, err))
        return -1;
    if (bias)
        ks_add_expert_bias(cpu, out, bias, dim, t->routes.starts, experts);
    return 0;
}

static int project_gate_and_up(const struct tokens *t, const float *rows, struct ks_error *err)
{
    const struct ks_net_layer *l = t->s->layer;
    float *gate = t->part[GATE], *up = t->part[UP];
    if (!l->gate_up_experts.data)
        return project(t, &l->gate_experts, l->bias_gate_experts, rows, gate, err) ||
               project(t, &l->up_experts, l->bias_up_experts, rows, up, err);
    return project_half(t, &l->gate_up_experts, 0, l->bias_gate_experts, rows, gate, err) ||
           project_half(t, &l->gate_up_experts, 1, l->bias_up_experts, rows, up, err);
}

static int run_experts(const struct tokens *t, struct ks_error *err)
{
    const struct ks_hparams *h = t->s->net->hparams;
    const struct ks_net_layer *l = t->s->layer;
    struct ks_cpu *cpu = t->s->body->cpu;
    size_t pairs = t->n * h->experts_used;
    float *rows = t->part[ROWS], *gate = t->part[GATE], *up = t->part[UP];
    ks_gather_rows(cpu, t->in, h->hidden, t->routes.tokens, pairs, rows);
    if (project_gate_and_up(t, rows, err) ||
        ks_block_gate(t->s, gate, up, pairs, h->expert_ffn, err))
        return -1;
    return project(t, &l->down_experts, l->bias_down_experts, gate, rows, err);
}

/* The expert that every token takes, with a weight of the token's own where it has one. */
static int run_shared(const struct tokens *t, struct ks_error *err)
{
    const struct ks_net_layer *l = t->s->layer;
    struct ks_body *b = t->s->body;
    float *gate = t->part[SHARED_GATE], *up = t->part[SHARED_UP];
    if (!l->shared_up.data)
        return 0;
    if (ks_block_project(b, &l->shared_gate, NULL, t->in, t->n, gate, err) ||
        ks_block_project(b, &l->shared_up, NULL, t->in, t->n, up, err))
        return -1;
    if (ks_block_gate(t->s, gate, up, t->n, (size_t)l->shared_up.rows, err) ||
        ks_block_project(b, &l->shared_down, NULL, gate, t->n, t->part[SHARED], err))
        return -1;
    return l->shared_router.data ? ks_block_project(b, &l->shared_router, NULL, t->in, t->n,
                                                    t->part[SHARED_WEIGHT], err)
                                 : 0;
}

static int run_tokens(struct tokens *t, struct ks_error *err)
{
    const struct ks_hparams *h = t->s->net->hparams;
    const struct ks_net_layer *l = t->s->layer;
    struct ks_cpu *cpu = t->s->body->cpu;
    place(t);
    if (route(t, err) || run_experts(t, err) || run_shared(t, err))
        return -1;
    ks_combine(cpu, &t->routes, h->experts_used, t->part[ROWS], h->hidden, t->n, t->out);
    if (l->shared_router.data)
        ks_add_gated(cpu, t->out, t->part[SHARED], t->part[SHARED_WEIGHT], t->n, h->hidden);
    else if (l->shared_up.data)
        ks_add(cpu, t->out, t->part[SHARED], t->n, h->hidden);
    return 0;
}

int ks_block_experts(const struct ks_step *s, const float *in, const float *x, float *out,
                     struct ks_error *err)
{
    size_t hidden = s->net->hparams->hidden;
    for (size_t first = 0; first < s->kept; first += MOST_TOKENS) {
        size_t left = s->kept - first;
        struct tokens t = {
            .s = s,
            .in = in + first * hidden,
            .x = x + first * hidden,
            .out = out + first * hidden,
            .n = left < MOST_TOKENS ? left : MOST_TOKENS,
        };
        if (run_tokens(&t, err))
            return -1;
    }
    return 0;
}

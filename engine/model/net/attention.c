/* Attention over the sequences of a batch, with what architectures do to q and k before it. */
#include "engine/model/net/blocks.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/recur.h"

/* q's or k's norm. */
static void norm_heads(const struct ks_step *s, const float *gain, float *x, size_t heads, size_t n)
{
    const struct ks_hparams *h = s->net->hparams;
    size_t dim = s->traits->head_dim;
    if (!gain)
        return;
    switch (h->design.qk_norm) {
    case KS_QK_NORM_HEAD:
        ks_block_norm(s->body, h, x, n * heads, dim, gain, NULL, x);
        return;
    case KS_QK_NORM_ROW:
        ks_block_norm(s->body, h, x, n, heads * dim, gain, NULL, x);
        return;
    case KS_QK_NORM_OWN:
        ks_layernorm_heads(s->body->cpu, x, n, heads, dim, gain, h->norm_eps);
        return;
    }
}

static void rotate(const struct ks_step *s, float *x, size_t heads, size_t n)
{
    const struct ks_layer_traits *t = s->traits;
    if (t->rope == KS_NO_ROPE)
        return;
    const struct ks_rope *rope = &s->net->hparams->rope[t->rope];
    const struct ks_rope_table *table = &s->net->rope[t->rope];
    ks_rope(s->body->cpu, x, heads * t->head_dim, n, heads, t->head_dim, rope->dims, rope->pairing,
            s->body->positions, table->cosine, table->sine);
}

/* The keys and values of all rows, as a cache of the net's types gives them back. */
static void keep(const struct ks_step *s)
{
    const struct ks_body *b = s->body;
    const struct ks_layer_traits *t = s->traits;
    size_t heads = s->n * t->kv_heads;
    ks_round_rows(b->cpu, s->net->rounding.keys, b->k, heads, t->head_dim);
    ks_round_rows(b->cpu, s->net->rounding.values, b->v, heads, t->head_dim_v);
}

static int attend(const struct ks_step *s, struct ks_error *err)
{
    const struct ks_body *b = s->body;
    const struct ks_layer_traits *t = s->traits;
    const struct ks_attention a = {
        .q = b->q,
        .k = b->k,
        .v = b->v,
        .ldq = (size_t)t->heads * t->head_dim,
        .ldk = (size_t)t->kv_heads * t->head_dim,
        .ldv = (size_t)t->kv_heads * t->head_dim_v,
        .heads = t->heads,
        .kv_heads = t->kv_heads,
        .head_dim = t->head_dim,
        .head_dim_v = t->head_dim_v,
        .starts = s->batch->starts,
        .n_sequences = s->batch->n_sequences,
        .q_starts = b->kept,
        .window = t->window,
        .scale = s->net->hparams->attention_scale,
        .softcap = s->net->hparams->attn_softcap,
        .sinks = s->layer->sinks,
    };
    return ks_attend(b->cpu, &a, b->attended, (size_t)t->heads * t->head_dim_v, err);
}

/* b->v; of a layer without a matrix for them values are what keys were made of. */
static int project_values(const struct ks_step *s, const float *in, struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_layer_traits *t = s->traits;
    size_t dim = t->head_dim_v, width = t->kv_heads * dim;
    if (!s->layer->attn_v.data)
        memcpy(b->v, b->k, s->n * width * sizeof *b->v);
    else if (ks_block_project(b, &s->layer->attn_v, s->layer->bias_v, in, s->n, b->v, err))
        return -1;
    if (s->net->hparams->design.norm_v)
        ks_unit_heads(b->cpu, b->v, width, s->n, t->kv_heads, dim,
                      s->net->hparams->norm_eps * (float)dim, sqrtf((float)dim));
    return 0;
}

/* b->q, and where each head has a gate beside its query, b->gates. */
static int project_queries(const struct ks_step *s, const float *in, struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_net_layer *l = s->layer;
    size_t dim = s->traits->head_dim, heads = s->kept * s->traits->heads;
    if (!s->net->hparams->design.gated_attention)
        return ks_block_project(b, &l->attn_q, l->bias_q, in, s->kept, b->q, err);
    if (ks_block_project(b, &l->attn_q, l->bias_q, in, s->kept, b->queries, err))
        return -1;
    for (size_t h = 0; h < heads; h++) {
        memcpy(b->q + h * dim, b->queries + 2 * h * dim, dim * sizeof *b->q);
        memcpy(b->gates + h * dim, b->queries + (2 * h + 1) * dim, dim * sizeof *b->q);
    }
    return 0;
}

/* Every row is a key; the kept ones are queries. */
int ks_block_attention(const struct ks_step *s, float *in, float *out, struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_net_layer *l = s->layer;
    const struct ks_layer_traits *t = s->traits;
    if (ks_block_project(b, &l->attn_k, l->bias_k, in, s->n, b->k, err) ||
        project_values(s, in, err))
        return -1;
    norm_heads(s, l->k_norm, b->k, t->kv_heads, s->n);
    rotate(s, b->k, t->kv_heads, s->n);
    keep(s);
    ks_step_pack(s, in, b->widths.hidden * sizeof *in);
    ks_step_pack(s, b->positions, sizeof *b->positions);
    if (project_queries(s, in, err))
        return -1;
    norm_heads(s, l->q_norm, b->q, t->heads, s->kept);
    rotate(s, b->q, t->heads, s->kept);
    if (s->net->query_scale)
        ks_scale_at(b->cpu, b->q, s->kept, (size_t)t->heads * t->head_dim, b->positions,
                    s->net->query_scale);
    if (attend(s, err))
        return -1;
    if (s->net->hparams->design.gated_attention)
        ks_sigmoid_mul(b->cpu, b->attended, b->gates, s->kept, (size_t)t->heads * t->head_dim_v);
    return ks_block_project(b, &l->attn_output, l->bias_o, b->attended, s->kept, out, err);
}

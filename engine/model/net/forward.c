#include "engine/model/net/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"

static size_t greatest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct ks_widths widths_of(const struct ks_hparams *h)
{
    struct ks_widths w = {.hidden = h->hidden};
    if (h->design.order != KS_ORDER_SEQUENTIAL || (h->design.dense_and_experts && h->experts))
        w.mixed = h->hidden;
    for (uint32_t i = 0; i < h->layers; i++) {
        const struct ks_layer_traits *l = &h->layer[i];
        w.q = greatest(w.q, (size_t)l->heads * l->head_dim);
        w.k = greatest(w.k, (size_t)l->kv_heads * l->head_dim);
        w.v = greatest(w.v, (size_t)l->kv_heads * l->head_dim_v);
        w.attended = greatest(w.attended, (size_t)l->heads * l->head_dim_v);
        w.ffn = greatest(w.ffn, l->ffn);
    }
    w.queries = h->design.gated_attention ? 2 * w.q : 0;
    return w;
}

/* Floats of the blocks' scratch; false where that is beyond counting. */
static bool block_floats(const struct ks_hparams *h, size_t rows, uint64_t *floats)
{
    const struct ks_widths w = widths_of(h);
    size_t row = w.q + w.k + w.v + w.attended + w.queries + w.queries / 2;
    row = greatest(row, 2 * w.ffn);
    row = greatest(row, ks_shortconv_row_floats(h));
    row = greatest(row, ks_delta_row_floats(h));
    size_t experts = ks_experts_floats(h, rows);
    if (!ks_mul_u64(rows, row, floats))
        return false;
    *floats = *floats > experts ? *floats : experts;
    return true;
}

/* Whole blocks of 16 rows keep every part of the scratch on a cache line. */
static size_t whole_blocks(size_t rows)
{
    return (rows + 15) & ~(size_t)15;
}

uint64_t ks_body_bytes(const struct ks_hparams *h, size_t max_rows)
{
    size_t rows = whole_blocks(max_rows);
    const struct ks_widths w = widths_of(h);
    uint64_t row = (w.hidden + w.mixed) * sizeof(float) + sizeof(int32_t) + sizeof(size_t);
    uint64_t block, bytes;
    if (!block_floats(h, rows, &block) || !ks_mul_u64(block, sizeof(float), &block) ||
        !ks_mul_u64(row, rows, &bytes) || !ks_add_u64(bytes, block, &bytes))
        return UINT64_MAX;
    return bytes;
}

static void lay_out(struct ks_body *b)
{
    const struct ks_widths *w = &b->widths;
    size_t n = b->max_rows;
    b->normed = b->memory;
    b->mixed = w->mixed ? b->normed + n * w->hidden : NULL;
    b->q = b->normed + n * (w->hidden + w->mixed);
    b->k = b->q + n * w->q;
    b->v = b->k + n * w->k;
    b->attended = b->v + n * w->v;
    b->gates = b->attended + n * w->attended;
    b->queries = b->gates + n * (w->queries / 2);
    b->block = b->q;
    b->gate = b->q;
    b->up = b->gate + n * w->ffn;
}

struct ks_body *ks_body_create(struct ks_cpu *cpu, const struct ks_hparams *h, size_t max_rows,
                               struct ks_error *err)
{
    const struct ks_widths w = widths_of(h);
    size_t rows = whole_blocks(max_rows);
    struct ks_body *b = calloc(1, sizeof *b);
    if (b) {
        *b = (struct ks_body){.cpu = cpu, .widths = w, .max_rows = rows};
        if (ks_body_bytes(h, max_rows) < SIZE_MAX && block_floats(h, rows, &b->block_floats))
            b->memory = ks_alloc_aligned(rows * (w.hidden + w.mixed) + (size_t)b->block_floats,
                                         sizeof(float));
        b->positions = calloc(rows, sizeof *b->positions);
        b->kept = calloc(rows + 1, sizeof *b->kept);
    }
    if (!b || !b->memory || !b->positions || !b->kept) {
        ks_fail_memory(err, ks_body_bytes(h, max_rows), "the forward pass");
        ks_body_destroy(b);
        return NULL;
    }
    lay_out(b);
    return b;
}

void ks_body_destroy(struct ks_body *b)
{
    if (!b)
        return;
    free(b->memory);
    free(b->positions);
    free(b->kept);
    free(b);
}

static bool same_widths(const struct ks_widths *a, const struct ks_widths *b)
{
    return a->hidden == b->hidden && a->mixed == b->mixed && a->q == b->q && a->k == b->k &&
           a->v == b->v && a->attended == b->attended && a->ffn == b->ffn &&
           a->queries == b->queries;
}

/* Fills b->positions. The batch is our own making: a bad one is a mistake of ours. */
static int place(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                 struct ks_error *err)
{
    const struct ks_widths w = widths_of(net->hparams);
    uint64_t floats;
    if (!same_widths(&w, &b->widths) || !block_floats(net->hparams, b->max_rows, &floats) ||
        floats != b->block_floats)
        return ks_fail(err, KS_INTERNAL, "a net in a body made for other hyperparameters");
    if (batch->starts[batch->n_sequences] > b->max_rows)
        return ks_fail(err, KS_INTERNAL, "a batch of %zu rows in a body for %zu",
                       batch->starts[batch->n_sequences], b->max_rows);
    if (batch->n_sequences > b->max_rows)
        return ks_fail(err, KS_INTERNAL, "a batch of %zu sequences in a body for %zu rows",
                       batch->n_sequences, b->max_rows);
    for (size_t s = 0; s < batch->n_sequences; s++) {
        size_t first = batch->starts[s], n = batch->starts[s + 1] - first;
        if (n > net->positions)
            return ks_fail(err, KS_INTERNAL, "a sequence of %zu tokens, rope tables for %zu", n,
                           net->positions);
        for (size_t i = 0; i < n; i++)
            b->positions[first + i] = (int32_t)i;
    }
    return 0;
}

/* Fills b->kept: all rows, but in the last layer only the wanted ones. */
static void choose_kept(struct ks_body *b, const struct ks_batch *batch, bool last)
{
    for (size_t s = 0; s < batch->n_sequences; s++) {
        size_t n = batch->starts[s + 1] - batch->starts[s];
        size_t first = last && batch->firsts ? batch->firsts[s] : 0;
        b->kept[s + 1] = b->kept[s] + (first < n ? n - first : 0);
    }
}

void ks_step_pack(const struct ks_step *s, void *m, size_t size)
{
    char *row = m;
    if (s->kept == s->n)
        return;
    for (size_t i = 0; i < s->batch->n_sequences; i++) {
        size_t n = s->body->kept[i + 1] - s->body->kept[i];
        memmove(row + s->body->kept[i] * size, row + (s->batch->starts[i + 1] - n) * size,
                n * size);
    }
}

/* From the front back to their places. */
static void unpack(const struct ks_step *s, void *m, size_t size)
{
    char *row = m;
    for (size_t i = s->batch->n_sequences; s->kept < s->n && i-- > 0;) {
        size_t n = s->body->kept[i + 1] - s->body->kept[i];
        memmove(row + (s->batch->starts[i + 1] - n) * size, row + s->body->kept[i] * size,
                n * size);
    }
}

/* out = norm(x), or x where the layer has no such norm. */
static void enter(const struct ks_step *s, const float *gain, const float *bias, const float *x,
                  size_t n, float *out)
{
    const struct ks_hparams *h = s->net->hparams;
    if (gain || h->design.bare_norm)
        ks_block_norm(s->body, h, x, n, h->hidden, gain, bias, out);
    else
        memcpy(out, x, n * h->hidden * sizeof *x);
}

/* x += y, scaled, or norm(y) where the layer has such a norm. y is used up. */
static void leave(const struct ks_step *s, const float *gain, float *y, float *x)
{
    const struct ks_hparams *h = s->net->hparams;
    if (gain)
        ks_block_norm(s->body, h, y, s->kept, h->hidden, gain, NULL, y);
    if (h->residual_scale != 1)
        ks_scale(s->body->cpu, y, s->kept, h->hidden, h->residual_scale);
    ks_add(s->body->cpu, x, y, s->kept, h->hidden);
}

static int mix(const struct ks_step *s, float *in, float *out, struct ks_error *err)
{
    switch (s->traits->mixer) {
    case KS_MIXER_ATTENTION:
        return ks_block_attention(s, in, out, err);
    case KS_MIXER_SHORTCONV:
        return ks_block_shortconv(s, in, out, err);
    case KS_MIXER_DELTA:
        return ks_block_delta(s, in, out, err);
    }
    return ks_fail(err, KS_INTERNAL, "a layer with no mixer");
}

/* y = norm(mlp(y)) + norm(experts(norm(x))), y being the norm of x that the dense MLP reads. */
static int run_both(const struct ks_step *s, const float *x, float *y, struct ks_error *err)
{
    const struct ks_hparams *h = s->net->hparams;
    const struct ks_net_layer *l = s->layer;
    float *sparse = s->body->mixed;
    if (ks_block_mlp(s, y, y, err))
        return -1;
    ks_block_norm(s->body, h, y, s->kept, h->hidden, l->post_dense_norm, NULL, y);
    ks_block_norm(s->body, h, x, s->kept, h->hidden, l->experts_norm, NULL, sparse);
    if (ks_block_experts(s, sparse, x, sparse, err))
        return -1;
    ks_block_norm(s->body, h, sparse, s->kept, h->hidden, l->post_experts_norm, NULL, sparse);
    ks_add(s->body->cpu, y, sparse, s->kept, h->hidden);
    return 0;
}

/* y = mlp(y), y being a norm of x. */
static int run_mlp(const struct ks_step *s, const float *x, float *y, struct ks_error *err)
{
    if (s->traits->mlp != KS_MLP_EXPERTS)
        return ks_block_mlp(s, y, y, err);
    return s->net->hparams->design.dense_and_experts ? run_both(s, x, y, err)
                                                     : ks_block_experts(s, y, x, y, err);
}

static bool is_parallel(const struct ks_step *s)
{
    enum ks_order order = s->net->hparams->design.order;
    return order == KS_ORDER_PARALLEL || (order == KS_ORDER_BY_NORM && !s->layer->ffn_norm);
}

/* x += mixer(norm(x)) + mlp(norm(x)), of one norm. */
static int run_parallel(const struct ks_step *s, float *x, struct ks_error *err)
{
    const struct ks_net_layer *l = s->layer;
    float *in = s->body->normed, *mixed = s->body->mixed;
    enter(s, l->attn_norm, l->attn_norm_bias, x, s->n, in);
    if (mix(s, in, mixed, err))
        return -1;
    ks_step_pack(s, x, s->body->widths.hidden * sizeof *x);
    leave(s, l->post_attn_norm, mixed, x);
    if (run_mlp(s, x, in, err))
        return -1;
    leave(s, l->post_ffn_norm, in, x);
    return 0;
}

/* x += mixer(norm(x)); x += mlp(norm(x)). */
static int run_sequential(const struct ks_step *s, float *x, struct ks_error *err)
{
    const struct ks_net_layer *l = s->layer;
    float *y = s->body->normed;
    enter(s, l->attn_norm, l->attn_norm_bias, x, s->n, y);
    if (mix(s, y, y, err))
        return -1;
    ks_step_pack(s, x, s->body->widths.hidden * sizeof *x);
    leave(s, l->post_attn_norm, y, x);
    enter(s, l->ffn_norm, l->ffn_norm_bias, x, s->kept, y);
    if (run_mlp(s, x, y, err))
        return -1;
    leave(s, l->post_ffn_norm, y, x);
    if (l->layer_scale)
        ks_scale(s->body->cpu, x, s->kept, s->body->widths.hidden, l->layer_scale[0]);
    return 0;
}

int ks_body_layer(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                  size_t layer, float *x, struct ks_error *err)
{
    if (place(b, net, batch, err))
        return -1;
    choose_kept(b, batch, layer + 1 == net->hparams->layers);
    b->rounds = net->rounding.products;
    const struct ks_step step = {
        .body = b,
        .net = net,
        .layer = &net->layers[layer],
        .traits = &net->hparams->layer[layer],
        .batch = batch,
        .n = batch->starts[batch->n_sequences],
        .kept = b->kept[batch->n_sequences],
    };
    if (is_parallel(&step) ? run_parallel(&step, x, err) : run_sequential(&step, x, err))
        return -1;
    unpack(&step, x, b->widths.hidden * sizeof *x);
    return 0;
}

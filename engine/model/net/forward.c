#include "engine/model/net/forward.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"

/* Columns of the activations of a row. */
struct widths {
    size_t hidden, q, k, v, attended, ffn;
};

struct ks_body {
    struct ks_cpu *cpu;
    struct widths widths;
    size_t max_rows;
    /* Scratch, each (max_rows, width). normed also takes what a block adds to the residual: by then
     * its own content is used up. The FFN's gate and up lie over attention's four. */
    float *normed;
    float *q, *k, *v, *attended;
    float *gate, *up;
    int32_t *positions; /* (max_rows) */
    size_t *kept;       /* (max_rows + 1) where each sequence's kept rows start at the front */
    float *memory;
};

static struct widths widths_of(const struct ks_hparams *h)
{
    return (struct widths){
        .hidden = h->hidden,
        .q = (size_t)h->heads * h->head_dim,
        .k = (size_t)h->kv_heads * h->head_dim,
        .v = (size_t)h->kv_heads * h->head_dim_v,
        .attended = (size_t)h->heads * h->head_dim_v,
        .ffn = h->ffn,
    };
}

/* Floats of one row of scratch. */
static size_t row_floats(const struct widths *w)
{
    size_t attention = w->q + w->k + w->v + w->attended, ffn = 2 * w->ffn;
    return w->hidden + (attention > ffn ? attention : ffn);
}

/* Whole blocks of 16 rows keep every part of the scratch on a cache line. */
static size_t whole_blocks(size_t rows)
{
    return (rows + 15) & ~(size_t)15;
}

uint64_t ks_body_bytes(const struct ks_hparams *h, size_t max_rows)
{
    const struct widths w = widths_of(h);
    uint64_t row = row_floats(&w) * sizeof(float) + sizeof(int32_t) + sizeof(size_t), bytes;
    return ks_mul_u64(row, whole_blocks(max_rows), &bytes) ? bytes : UINT64_MAX;
}

static void lay_out(struct ks_body *b)
{
    const struct widths *w = &b->widths;
    size_t n = b->max_rows;
    b->normed = b->memory;
    b->q = b->normed + n * w->hidden;
    b->k = b->q + n * w->q;
    b->v = b->k + n * w->k;
    b->attended = b->v + n * w->v;
    b->gate = b->q;
    b->up = b->gate + n * w->ffn;
}

struct ks_body *ks_body_create(struct ks_cpu *cpu, const struct ks_hparams *h, size_t max_rows,
                               struct ks_error *err)
{
    const struct widths w = widths_of(h);
    size_t rows = whole_blocks(max_rows);
    struct ks_body *b = calloc(1, sizeof *b);
    if (b) {
        *b = (struct ks_body){.cpu = cpu, .widths = w, .max_rows = rows};
        b->memory = ks_alloc_aligned(rows, row_floats(&w) * sizeof(float));
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

static bool same_widths(const struct widths *a, const struct widths *b)
{
    return a->hidden == b->hidden && a->q == b->q && a->k == b->k && a->v == b->v &&
           a->attended == b->attended && a->ffn == b->ffn;
}

/* Fills b->positions. The batch is our own making: a bad one is a mistake of ours. */
static int place(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                 struct ks_error *err)
{
    const struct widths w = widths_of(net->hparams);
    if (!same_widths(&w, &b->widths))
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

int ks_body_embed(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                  float *x, struct ks_error *err)
{
    size_t n = batch->starts[batch->n_sequences];
    for (size_t i = 0; i < n; i++) {
        if (batch->ids[i] < 0 || (uint32_t)batch->ids[i] >= net->hparams->vocab)
            return ks_fail(err, KS_BAD_INPUT,
                           "token id %d at position %zu is not in the vocabulary's 0..%u",
                           batch->ids[i], i, net->hparams->vocab - 1);
    }
    ks_gather(b->cpu, &net->token_embd, batch->ids, n, x);
    return 0;
}

/* out(n, w.rows) = in(n, w.cols) * W^T, plus the bias where there is one. */
static int project(struct ks_body *b, const struct ks_matrix *w, const float *bias, const float *in,
                   size_t n, float *out, struct ks_error *err)
{
    size_t rows = (size_t)w->rows;
    if (ks_matmul(b->cpu, w, in, (size_t)w->cols, n, out, rows, err))
        return -1;
    if (bias)
        ks_add_bias(b->cpu, out, bias, n, rows);
    return 0;
}

static void rotate(struct ks_body *b, const struct ks_net *net, float *x, size_t heads, size_t n)
{
    const struct ks_hparams *h = net->hparams;
    ks_rope(b->cpu, x, heads * h->head_dim, n, heads, h->head_dim, h->rope_dims, h->rope_pairing,
            b->positions, net->rope_cos, net->rope_sin);
}

static int attend(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                  struct ks_error *err)
{
    const struct ks_hparams *h = net->hparams;
    const struct ks_attention a = {
        .q = b->q,
        .k = b->k,
        .v = b->v,
        .ldq = b->widths.q,
        .ldk = b->widths.k,
        .ldv = b->widths.v,
        .heads = h->heads,
        .kv_heads = h->kv_heads,
        .head_dim = h->head_dim,
        .head_dim_v = h->head_dim_v,
        .starts = batch->starts,
        .n_sequences = batch->n_sequences,
        .q_starts = b->kept,
        .scale = h->attention_scale,
    };
    return ks_attend(b->cpu, &a, b->attended, b->widths.attended, err);
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

/* Moves the kept rows of m to its front, or from there to their places. Rows are of `size` bytes.
 */
static void pack_kept(const struct ks_body *b, const struct ks_batch *batch, void *m, size_t size)
{
    char *row = m;
    for (size_t s = 0; s < batch->n_sequences; s++) {
        size_t n = b->kept[s + 1] - b->kept[s];
        memmove(row + b->kept[s] * size, row + (batch->starts[s + 1] - n) * size, n * size);
    }
}

static void unpack_kept(const struct ks_body *b, const struct ks_batch *batch, void *m, size_t size)
{
    char *row = m;
    for (size_t s = batch->n_sequences; s-- > 0;) {
        size_t n = b->kept[s + 1] - b->kept[s];
        memmove(row + (batch->starts[s + 1] - n) * size, row + b->kept[s] * size, n * size);
    }
}

/* x += attention(norm(x)). Every row is a key; the kept ones, which come to x's front, are queries.
 */
static int attention_block(struct ks_body *b, const struct ks_net *net,
                           const struct ks_batch *batch, const struct ks_net_layer *l, float *x,
                           struct ks_error *err)
{
    const struct ks_hparams *h = net->hparams;
    size_t n = batch->starts[batch->n_sequences], kept = b->kept[batch->n_sequences];
    ks_rmsnorm(b->cpu, x, n, h->hidden, l->attn_norm, h->norm_eps, b->normed);
    if (project(b, &l->attn_k, l->bias_k, b->normed, n, b->k, err) ||
        project(b, &l->attn_v, l->bias_v, b->normed, n, b->v, err))
        return -1;
    rotate(b, net, b->k, h->kv_heads, n);
    if (kept < n) {
        pack_kept(b, batch, b->normed, h->hidden * sizeof *b->normed);
        pack_kept(b, batch, b->positions, sizeof *b->positions);
        pack_kept(b, batch, x, h->hidden * sizeof *x);
    }
    if (project(b, &l->attn_q, l->bias_q, b->normed, kept, b->q, err))
        return -1;
    rotate(b, net, b->q, h->heads, kept);
    if (attend(b, net, batch, err) ||
        project(b, &l->attn_output, l->bias_o, b->attended, kept, b->normed, err))
        return -1;
    ks_add(b->cpu, x, b->normed, kept, h->hidden);
    return 0;
}

/* x += down(silu(gate(norm(x))) * up(norm(x))). */
static int ffn_block(struct ks_body *b, const struct ks_net *net, const struct ks_net_layer *l,
                     float *x, size_t n, struct ks_error *err)
{
    const struct ks_hparams *h = net->hparams;
    ks_rmsnorm(b->cpu, x, n, h->hidden, l->ffn_norm, h->norm_eps, b->normed);
    if (project(b, &l->ffn_gate, l->bias_gate, b->normed, n, b->gate, err) ||
        project(b, &l->ffn_up, l->bias_up, b->normed, n, b->up, err))
        return -1;
    ks_silu_mul(b->cpu, b->gate, b->up, n, h->ffn);
    if (project(b, &l->ffn_down, l->bias_down, b->gate, n, b->normed, err))
        return -1;
    ks_add(b->cpu, x, b->normed, n, h->hidden);
    return 0;
}

int ks_body_layer(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                  size_t layer, float *x, struct ks_error *err)
{
    const struct ks_net_layer *l = &net->layers[layer];
    if (place(b, net, batch, err))
        return -1;
    choose_kept(b, batch, layer + 1 == net->hparams->layers);
    size_t n = batch->starts[batch->n_sequences], kept = b->kept[batch->n_sequences];
    if (attention_block(b, net, batch, l, x, err) || ffn_block(b, net, l, x, kept, err))
        return -1;
    if (kept < n)
        unpack_kept(b, batch, x, net->hparams->hidden * sizeof *x);
    return 0;
}

int ks_body_norm(struct ks_body *b, const struct ks_net *net, const float *x, size_t n, float *out,
                 struct ks_error *err)
{
    (void)err; /* for families whose last norm can fail */
    ks_rmsnorm(b->cpu, x, n, net->hparams->hidden, net->output_norm, net->hparams->norm_eps, out);
    return 0;
}

int ks_body_head(struct ks_body *b, const struct ks_net *net, const float *h, size_t n,
                 float *logits, struct ks_error *err)
{
    return project(b, &net->head, NULL, h, n, logits, err);
}

/*
 * Attention. First every KV head's keys are transposed into panels, so that a query's scores for
 * many keys run side by side; then each task takes a block of one head's queries through scores,
 * softmax and values.
 *
 * A block's queries see different keys at both ends (the causal edge, and the window's far edge).
 * Scores outside are computed and ignored. A value chain may not touch them, though: 0 * inf is not
 * nothing. So the keys that all of a block's rows see run as one product, and each row takes the
 * few before and after them by itself, in order.
 */
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/kernels/ops.h"

#define VALUE_ROWS 14 /* rows whose common keys run as one product */
#define BLOCK_ROWS 56 /* queries in a task */

struct attend {
    const struct ks_attention *a;
    const struct ks_ops *ops;
    float *out;
    size_t ldout;
    size_t longest; /* keys of the longest sequence, rounded up to whole panels */
    float *keys;    /* sequence by sequence: (kv_heads, panels, head_dim, PANEL) */
    float *scores;  /* a worker: (BLOCK_ROWS, longest) */
    size_t *panels; /* (n_sequences + 1): panels before each sequence, of one KV head */
    size_t *blocks; /* (n_sequences + 1): query blocks before each sequence, of one head */
};

static size_t pieces(size_t n, size_t to)
{
    return (n + to - 1) / to;
}

/* The sequence s with before[s] <= i < before[s + 1]. */
static size_t sequence_of(const size_t *before, size_t n_sequences, size_t i)
{
    size_t low = 0, high = n_sequences;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (before[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A sequence's transposed keys of one KV head. */
static float *keys_of(const struct attend *t, size_t sequence, size_t kv_head)
{
    size_t count = t->panels[sequence + 1] - t->panels[sequence];
    size_t panel = t->panels[sequence] * t->a->kv_heads + kv_head * count;
    return t->keys + panel * t->a->head_dim * t->ops->panel;
}

static void transpose_keys(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct attend *t = ctx;
    const struct ks_attention *a = t->a;
    size_t s = sequence_of(t->panels, a->n_sequences, i);
    size_t at = (i - t->panels[s]) * t->ops->panel, len = a->starts[s + 1] - a->starts[s];
    size_t n = len - at < t->ops->panel ? len - at : t->ops->panel;
    const float *k = a->k + (a->starts[s] + at) * a->ldk;
    for (size_t h = 0; h < a->kv_heads; h++)
        t->ops->transpose(k + h * a->head_dim, a->ldk, n, a->head_dim,
                          keys_of(t, s, h) + at * a->head_dim);
}

/* The first key that query i of a sequence sees. */
static size_t first_key(const struct ks_attention *a, size_t i)
{
    return a->window > 0 && i + 1 > a->window ? i + 1 - a->window : 0;
}

/* One head of one sequence, its queries [from, to). */
struct block {
    const struct attend *t;
    const float *q, *v; /* row 0 of the sequence, this head's columns */
    float *out;         /* the same */
    const float *keys;
    float *scores; /* row i - from, column key */
    size_t from, to;
};

static void score(const struct block *b)
{
    const struct ks_attention *a = b->t->a;
    const struct ks_ops *ops = b->t->ops;
    size_t ld = b->t->longest;
    for (size_t p = first_key(a, b->from) / ops->panel; p * ops->panel < b->to; p++)
        ops->product(&(struct ks_product){
            .x = b->q + b->from * a->ldq,
            .ldx = a->ldq,
            .m = b->to - b->from,
            .b = b->keys + p * ops->panel * a->head_dim,
            .ldb = ops->panel,
            .n = ops->panel,
            .k = a->head_dim,
            .y = b->scores + p * ops->panel,
            .ldy = ld,
        });
    for (size_t i = b->from; i < b->to; i++) {
        size_t first = first_key(a, i);
        ops->softmax(b->scores + (i - b->from) * ld + first, i + 1 - first, a->scale);
    }
}

/* Rows [row, row + m) of out go on over keys [from, to). */
static void add_values(const struct block *b, size_t row, size_t m, size_t from, size_t to,
                       bool resume)
{
    const struct ks_attention *a = b->t->a;
    const struct ks_ops *ops = b->t->ops;
    for (size_t d = 0; d < a->head_dim_v; d += ops->panel)
        ops->product(&(struct ks_product){
            .x = b->scores + (row - b->from) * b->t->longest + from,
            .ldx = b->t->longest,
            .m = m,
            .b = b->v + from * a->ldv + d,
            .ldb = a->ldv,
            .n = a->head_dim_v - d < ops->panel ? a->head_dim_v - d : ops->panel,
            .k = to - from,
            .y = b->out + row * b->t->ldout + d,
            .ldy = b->t->ldout,
            .resume = resume,
        });
}

/* The values of m rows from row on. */
static void blend(const struct block *b, size_t row, size_t m)
{
    const struct ks_attention *a = b->t->a;
    size_t common = first_key(a, row + m - 1), end = row + 1; /* seen by all: [common, end) */
    if (common >= end) {
        for (size_t i = row; i < row + m; i++)
            add_values(b, i, 1, first_key(a, i), i + 1, false);
        return;
    }
    for (size_t i = row; i < row + m; i++)
        add_values(b, i, 1, first_key(a, i), common, false);
    add_values(b, row, m, common, end, true);
    for (size_t i = row + 1; i < row + m; i++)
        add_values(b, i, 1, end, i + 1, true);
}

static void attend_block(void *ctx, size_t i, int worker)
{
    const struct attend *t = ctx;
    const struct ks_attention *a = t->a;
    size_t s = sequence_of(t->blocks, a->n_sequences, i / a->heads), head = i % a->heads;
    size_t len = a->starts[s + 1] - a->starts[s];
    size_t kv_head = head / (a->heads / a->kv_heads);
    struct block b = {
        .t = t,
        .q = a->q + a->starts[s] * a->ldq + head * a->head_dim,
        .v = a->v + a->starts[s] * a->ldv + kv_head * a->head_dim_v,
        .out = t->out + a->starts[s] * t->ldout + head * a->head_dim_v,
        .keys = keys_of(t, s, kv_head),
        .scores = t->scores + (size_t)worker * BLOCK_ROWS * t->longest,
        .from = (i / a->heads - t->blocks[s]) * BLOCK_ROWS,
    };
    b.to = len - b.from < BLOCK_ROWS ? len : b.from + BLOCK_ROWS;
    score(&b);
    for (size_t row = b.from; row < b.to; row += VALUE_ROWS)
        blend(&b, row, b.to - row < VALUE_ROWS ? b.to - row : VALUE_ROWS);
}

/* Lays keys and scores out in the ks_cpu's buffer, which grows where it must. */
static int lay_out(struct ks_cpu *cpu, struct attend *t, struct ks_error *err)
{
    const struct ks_attention *a = t->a;
    size_t panel = cpu->ops->panel, n = a->n_sequences;
    for (size_t s = 0; s < n; s++) {
        size_t len = a->starts[s + 1] - a->starts[s], padded = pieces(len, panel) * panel;
        t->panels[s + 1] = t->panels[s] + padded / panel;
        t->blocks[s + 1] = t->blocks[s] + pieces(len, BLOCK_ROWS);
        t->longest = padded > t->longest ? padded : t->longest;
    }
    size_t keys = t->panels[n] * panel * a->kv_heads * a->head_dim;
    size_t floats = keys + (size_t)ks_pool_threads(cpu->pool) * BLOCK_ROWS * t->longest;
    if (floats > cpu->attend_floats) {
        free(cpu->attend);
        cpu->attend_floats = 0;
        cpu->attend = ks_alloc_aligned(floats, sizeof *cpu->attend);
        if (!cpu->attend)
            return ks_fail_memory(err, floats * sizeof *cpu->attend, "attention scores");
        cpu->attend_floats = floats;
    }
    t->keys = cpu->attend;
    t->scores = cpu->attend + keys;
    return 0;
}

int ks_attend(struct ks_cpu *cpu, const struct ks_attention *a, float *out, size_t ldout,
              struct ks_error *err)
{
    size_t n = a->n_sequences;
    struct attend t = {.a = a, .ops = cpu->ops, .out = out, .ldout = ldout};
    t.panels = calloc(2 * (n + 1), sizeof *t.panels);
    if (!t.panels)
        return ks_fail_memory(err, 2 * (n + 1) * sizeof *t.panels, "the sequences of a batch");
    t.blocks = t.panels + n + 1;
    int failed = lay_out(cpu, &t, err);
    if (!failed) {
        ks_pool_for(cpu->pool, t.panels[n], transpose_keys, &t);
        ks_pool_for(cpu->pool, t.blocks[n] * a->heads, attend_block, &t);
    }
    free(t.panels);
    return failed;
}

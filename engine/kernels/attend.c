/*
 * Attention. First every KV head's keys are transposed into panels, so that a query's scores for
 * many keys run side by side, and its values are copied into panels; then each task takes a block
 * of one head's queries through scores, softmax and values.
 *
 * A block's queries see different keys at both ends (the causal edge, and the window's far edge).
 * Scores outside are computed and ignored. A value chain may not touch them, though: 0 * inf is not
 * nothing. So at the causal edge each row climbs one step more than the one before, and at the far
 * edge each row takes the keys that not all of its group see by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/kernels/elementary/lanes.h"
#include "engine/kernels/path/ops.h"

#define BLOCK_ROWS 56 /* queries in a task */
#define GROUP_ROWS 14 /* of those, taken together where the far edge cuts */
#define APART      16 /* floats between rows of scratch, lest they fall on the same cache set */

struct attend {
    const struct ks_attention *a;
    const struct ks_ops *ops;
    float *out;
    size_t ldout;
    size_t longest;      /* keys of the longest sequence in whole panels, and APART */
    size_t value_panels; /* panels that hold head_dim_v */
    float *keys;         /* sequence by sequence: (kv_heads, panels, head_dim, PANEL) */
    float *values;       /* sequence by sequence: (kv_heads, value_panels, keys, PANEL) */
    float *queries;      /* a worker: (BLOCK_ROWS, head_dim + APART) */
    float *scores;       /* a worker: (BLOCK_ROWS, longest) */
    size_t *panels;      /* (n_sequences + 1): key panels before each sequence, of one KV head */
    size_t *blocks;      /* (n_sequences + 1): query blocks before each sequence, of one head */
    const size_t *q_starts;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t greatest(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Pieces of a size that cover n. */
static size_t pieces(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

static size_t length_of(const struct ks_attention *a, size_t sequence)
{
    return a->starts[sequence + 1] - a->starts[sequence];
}

/* The positions of a sequence that are no queries. */
static size_t skipped(const struct attend *t, size_t sequence)
{
    return length_of(t->a, sequence) - (t->q_starts[sequence + 1] - t->q_starts[sequence]);
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

static float *keys_of(const struct attend *t, size_t sequence, size_t kv_head)
{
    size_t count = t->panels[sequence + 1] - t->panels[sequence];
    size_t panel = t->panels[sequence] * t->a->kv_heads + kv_head * count;
    return t->keys + panel * t->a->head_dim * t->ops->panel;
}

static float *values_of(const struct attend *t, size_t sequence, size_t kv_head, size_t value_panel)
{
    size_t rows = t->a->starts[sequence] * t->a->kv_heads * t->value_panels +
                  (kv_head * t->value_panels + value_panel) * length_of(t->a, sequence);
    return t->values + rows * t->ops->panel;
}

static void copy_values(const struct attend *t, size_t s, size_t at, size_t n)
{
    const struct ks_attention *a = t->a;
    size_t panel = t->ops->panel;
    const float *v = a->v + (a->starts[s] + at) * a->ldv;
    for (size_t h = 0; h < a->kv_heads; h++)
        for (size_t p = 0; p < t->value_panels; p++) {
            size_t wide = least(panel, a->head_dim_v - p * panel);
            float *to = values_of(t, s, h, p) + at * panel;
            for (size_t i = 0; i < n; i++, to += panel) {
                memcpy(to, v + i * a->ldv + h * a->head_dim_v + p * panel, wide * sizeof *to);
                memset(to + wide, 0, (panel - wide) * sizeof *to);
            }
        }
}

/* n keys, at most a panel's. */
static void pack_keys(const struct attend *t, const float *k, size_t n, float *panel)
{
    const struct ks_attention *a = t->a;
    for (size_t r = 0; r < t->ops->panel; r += KS_LANES)
        t->ops->transpose(n > r ? k + r * a->ldk : k, a->ldk, n > r ? least(KS_LANES, n - r) : 0,
                          a->head_dim, panel + r);
}

/* A panel's worth of one sequence's keys and values. */
static void pack(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct attend *t = ctx;
    const struct ks_attention *a = t->a;
    size_t s = sequence_of(t->panels, a->n_sequences, i);
    size_t at = (i - t->panels[s]) * t->ops->panel;
    size_t n = least(t->ops->panel, length_of(a, s) - at);
    const float *k = a->k + (a->starts[s] + at) * a->ldk;
    for (size_t h = 0; h < a->kv_heads; h++)
        pack_keys(t, k + h * a->head_dim, n, keys_of(t, s, h) + at * a->head_dim);
    copy_values(t, s, at, n);
}

/* The first key that query i of a sequence sees. */
static size_t first_key(const struct ks_attention *a, size_t i)
{
    return a->window > 0 && i + 1 > a->window ? i + 1 - a->window : 0;
}

/* One head of one sequence, its queries at positions [from, to). */
struct block {
    const struct attend *t;
    size_t sequence, kv_head;
    size_t from, to;
    float *queries;
    float *scores; /* row i - from, column key */
    float *out;    /* the row of position `from`, this head's columns */
    const float *sink;
};

/* Of each panel of keys only the rows that see one of them. */
static void score(const struct block *b)
{
    const struct ks_attention *a = b->t->a;
    size_t panel = b->t->ops->panel, ld = b->t->longest;
    const float *keys = keys_of(b->t, b->sequence, b->kv_head);
    for (size_t key = first_key(a, b->from) / panel * panel; key < b->to; key += panel) {
        size_t from = greatest(b->from, key);
        size_t to = a->window > 0 ? least(b->to, key + panel + a->window - 1) : b->to;
        b->t->ops->product(&(struct ks_product){
            .x = b->queries + (from - b->from) * (a->head_dim + APART),
            .ldx = a->head_dim + APART,
            .m = to - from,
            .b = keys + key * a->head_dim,
            .n = panel,
            .k = a->head_dim,
            .y = b->scores + (from - b->from) * ld + key,
            .ldy = ld,
        });
    }
}

/* Rows [row, row + m) of out go on over keys [from, to), with stairs one more a row. */
static void add_values(const struct block *b, size_t row, size_t m, size_t from, size_t to,
                       bool resume, bool stairs)
{
    const struct attend *t = b->t;
    size_t panel = t->ops->panel;
    for (size_t p = 0; p < t->value_panels; p++)
        t->ops->product(&(struct ks_product){
            .x = b->scores + (row - b->from) * t->longest + from,
            .ldx = t->longest,
            .m = m,
            .b = values_of(t, b->sequence, b->kv_head, p) + from * panel,
            .n = least(panel, t->a->head_dim_v - p * panel),
            .k = to - from,
            .y = b->out + (row - b->from) * t->ldout + p * panel,
            .ldy = t->ldout,
            .resume = resume,
            .stairs = stairs,
        });
}

/* The values of a group that the far edge cuts. */
static void blend_at_edge(const struct block *b, size_t row, size_t m)
{
    const struct ks_attention *a = b->t->a;
    size_t common = first_key(a, row + m - 1);
    for (size_t i = row; i < row + m; i++)
        add_values(b, i, 1, first_key(a, i), least(common, i + 1), false, false);
    if (common <= row) {
        add_values(b, row, m, common, row + 1, true, true);
        return;
    }
    for (size_t i = common; i < row + m; i++)
        add_values(b, i, 1, common, i + 1, true, false);
}

static void blend(const struct block *b)
{
    const struct ks_attention *a = b->t->a;
    if (first_key(a, b->to - 1) == 0) {
        add_values(b, b->from, b->to - b->from, 0, b->from + 1, false, true);
        return;
    }
    for (size_t row = b->from; row < b->to; row += GROUP_ROWS)
        blend_at_edge(b, row, least(GROUP_ROWS, b->to - row));
}

/* Block i counts heads fastest, then blocks of the sequence. */
static struct block find_block(const struct attend *t, size_t i, int worker)
{
    const struct ks_attention *a = t->a;
    size_t head = i % a->heads, s = sequence_of(t->blocks, a->n_sequences, i / a->heads);
    size_t from = skipped(t, s) + (i / a->heads - t->blocks[s]) * BLOCK_ROWS;
    size_t row = t->q_starts[s] + from - skipped(t, s);
    struct block b = {
        .t = t,
        .sequence = s,
        .kv_head = head / (a->heads / a->kv_heads),
        .from = from,
        .to = least(length_of(a, s), from + BLOCK_ROWS),
        .queries = t->queries + (size_t)worker * BLOCK_ROWS * (a->head_dim + APART),
        .scores = t->scores + (size_t)worker * BLOCK_ROWS * t->longest,
        .out = t->out + row * t->ldout + head * a->head_dim_v,
        .sink = a->sinks ? a->sinks + head : NULL,
    };
    const float *q = a->q + row * a->ldq + head * a->head_dim;
    for (size_t n = 0; n < b.to - b.from; n++)
        memcpy(b.queries + n * (a->head_dim + APART), q + n * a->ldq, a->head_dim * sizeof *q);
    return b;
}

static void attend_block(void *ctx, size_t i, int worker)
{
    const struct attend *t = ctx;
    struct block b = find_block(t, i, worker);
    score(&b);
    for (size_t row = b.from; row < b.to; row++) {
        size_t first = first_key(t->a, row), n = row + 1 - first;
        float *scores = b.scores + (row - b.from) * t->longest + first;
        float cap = t->a->softcap, scale = t->a->scale;
        if (cap > 0)
            t->ops->softcap(scores, n, scale / cap, cap);
        t->ops->softmax(scores, n, cap > 0 ? 1.0f : scale, b.sink);
    }
    blend(&b);
}

/* Lays everything out in the ks_cpu's buffer, which grows where it must. */
static int lay_out(struct ks_cpu *cpu, struct attend *t, struct ks_error *err)
{
    const struct ks_attention *a = t->a;
    size_t panel = cpu->ops->panel, n = a->n_sequences, threads;
    for (size_t s = 0; s < n; s++) {
        size_t count = pieces(length_of(a, s), panel);
        t->panels[s + 1] = t->panels[s] + count;
        t->blocks[s + 1] = t->blocks[s] + pieces(length_of(a, s) - skipped(t, s), BLOCK_ROWS);
        t->longest = greatest(t->longest, count * panel + APART);
    }
    threads = (size_t)ks_pool_threads(cpu->pool);
    size_t keys = t->panels[n] * panel * a->kv_heads * a->head_dim;
    size_t values = a->starts[n] * a->kv_heads * t->value_panels * panel;
    size_t queries = threads * BLOCK_ROWS * (a->head_dim + APART);
    size_t floats = keys + values + queries + threads * BLOCK_ROWS * t->longest;
    if (ks_growing_reserve(&cpu->attend, floats, "attention scores", err))
        return -1;
    t->keys = cpu->attend.floats;
    t->values = t->keys + keys;
    t->queries = t->values + values;
    t->scores = t->queries + queries;
    return 0;
}

int ks_attend(struct ks_cpu *cpu, const struct ks_attention *a, float *out, size_t ldout,
              struct ks_error *err)
{
    size_t n = a->n_sequences;
    struct attend t = {
        .a = a,
        .ops = cpu->ops,
        .out = out,
        .ldout = ldout,
        .q_starts = a->q_starts ? a->q_starts : a->starts,
        .value_panels = pieces(a->head_dim_v, cpu->ops->panel),
    };
    t.panels = calloc(2 * (n + 1), sizeof *t.panels);
    if (!t.panels)
        return ks_fail_memory(err, 2 * (n + 1) * sizeof *t.panels, "the sequences of a batch");
    t.blocks = t.panels + n + 1;
    int failed = lay_out(cpu, &t, err);
    if (!failed) {
        ks_pool_for(cpu->pool, t.panels[n], pack, &t);
        ks_pool_for(cpu->pool, t.blocks[n] * a->heads, attend_block, &t);
    }
    free(t.panels);
    return failed;
}

/*
 * Products with weights. A task is a panel of W's rows and a chunk of tokens: the panel is decoded
 * into the worker's cache, k-major, and every token of the chunk runs over it. So a weight is
 * decoded once a chunk, and chunks are made only where panels alone are too few for the threads.
 * The tasks of a stack of matrices, each with tokens of its own, are handed out in one loop, so
 * that experts with few tokens don't leave threads idle one after the other.
 */
#include <assert.h>
#include <string.h>

#include "engine/kernels/elementary/lanes.h"
#include "engine/kernels/path/ops.h"

#define LEAST_CHUNK      56 /* tokens; decoding a panel costs as much as a dozen of them */
#define TASKS_FOR_THREAD 4

struct matmul {
    struct ks_cpu *cpu;
    const struct ks_matrix *w;
    uint64_t row_bytes;
    const float *x;
    float *y;
    size_t ldx, ldy;
    const size_t *starts; /* (stacked + 1): each matrix's tokens */
    size_t stacked, rows; /* matrices, and rows of each */
    size_t panels, chunk; /* panels of a matrix; tokens in a task */
};

/* A task's place: rows of the stack, and tokens. */
struct place {
    size_t row, n_rows, token, n_tokens;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Pieces of a size that cover n. */
static size_t pieces(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

/* Bytes before column k of a row; k a whole number of blocks. */
static size_t offset_of(enum ks_type type, size_t k)
{
    const struct ks_type_info *info = ks_type_info((uint32_t)type);
    return k / info->block_elems * info->block_bytes;
}

/* Few enough rows at a time for all that is decoded to stay in the first-level cache. */
static void fill_lanes(const struct matmul *t, struct ks_scratch *s, const uint8_t *src,
                       size_t n_rows, size_t n_k, float *panel)
{
    const struct ks_ops *ops = t->cpu->ops;
    for (size_t r = 0; r < n_rows; r++)
        ops->decode(t->w->type, src + r * t->row_bytes, s->rows + r * KS_DECODE_LD, n_k);
    ops->transpose(s->rows, KS_DECODE_LD, n_rows, n_k, panel);
}

/* s->panel(n_k, PANEL) = rows [row, row + n_rows) and columns [k, k + n_k) of W, transposed. */
static void fill_panel(const struct matmul *t, struct ks_scratch *s, size_t row, size_t n_rows,
                       size_t k, size_t n_k)
{
    const struct ks_ops *ops = t->cpu->ops;
    for (size_t at = 0; at < n_k; at += KS_DECODE_K) {
        size_t len = least(KS_DECODE_K, n_k - at);
        const uint8_t *src = t->w->data + row * t->row_bytes + offset_of(t->w->type, k + at);
        for (size_t r = 0; r < ops->panel; r += KS_LANES) {
            size_t here = n_rows > r ? least(KS_LANES, n_rows - r) : 0;
            fill_lanes(t, s, here ? src + r * t->row_bytes : src, here, len,
                       s->panel + at * ops->panel + r);
        }
    }
}

/* What the worker's next task decodes first, if the others are as quick as it. */
static struct ks_ahead look_ahead(const struct matmul *t, size_t row, size_t k, size_t n_k)
{
    size_t panel = t->cpu->ops->panel;
    struct ks_ahead ahead = {.stride = t->row_bytes};
    if (k + n_k < t->w->cols) {
        k += n_k;
    } else {
        k = 0;
        row += panel * (size_t)ks_pool_threads(t->cpu->pool);
    }
    if (row >= t->w->rows)
        return ahead;
    size_t end = least(t->w->cols, k + KS_BLOCK_K);
    ahead.at = t->w->data + row * t->row_bytes + offset_of(t->w->type, k);
    ahead.rows = least(panel, t->w->rows - row);
    ahead.bytes = offset_of(t->w->type, end) - offset_of(t->w->type, k);
    return ahead;
}

static size_t tasks_of(const struct matmul *t, size_t matrix)
{
    return t->panels * pieces(t->starts[matrix + 1] - t->starts[matrix], t->chunk);
}

static struct place find_place(const struct matmul *t, size_t i)
{
    size_t matrix = 0, panel = t->cpu->ops->panel;
    for (size_t tasks; i >= (tasks = tasks_of(t, matrix)); matrix++)
        i -= tasks;
    size_t row = i % t->panels * panel;
    size_t token = t->starts[matrix] + i / t->panels * t->chunk;
    return (struct place){
        .row = matrix * t->rows + row,
        .n_rows = least(panel, t->rows - row),
        .token = token,
        .n_tokens = least(t->chunk, t->starts[matrix + 1] - token),
    };
}

static void run_task(void *ctx, size_t i, int worker)
{
    const struct matmul *t = ctx;
    struct ks_scratch *s = &t->cpu->workers[worker];
    const struct place at = find_place(t, i);
    for (size_t k = 0; k < t->w->cols; k += KS_BLOCK_K) {
        size_t n_k = least(KS_BLOCK_K, t->w->cols - k);
        fill_panel(t, s, at.row, at.n_rows, k, n_k);
        t->cpu->ops->product(&(struct ks_product){
            .x = t->x + at.token * t->ldx + k,
            .ldx = t->ldx,
            .m = at.n_tokens,
            .b = s->panel,
            .n = at.n_rows,
            .k = n_k,
            .y = t->y + at.token * t->ldy + at.row % t->rows,
            .ldy = t->ldy,
            .resume = k > 0,
            .ahead = look_ahead(t, at.row, k, n_k),
        });
    }
}

/* Rows of x that lie whole pages apart fall on one set of the first-level cache, which holds fewer
 * of them than a block of the product reads side by side. Such an x is copied with rows APART. */
#define PAGE  1024 /* floats */
#define APART 16

static void copy_row(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct matmul *t = ctx;
    memcpy(t->cpu->spaced.floats + i * (t->w->cols + APART), t->x + i * t->ldx,
           t->w->cols * sizeof *t->x);
}

static int space_out(struct matmul *t, struct ks_error *err)
{
    size_t ld = t->w->cols + APART, n = t->starts[t->stacked];
    if (t->ldx % PAGE != 0 || n < 2)
        return 0;
    if (ks_growing_reserve(&t->cpu->spaced, n * ld, "activations", err))
        return -1;
    ks_pool_for(t->cpu->pool, n, copy_row, t);
    t->x = t->cpu->spaced.floats;
    t->ldx = ld;
    return 0;
}

/* Tokens a task, so that there are a few tasks for each thread where n allows it. */
static size_t chunk_of(size_t n, size_t panels, size_t threads)
{
    size_t chunks = threads > 1 ? pieces(threads * TASKS_FOR_THREAD, panels) : 1;
    size_t chunk = pieces(n, chunks);
    return chunk < LEAST_CHUNK ? LEAST_CHUNK : chunk;
}

/* Sets the chunk; how many tasks that makes. */
static size_t cut(struct matmul *t)
{
    size_t most = 0, busy = 0, tasks = 0;
    for (size_t m = 0; m < t->stacked; m++) {
        size_t n = t->starts[m + 1] - t->starts[m];
        most = n > most ? n : most;
        busy += n > 0;
    }
    if (busy == 0)
        return 0;
    t->chunk = chunk_of(most, t->panels * busy, (size_t)ks_pool_threads(t->cpu->pool));
    for (size_t m = 0; m < t->stacked; m++)
        tasks += tasks_of(t, m);
    return tasks;
}

int ks_matmul_stacked(struct ks_cpu *cpu, const struct ks_matrix *w, size_t stacked,
                      const size_t *starts, const float *x, size_t ldx, float *y, size_t ldy,
                      struct ks_error *err)
{
    const struct ks_type_info *info = ks_type_info((uint32_t)w->type);
    struct matmul t = {.cpu = cpu,
                       .w = w,
                       .x = x,
                       .ldx = ldx,
                       .y = y,
                       .ldy = ldy,
                       .starts = starts,
                       .stacked = stacked,
                       .rows = w->rows / stacked};
    if (!info || !info->decodes)
        return ks_fail(err, KS_UNSUPPORTED, "cannot multiply by a matrix of type %s",
                       info ? info->name : "unknown");
    if (!ks_type_row_bytes(w->type, w->cols, &t.row_bytes))
        return ks_fail(err, KS_INTERNAL, "a %s matrix of %llu columns, not whole blocks of %u",
                       info->name, (unsigned long long)w->cols, info->block_elems);
    assert(ldx >= w->cols && ldy >= t.rows && t.rows * stacked == w->rows);
    t.panels = pieces(t.rows, cpu->ops->panel);
    size_t tasks = cut(&t);
    if (tasks == 0)
        return 0;
    if (space_out(&t, err))
        return -1;
    ks_pool_for(cpu->pool, tasks, run_task, &t);
    return 0;
}

int ks_matmul_rounded(struct ks_cpu *cpu, const struct ks_matrix *w, size_t stacked,
                      const size_t *starts, const float *x, float *y, size_t ldy,
                      struct ks_error *err)
{
    size_t n = starts[stacked], cols = (size_t)w->cols;
    if (ks_growing_reserve(&cpu->rounded, n * cols, "rounded activations", err))
        return -1;
    ks_round_activations(cpu, w->type, x, n, cols, cpu->rounded.floats);
    return ks_matmul_stacked(cpu, w, stacked, starts, cpu->rounded.floats, cols, y, ldy, err);
}

int ks_matmul(struct ks_cpu *cpu, const struct ks_matrix *w, const float *x, size_t ldx, size_t n,
              float *y, size_t ldy, struct ks_error *err)
{
    const size_t starts[2] = {0, n};
    return ks_matmul_stacked(cpu, w, 1, starts, x, ldx, y, ldy, err);
}

struct gather {
    const struct ks_ops *ops;
    const struct ks_matrix *w;
    uint64_t row_bytes;
    const int32_t *ids;
    float *out;
};

static void gather_row(void *ctx, size_t i, int worker)
{
    (void)worker;
    const struct gather *g = ctx;
    const uint8_t *row = g->w->data + (uint64_t)g->ids[i] * g->row_bytes;
    g->ops->decode(g->w->type, row, g->out + i * g->w->cols, g->w->cols);
}

void ks_gather(struct ks_cpu *cpu, const struct ks_matrix *w, const int32_t *ids, size_t n,
               float *out)
{
    struct gather g = {.ops = cpu->ops, .w = w, .ids = ids, .out = out};
    bool whole = ks_type_row_bytes(w->type, w->cols, &g.row_bytes);
    assert(whole);
    (void)whole;
    ks_pool_for(cpu->pool, n, gather_row, &g);
}

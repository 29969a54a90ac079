/*
 * Products, attention and row operations. The shapes are those of small and middling models: a
 * window of 512 tokens, a head's tile of 64, one token.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/bench/bench.h"

struct matmul {
    struct ks_cpu *cpu;
    struct ks_matrix w;
    size_t n;
    const float *x;
    float *y;
    int failed;
    struct ks_error err;
};

static void multiply(void *ctx)
{
    struct matmul *t = ctx;
    if (ks_matmul(t->cpu, &t->w, t->x, t->w.cols, t->n, t->y, t->w.rows, &t->err))
        t->failed = -1;
}

/* w's data, encoded from random floats; the caller's to free(). */
static uint8_t *encode(const struct ks_matrix *w, struct ks_error *err)
{
    uint64_t row_bytes;
    if (!ks_type_row_bytes(w->type, w->cols, &row_bytes)) {
        ks_fail(err, KS_INTERNAL, "the benchmark's matrix has no whole blocks");
        return NULL;
    }
    uint8_t *data = ks_alloc_aligned(w->rows, row_bytes);
    float *row = ks_bench_floats(w->cols, err);
    if (!data || !row) {
        ks_fail_memory(err, w->rows * row_bytes, "the benchmark's weights");
        free(data);
        free(row);
        return NULL;
    }
    int failed = ks_bench_encode(w->type, row, 1, w->cols, data, err);
    free(row);
    if (failed) {
        free(data);
        return NULL;
    }
    for (size_t r = 1; r < w->rows; r++) /* all alike: what they are doesn't show in the time */
        memcpy(data + r * row_bytes, data, row_bytes);
    return data;
}

static int time_matmul(struct bench *b, struct matmul *t, struct ks_error *err)
{
    double flops = 2.0 * (double)t->n * (double)t->w.cols * (double)t->w.rows;
    double seconds = ks_bench_seconds(multiply, t);
    if (t->failed) {
        *err = t->err;
        return -1;
    }
    char name[64];
    snprintf(name, sizeof name, "%zu x %llu x %llu", t->n, (unsigned long long)t->w.cols,
             (unsigned long long)t->w.rows);
    ks_bench_cell(b, "matmul", ks_type_info((uint32_t)t->w.type)->name, name, flops / seconds / 1e9,
                  "GFLOP/s", b->peak / 1e9, "FMA peak");
    return 0;
}

static int measure_matmul(struct bench *b, enum ks_type type, size_t n, size_t cols, size_t rows,
                          struct ks_error *err)
{
    struct matmul t = {.cpu = b->cpu, .w = {.type = type, .rows = rows, .cols = cols}, .n = n};
    uint8_t *data = encode(&t.w, err);
    float *x = data ? ks_bench_floats(n * cols, err) : NULL;
    float *y = x ? ks_bench_floats(n * rows, err) : NULL;
    t.w.data = data, t.x = x, t.y = y;
    int failed = y ? time_matmul(b, &t, err) : -1;
    free(data);
    free(x);
    free(y);
    return failed;
}

int ks_bench_matmul(struct bench *b, struct ks_error *err)
{
    static const struct {
        size_t n, cols, rows;
    } shapes[] = {
        {512, 256, 768},   {512, 768, 256},   {512, 576, 1536}, {512, 1024, 1024},
        {512, 2048, 2048}, {256, 4096, 4096}, {64, 256, 4096},  {1, 1024, 1024},
    };
    const struct ks_type_info *info;
    for (uint32_t t = 0; (info = ks_type_at(t)); t++) {
        if (!info->quantizes || !info->decodes)
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            if (shapes[s].cols % info->block_elems == 0 &&
                measure_matmul(b, info->type, shapes[s].n, shapes[s].cols, shapes[s].rows, err))
                return -1;
    }
    return 0;
}

struct attend {
    struct ks_cpu *cpu;
    struct ks_attention a;
    float *out;
    int failed;
    struct ks_error err;
};

static void attend(void *ctx)
{
    struct attend *t = ctx;
    if (ks_attend(t->cpu, &t->a, t->out, t->a.heads * t->a.head_dim_v, &t->err))
        t->failed = -1;
}

#define WINDOWS 4

/* A small model's head shapes: heads, KV heads, head_dim and the window. */
struct attention_shape {
    size_t heads, kv_heads, head_dim, len;
};

/* Only what is visible counts: 2 products over half a square. */
static double attention_flops(const struct attention_shape *s)
{
    double pairs = WINDOWS * (double)s->len * (double)(s->len + 1) / 2.0;
    return pairs * (double)s->heads * (double)s->head_dim * 4.0;
}

static int time_attention(struct bench *b, const struct attention_shape *s, const float *q,
                          const float *kv, float *out, struct ks_error *err)
{
    const size_t starts[WINDOWS + 1] = {0, s->len, 2 * s->len, 3 * s->len, 4 * s->len};
    size_t wide = s->kv_heads * s->head_dim;
    struct attend t = {.cpu = b->cpu, .out = out};
    t.a = (struct ks_attention){.q = q, .k = kv, .v = kv + wide};
    t.a.ldq = s->heads * s->head_dim;
    t.a.ldk = t.a.ldv = 2 * wide;
    t.a.heads = s->heads;
    t.a.kv_heads = s->kv_heads;
    t.a.head_dim = t.a.head_dim_v = s->head_dim;
    t.a.starts = starts;
    t.a.n_sequences = WINDOWS;
    t.a.scale = 0.125f;
    double seconds = ks_bench_seconds(attend, &t);
    if (t.failed) {
        *err = t.err;
        return -1;
    }
    char name[64];
    snprintf(name, sizeof name, "%zu heads (%zu kv) x %zu, %d x %zu", s->heads, s->kv_heads,
             s->head_dim, WINDOWS, s->len);
    ks_bench_line(b, "attention", name, attention_flops(s) / seconds / 1e9, "GFLOP/s",
                  b->peak / 1e9, "FMA peak");
    return 0;
}

static int measure_attention(struct bench *b, const struct attention_shape *s, struct ks_error *err)
{
    size_t n = WINDOWS * s->len;
    float *q = ks_bench_floats(n * s->heads * s->head_dim, err);
    float *kv = q ? ks_bench_floats(2 * n * s->kv_heads * s->head_dim, err) : NULL;
    float *out = kv ? ks_bench_floats(n * s->heads * s->head_dim, err) : NULL;
    int failed = out ? time_attention(b, s, q, kv, out, err) : -1;
    free(q);
    free(kv);
    free(out);
    return failed;
}

int ks_bench_attention(struct bench *b, struct ks_error *err)
{
    static const struct attention_shape shapes[] = {
        {8, 8, 32, 512}, {4, 2, 64, 512}, {9, 3, 64, 512}, {9, 3, 64, 2048}, {16, 8, 128, 512},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (measure_attention(b, &shapes[i], err))
            return -1;
    return 0;
}

#define ROWS 2048
#define WIDE 768

struct rows {
    struct ks_cpu *cpu;
    float *x, *y;
    int32_t *positions;
    struct ks_matrix w;
};

static void norm(void *ctx)
{
    struct rows *r = ctx;
    ks_rmsnorm(r->cpu, r->x, ROWS, WIDE, r->y, 1e-5f, r->y);
}

static void sum(void *ctx)
{
    struct rows *r = ctx;
    ks_add(r->cpu, r->y, r->x, ROWS, WIDE);
}

/* Of a fresh copy, since the gate is overwritten: repeated it would run into denormals. */
static void gate(void *ctx)
{
    struct rows *r = ctx;
    memcpy(r->y, r->x, (size_t)ROWS * WIDE * sizeof *r->y);
    ks_silu_mul(r->cpu, r->y, r->x, ROWS, WIDE);
}

static void copy_only(void *ctx)
{
    struct rows *r = ctx;
    memcpy(r->y, r->x, (size_t)ROWS * WIDE * sizeof *r->y);
}

static void rope(void *ctx)
{
    struct rows *r = ctx;
    ks_rope(r->cpu, r->y, WIDE, ROWS, WIDE / 64, 64, 64, KS_ROPE_ADJACENT, r->positions, r->x,
            r->x + 32);
}

int ks_bench_rows(struct bench *b, struct ks_error *err)
{
    const double n = (double)ROWS * WIDE;
    struct rows r = {.cpu = b->cpu, .x = ks_bench_floats((size_t)ROWS * WIDE, err)};
    r.y = r.x ? ks_bench_floats((size_t)ROWS * WIDE, err) : NULL;
    r.positions = calloc(ROWS, sizeof *r.positions);
    if (!r.y || !r.positions) {
        ks_fail_memory(err, (size_t)ROWS * WIDE * sizeof *r.x, "the benchmark's rows");
        free(r.x);
        free(r.y);
        free(r.positions);
        return -1;
    }
    double copying = ks_bench_seconds(copy_only, &r);
    ks_bench_line(b, "rows", "rmsnorm 768", ks_bench_seconds(norm, &r) / n * 1e9, "ns/element", NAN,
                  NULL);
    ks_bench_line(b, "rows", "add 768", ks_bench_seconds(sum, &r) / n * 1e9, "ns/element", NAN,
                  NULL);
    ks_bench_line(b, "rows", "silu_mul 768", (ks_bench_seconds(gate, &r) - copying) / n * 1e9,
                  "ns/element", NAN, NULL);
    ks_bench_line(b, "rows", "rope 64 adjacent", ks_bench_seconds(rope, &r) / n * 1e9, "ns/element",
                  NAN, NULL);
    free(r.x);
    free(r.y);
    free(r.positions);
    return 0;
}

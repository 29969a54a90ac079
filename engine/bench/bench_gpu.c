/*
 * Products on a GPU: what the output head costs there, per path, type and number of positions.
 *
 * Products are recorded one behind the other and waited for once, by reading a row of the last, so
 * that a line tells what the device does and not what submitting and waiting cost. The shader copy
 * is the limit of those that read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/bench/bench.h"
#include "engine/head/head.h"
#include "engine/quant/encode/encode.h"

#define WARM_UP_NS  200000000
#define ROUNDS      20
#define DIFFERENT   64 /* rows that are quantized; the matrix repeats them */
#define BATCH_FLOPS 2e11

struct product {
    struct ks_gpu_weight *weight;
    struct ks_gpu_tile *tile;
    enum ks_gpu_path path;
    size_t m;
    const float *x;
    float *row; /* one position read back */
    int calls;
};

static int run_calls(struct product *p, struct ks_error *err)
{
    if (ks_gpu_matmul_again(p->weight, p->path, p->x, p->m, p->tile, (unsigned)p->calls, err))
        return -1;
    return ks_gpu_tile_read(p->tile, 0, 1, p->row, err);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the rounds, in seconds a call. */
static int time_calls(struct product *p, double *seconds, struct ks_error *err)
{
    double took[ROUNDS];
    int64_t begin = ks_clock_ns();
    do {
        if (run_calls(p, err))
            return -1;
    } while (ks_clock_ns() - begin < WARM_UP_NS);
    for (int i = 0; i < ROUNDS; i++) {
        begin = ks_clock_ns();
        if (run_calls(p, err))
            return -1;
        took[i] = (double)(ks_clock_ns() - begin) * 1e-9 / p->calls;
    }
    qsort(took, ROUNDS, sizeof *took, by_size);
    *seconds = took[ROUNDS / 2];
    return 0;
}

/* A matrix of the type and shape: some rows quantized from noise, then repeated. The caller frees
 * m->data. */
static int make_matrix(struct ks_matrix *m, enum ks_type type, size_t rows, size_t cols,
                       struct ks_error *err)
{
    uint64_t row_bytes;
    if (!ks_type_row_bytes(type, cols, &row_bytes))
        return ks_fail(err, KS_INTERNAL, "%zu columns of %s", cols, ks_type_info(type)->name);
    float *noise = ks_bench_floats(DIFFERENT * cols, err);
    uint8_t *data = ks_alloc_aligned(rows, row_bytes);
    if (!noise || !data) {
        free(noise);
        free(data);
        return ks_fail_memory(err, rows * row_bytes, "the benchmark's matrix");
    }
    ks_encode_rows(type, noise, DIFFERENT, cols, NULL, data);
    for (size_t r = DIFFERENT; r < rows; r++)
        memcpy(data + r * row_bytes, data + (r % DIFFERENT) * row_bytes, row_bytes);
    free(noise);
    *m = (struct ks_matrix){.type = type, .rows = rows, .cols = cols, .data = data};
    return 0;
}

static void tell(const struct bench *b, const struct ks_matrix *w, const struct product *p,
                 double seconds, double copy)
{
    char name[128];
    uint64_t row_bytes = 0;
    ks_type_row_bytes(w->type, w->cols, &row_bytes);
    snprintf(name, sizeof name, "%s %zu x %llu x %llu, %s", ks_type_info(w->type)->name, p->m,
             (unsigned long long)w->cols, (unsigned long long)w->rows, ks_gpu_path_name(p->path));
    double flops = 2.0 * (double)p->m * (double)w->rows * (double)w->cols;
    ks_bench_line(b, "gpu", name, seconds * 1e6, "us", NAN, NULL);
    if (p->path == KS_GPU_FEW)
        ks_bench_line(b, "gpu", "  weight read", (double)(row_bytes * w->rows) / seconds * 1e-9,
                      "GB/s", copy * 1e-9, "copy");
    else
        ks_bench_line(b, "gpu", "  product", flops / seconds * 1e-12, "TFLOP/s", NAN, NULL);
}

struct copy {
    struct ks_gpu_tile *from, *to;
    float *row;
};

#define COPY_ROWS      151936
#define COPY_POSITIONS 512
#define COPIES         20

static int run_copies(struct copy *c, struct ks_error *err)
{
    if (ks_gpu_tile_copy(c->from, c->to, COPIES, err))
        return -1;
    return ks_gpu_tile_read(c->to, 0, 1, c->row, err);
}

/* Bytes a second, read and written, of a shader that does nothing else. */
static int time_copies(struct copy *c, double *rate, struct ks_error *err)
{
    double took[ROUNDS];
    for (int i = -ROUNDS; i < ROUNDS; i++) { /* the first half warms up */
        int64_t begin = ks_clock_ns();
        if (run_copies(c, err))
            return -1;
        if (i >= 0)
            took[i] = (double)(ks_clock_ns() - begin) * 1e-9 / COPIES;
    }
    qsort(took, ROUNDS, sizeof *took, by_size);
    *rate = 2.0 * (double)ks_gpu_tile_bytes(c->from) / took[ROUNDS / 2];
    return 0;
}

static int bench_copy(struct bench *b, struct ks_gpu *gpu, double *rate, struct ks_error *err)
{
    struct copy c = {.from = ks_gpu_tile_create(gpu, COPY_POSITIONS, COPY_ROWS, err)};
    c.to = c.from ? ks_gpu_tile_create(gpu, COPY_POSITIONS, COPY_ROWS, err) : NULL;
    c.row = c.to ? ks_bench_floats(COPY_ROWS, err) : NULL;
    int failed = !c.row || time_copies(&c, rate, err);
    if (!failed)
        ks_bench_line(b, "gpu", "copy by a shader", *rate * 1e-9, "GB/s", NAN, NULL);
    free(c.row);
    ks_gpu_tile_destroy(c.to);
    ks_gpu_tile_destroy(c.from);
    return failed ? -1 : 0;
}

static int bench_product(struct bench *b, struct ks_gpu *gpu, const struct ks_matrix *w,
                         struct ks_gpu_weight *weight, size_t m, double copy, struct ks_error *err)
{
    struct product p = {.weight = weight, .path = m <= 8 ? KS_GPU_FEW : KS_GPU_MANY, .m = m};
    double flops = 2.0 * (double)m * (double)w->rows * (double)w->cols, seconds;
    p.calls = flops * 200 < BATCH_FLOPS ? 200 : (int)(BATCH_FLOPS / flops) + 1;
    float *x = ks_bench_floats(m * w->cols, err);
    p.x = x;
    p.row = x ? ks_bench_floats(w->rows, err) : NULL;
    p.tile = p.row ? ks_gpu_tile_create(gpu, m, w->rows, err) : NULL;
    int failed = !p.tile || time_calls(&p, &seconds, err);
    if (!failed)
        tell(b, w, &p, seconds, copy);
    ks_gpu_tile_destroy(p.tile);
    free(p.row);
    free(x);
    return failed ? -1 : 0;
}

static int bench_weight(struct bench *b, struct ks_gpu *gpu, enum ks_type type, size_t rows,
                        size_t cols, double copy, struct ks_error *err)
{
    static const size_t positions[] = {1, 2, 4, 8, 64, 512};
    struct ks_matrix w;
    if (make_matrix(&w, type, rows, cols, err))
        return -1;
    uint64_t row_bytes = 0;
    ks_type_row_bytes(type, cols, &row_bytes);
    struct ks_gpu_weight *weight = ks_head_upload(gpu, &w, rows * row_bytes, "benchmark", err);
    int failed = weight == NULL;
    for (size_t i = 0; i < sizeof positions / sizeof *positions && !failed; i++)
        failed = bench_product(b, gpu, &w, weight, positions[i], copy, err);
    ks_gpu_weight_destroy(weight);
    free((void *)(uintptr_t)w.data);
    return failed ? -1 : 0;
}

int ks_bench_gpu(struct bench *b, struct ks_error *err)
{
    static const struct {
        enum ks_type type;
        size_t rows, cols;
    } heads[] = {
        {KS_Q8_0, 49152, 576},   {KS_Q8_0, 151936, 1024}, {KS_Q4_0, 151936, 1024},
        {KS_Q4_K, 151936, 1024}, {KS_Q6_K, 151936, 1024}, {KS_F16, 151936, 1024},
    };
    struct ks_gpu *gpu = ks_gpu_open(b->device, err);
    if (!gpu) /* a machine without a GPU has no such lines, unless they were asked for */
        return b->only || b->device ? -1 : 0;
    double copy = NAN;
    int failed = bench_copy(b, gpu, &copy, err);
    for (size_t i = 0; i < sizeof heads / sizeof *heads && !failed; i++)
        failed = bench_weight(b, gpu, heads[i].type, heads[i].rows, heads[i].cols, copy, err);
    ks_gpu_close(gpu);
    return failed;
}

/*
 * Products on a GPU: what the output head costs there, per path, type and number of positions.
 *
 * Products are recorded one behind the other and waited for once, by reading a row of the last, so
 * that a line tells what the device does and not what submitting and waiting cost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/bench/bench_gpu.h"
#include "engine/head/head.h"

#define WARM_UP_NS  200000000
#define ROUNDS      20
#define ROUND_NS    50000000 /* so long that submitting and waiting, once each, count for nothing */
#define MOST_CALLS  2000
#define DIFFERENT   64 /* rows that are quantized; the others are mixed of them */
#define PIECE       32 /* columns that are mixed as one, at least */
#define LIMIT_BYTES ((uint64_t)512 << 20)

struct product {
    struct ks_gpu_weight *weight;
    struct ks_gpu_tile *tile;
    enum ks_gpu_path path;
    size_t m;
    const float *x;
    float *row; /* one position read back */
    int calls;
};

static int run_products(void *ctx, struct ks_error *err)
{
    struct product *p = ctx;
    if (ks_gpu_matmul_again(p->weight, p->path, p->x, p->m, p->tile, (unsigned)p->calls, err))
        return -1;
    return ks_gpu_tile_read(p->tile, 0, 1, p->row, err);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int ks_bench_gpu_time(int (*run)(void *ctx, struct ks_error *err), void *ctx, double *seconds,
                      struct ks_error *err)
{
    double took[ROUNDS];
    int64_t begin = ks_clock_ns();
    do {
        if (run(ctx, err))
            return -1;
    } while (ks_clock_ns() - begin < WARM_UP_NS);
    for (int i = 0; i < ROUNDS; i++) {
        begin = ks_clock_ns();
        if (run(ctx, err))
            return -1;
        took[i] = (double)(ks_clock_ns() - begin) * 1e-9;
    }
    qsort(took, ROUNDS, sizeof *took, by_size);
    *seconds = took[ROUNDS / 2];
    return 0;
}

/* How many calls make a round, by how long one takes together with its submission. */
static int choose_calls(struct product *p, struct ks_error *err)
{
    p->calls = 1;
    if (run_products(p, err)) /* pipelines are made */
        return -1;
    int64_t begin = ks_clock_ns();
    if (run_products(p, err))
        return -1;
    int64_t calls = ROUND_NS / (ks_clock_ns() - begin + 1) + 1;
    p->calls = calls < MOST_CALLS ? (int)calls : MOST_CALLS;
    return 0;
}

/* Row r, of pieces of the first rows: no two rows alike, or logits would tie all over. */
static void mix_row(uint8_t *data, size_t r, uint64_t row_bytes, size_t pieces)
{
    uint64_t piece_bytes = row_bytes / pieces, seed = r;
    for (size_t p = 0; p < pieces; p++) {
        size_t from = (size_t)ks_random_below(&seed, DIFFERENT);
        memcpy(data + r * row_bytes + p * piece_bytes, data + from * row_bytes + p * piece_bytes,
               piece_bytes);
    }
}

/* A matrix of the type and shape: some rows quantized from noise, and mixtures of them. The caller
 * frees m->data. */
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
    int failed = ks_bench_encode(type, noise, DIFFERENT, cols, data, err);
    uint32_t block = ks_type_info(type)->block_elems;
    size_t pieces = cols / (block > PIECE ? block : PIECE);
    for (size_t r = DIFFERENT; r < rows; r++)
        mix_row(data, r, row_bytes, pieces);
    free(noise);
    if (failed) {
        free(data);
        return -1;
    }
    *m = (struct ks_matrix){.type = type, .rows = rows, .cols = cols, .data = data};
    return 0;
}

static int tell_limits(struct bench_gpu *d, struct ks_error *err)
{
    if (ks_gpu_measure(d->gpu, LIMIT_BYTES, &d->limits, err))
        return -1;
    const struct ks_gpu_limits *l = &d->limits;
    ks_bench_line(d->bench, "gpu", "copy by a shader", l->copy_bytes_s * 1e-9, "GB/s", NAN, NULL);
    ks_bench_line(d->bench, "gpu", "read by a shader", l->read_bytes_s * 1e-9, "GB/s", NAN, NULL);
    ks_bench_line(d->bench, "gpu", "f32 arithmetic by a shader", l->flops_s * 1e-12, "TFLOP/s", NAN,
                  NULL);
    ks_bench_line(d->bench, "gpu", "dispatch of nothing", l->dispatch_s * 1e6, "us", NAN, NULL);
    ks_bench_line(d->bench, "gpu", "  submitted and waited for", l->submit_s * 1e6, "us", NAN,
                  NULL);
    return 0;
}

static void tell(const struct bench_gpu *d, const struct ks_matrix *w, const struct product *p,
                 double seconds)
{
    char name[128];
    uint64_t row_bytes = 0;
    ks_type_row_bytes(w->type, w->cols, &row_bytes);
    snprintf(name, sizeof name, "%s %zu x %llu x %llu, %s", ks_type_info(w->type)->name, p->m,
             (unsigned long long)w->cols, (unsigned long long)w->rows, ks_gpu_path_name(p->path));
    double flops = 2.0 * (double)p->m * (double)w->rows * (double)w->cols;
    ks_bench_line(d->bench, "gpu", name, seconds * 1e6, "us", NAN, NULL);
    if (p->path == KS_GPU_FEW)
        ks_bench_line(d->bench, "gpu", "  weight read",
                      (double)(row_bytes * w->rows) / seconds * 1e-9, "GB/s",
                      d->limits.copy_bytes_s * 1e-9, "copy");
    else
        ks_bench_line(d->bench, "gpu", "  product", flops / seconds * 1e-12, "TFLOP/s",
                      d->limits.flops_s * 1e-12, "arithmetic");
}

static int bench_product(struct bench_gpu *d, const struct ks_matrix *w,
                         struct ks_gpu_weight *weight, enum ks_gpu_path path, size_t m,
                         struct ks_error *err)
{
    struct product p = {.weight = weight, .path = path, .m = m};
    double seconds;
    float *x = ks_bench_floats(m * w->cols, err);
    p.x = x;
    p.row = x ? ks_bench_floats(w->rows, err) : NULL;
    p.tile = p.row ? ks_gpu_tile_create(d->gpu, m, w->rows, err) : NULL;
    int failed =
        !p.tile || choose_calls(&p, err) || ks_bench_gpu_time(run_products, &p, &seconds, err);
    if (!failed)
        tell(d, w, &p, seconds / p.calls);
    ks_gpu_tile_destroy(p.tile);
    free(p.row);
    free(x);
    return failed ? -1 : 0;
}

/* By the paths that are made for so many positions. */
static int bench_paths(struct bench_gpu *d, const struct ks_matrix *w, struct ks_gpu_weight *weight,
                       size_t m, struct ks_error *err)
{
    struct ks_error without = {0};
    if (m <= 8)
        return bench_product(d, w, weight, KS_GPU_FEW, m, err);
    if (bench_product(d, w, weight, KS_GPU_MANY, m, err))
        return -1;
    if (ks_head_check_path(d->gpu, w, KS_GPU_MATRIX, "benchmark", &without))
        return 0;
    return bench_product(d, w, weight, KS_GPU_MATRIX, m, err);
}

static int bench_weight(struct bench_gpu *d, enum ks_type type, size_t rows, size_t cols,
                        struct ks_error *err)
{
    static const size_t positions[] = {1, 2, 4, 8, 64, 512};
    struct ks_matrix w;
    if (make_matrix(&w, type, rows, cols, err))
        return -1;
    uint64_t row_bytes = 0;
    ks_type_row_bytes(type, cols, &row_bytes);
    struct ks_gpu_weight *weight = ks_head_upload(d->gpu, &w, rows * row_bytes, "benchmark", err);
    int failed = weight == NULL;
    for (size_t i = 0; i < sizeof positions / sizeof *positions && !failed; i++)
        failed = bench_paths(d, &w, weight, positions[i], err);
    if (!failed && type == KS_Q8_0)
        failed = ks_bench_gpu_window(d, &w, weight, err);
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
    struct bench_gpu d = {.bench = b, .gpu = ks_gpu_open(b->device, err)};
    if (!d.gpu) /* a machine without a GPU has no such lines, unless they were asked for */
        return b->only || b->device ? -1 : 0;
    int failed = tell_limits(&d, err);
    for (size_t i = 0; i < sizeof heads / sizeof *heads && !failed; i++)
        failed = bench_weight(&d, heads[i].type, heads[i].rows, heads[i].cols, err);
    ks_gpu_close(d.gpu);
    return failed;
}

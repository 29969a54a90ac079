/*
 * The clock, the limits that everything else is held against, and the groups in order.
 */
#include "engine/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"

double ks_bench_seconds(void (*run)(void *ctx), void *ctx)
{
    run(ctx);
    int64_t best = INT64_MAX, start = ks_clock_ns(), before = start;
    for (int i = 0; i < 3 || before - start < 100000000; i++) {
        run(ctx);
        int64_t after = ks_clock_ns();
        best = after - before < best ? after - before : best;
        before = after;
    }
    return (double)best * 1e-9;
}

float *ks_bench_floats(size_t n, struct ks_error *err)
{
    float *x = ks_alloc_aligned(n, sizeof *x);
    if (!x) {
        ks_fail_memory(err, n * sizeof *x, "the benchmark's data");
        return NULL;
    }
    uint64_t seed = n;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(ks_random_next(&seed) >> 40) * 0x1p-23f - 1.0f;
    return x;
}

void ks_bench_line(const struct bench *b, const char *group, const char *name, double value,
                   const char *unit, double limit, const char *limit_name)
{
    b->row(b->ctx, &(struct ks_bench_row){group, name, value, unit, limit, limit_name});
}

#define COPY_BYTES ((size_t)64 << 20)
#define COPY_PIECE ((size_t)1 << 20)

struct copy {
    struct ks_cpu *cpu;
    char *from, *to;
};

static void copy_piece(void *ctx, size_t i, int worker)
{
    (void)worker;
    struct copy *c = ctx;
    memcpy(c->to + i * COPY_PIECE, c->from + i * COPY_PIECE, COPY_PIECE);
}

static void copy(void *ctx)
{
    struct copy *c = ctx;
    ks_pool_for(ks_cpu_pool(c->cpu), COPY_BYTES / COPY_PIECE, copy_piece, c);
}

static int measure_limits(struct bench *b, struct ks_error *err)
{
    b->peak_one = ks_cpu_peak(b->cpu, 1);
    b->peak = ks_cpu_peak(b->cpu, b->threads);
    struct copy c = {b->cpu, ks_alloc_aligned(COPY_BYTES, 1), ks_alloc_aligned(COPY_BYTES, 1)};
    int failed = 0;
    if (c.from && c.to)
        b->copy = (double)COPY_BYTES / ks_bench_seconds(copy, &c);
    else
        failed = ks_fail_memory(err, 2 * COPY_BYTES, "the benchmark's copy");
    free(c.from);
    free(c.to);
    return failed;
}

static int limits(struct bench *b, struct ks_error *err)
{
    (void)err;
    ks_bench_line(b, "limits", "FMA peak, 1 thread", b->peak_one / 1e9, "GFLOP/s", NAN, NULL);
    ks_bench_line(b, "limits", "FMA peak, all threads", b->peak / 1e9, "GFLOP/s",
                  b->peak_one * b->threads / 1e9, "threads x 1 thread");
    ks_bench_line(b, "limits", "copy, 64 MiB", b->copy / 1e6, "MB/s", NAN, NULL);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct bench *b, struct ks_error *err);
} groups[] = {
    {"limits", limits},          {"types", ks_bench_types},
    {"matmul", ks_bench_matmul}, {"attention", ks_bench_attention},
    {"rows", ks_bench_rows},     {"ruler", ks_bench_ruler},
    {"gpu", ks_bench_gpu},
};

#define N_GROUPS (sizeof groups / sizeof groups[0])

static int check_group(const char *only, struct ks_error *err)
{
    for (size_t i = 0; i < N_GROUPS; i++)
        if (!only || strcmp(groups[i].name, only) == 0)
            return 0;
    return ks_fail(err, KS_BAD_INPUT,
                   "no benchmark group \"%s\"; there are limits, matmul, attention, rows, ruler "
                   "and gpu",
                   only);
}

int ks_bench(const char *only, const char *device, int threads,
             void (*row)(void *ctx, const struct ks_bench_row *row), void *ctx,
             struct ks_error *err)
{
    enum ks_isa isa;
    if (check_group(only, err) || ks_isa_choose(&isa, err))
        return -1;
    struct bench b = {.threads = threads > 0 ? threads : ks_threads_allowed(),
                      .only = only,
                      .device = device,
                      .row = row,
                      .ctx = ctx};
    b.cpu = ks_cpu_create(b.threads, isa, err);
    if (!b.cpu)
        return -1;
    int failed = measure_limits(&b, err);
    for (size_t i = 0; i < N_GROUPS && !failed; i++)
        if (!only || strcmp(groups[i].name, only) == 0)
            failed = groups[i].run(&b, err);
    ks_cpu_destroy(b.cpu);
    return failed;
}

/*
 * The clock, the data, and the groups in order.
 */
#include "engine/bench/bench.h"

#include <stdio.h>
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
    b->row(b->ctx, &(struct ks_bench_row){group, name, NULL, NULL, value, unit, limit, limit_name});
}

void ks_bench_cell(const struct bench *b, const char *group, const char *line, const char *column,
                   double value, const char *unit, double limit, const char *limit_name)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s", line, column);
    b->row(b->ctx,
           &(struct ks_bench_row){group, name, line, column, value, unit, limit, limit_name});
}

static const struct {
    const char *name;
    int (*run)(struct bench *b, struct ks_error *err);
} groups[] = {
    {"limits", ks_bench_limits},       {"types", ks_bench_types},       {"matmul", ks_bench_matmul},
    {"attention", ks_bench_attention}, {"rows", ks_bench_rows},         {"ruler", ks_bench_ruler},
    {"tokenizer", ks_bench_tokenizer}, {"pipeline", ks_bench_pipeline}, {"gpu", ks_bench_gpu},
};

#define N_GROUPS (sizeof groups / sizeof groups[0])

static int check_group(const char *only, struct ks_error *err)
{
    for (size_t i = 0; i < N_GROUPS; i++)
        if (!only || strcmp(groups[i].name, only) == 0)
            return 0;
    char known[256];
    size_t at = 0;
    for (size_t i = 0; i < N_GROUPS && at < sizeof known; i++)
        at +=
            (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", groups[i].name);
    return ks_fail(err, KS_BAD_INPUT, "no benchmark group \"%s\"; there are %s", only, known);
}

int ks_bench(const struct ks_bench_wishes *w,
             void (*row)(void *ctx, const struct ks_bench_row *row), void *ctx,
             struct ks_error *err)
{
    enum ks_isa isa;
    if (check_group(w->only, err) || ks_isa_choose(&isa, err))
        return -1;
    struct bench b = {.threads = w->threads > 0 ? w->threads : ks_threads_allowed(),
                      .only = w->only,
                      .device = w->device,
                      .model = w->model,
                      .corpus = w->corpus,
                      .row = row,
                      .ctx = ctx};
    b.cpu = ks_cpu_create(b.threads, isa, err);
    if (!b.cpu)
        return -1;
    int failed = ks_bench_measure_limits(&b, err);
    for (size_t i = 0; i < N_GROUPS && !failed; i++)
        if (!w->only || strcmp(groups[i].name, w->only) == 0)
            failed = groups[i].run(&b, err);
    ks_cpu_destroy(b.cpu);
    return failed;
}

/*
 * The benchmark's groups. Each measures its lines and hands them to the caller's row function.
 * Private to engine/bench.
 */
#ifndef KS_ENGINE_BENCH_BENCH_H
#define KS_ENGINE_BENCH_BENCH_H

#include "engine/engine.h"
#include "engine/kernels/cpu.h"

struct bench {
    struct ks_cpu *cpu;
    int threads;
    const char *only, *device;  /* as asked, or NULL */
    const char *model, *corpus; /* the same */
    double peak_one, peak;      /* FLOP/s of register-only FMAs, on one thread and on all */
    double copy, read;          /* bytes/s of more than caches hold, on all threads */
    void (*row)(void *ctx, const struct ks_bench_row *row);
    void *ctx;
};

/* Seconds of one call: the best of as many as fit into a tenth of a second, at least 3. */
double ks_bench_seconds(void (*run)(void *ctx), void *ctx);

/* n floats in [-1, 1), aligned, the caller's to free(); NULL with *err. */
float *ks_bench_floats(size_t n, struct ks_error *err);

void ks_bench_line(const struct bench *b, const char *group, const char *name, double value,
                   const char *unit, double limit, const char *limit_name);

/* The same of a group that makes a table. */
void ks_bench_cell(const struct bench *b, const char *group, const char *line, const char *column,
                   double value, const char *unit, double limit, const char *limit_name);

/* dst = the rows as that type, every column as important as the others. */
int ks_bench_encode(enum ks_type type, const float *src, size_t rows, size_t cols, uint8_t *dst,
                    struct ks_error *err);

/* Fills what else is held against: peaks and memory. */
int ks_bench_measure_limits(struct bench *b, struct ks_error *err);

int ks_bench_limits(struct bench *b, struct ks_error *err);
int ks_bench_types(struct bench *b, struct ks_error *err);
int ks_bench_matmul(struct bench *b, struct ks_error *err);
int ks_bench_attention(struct bench *b, struct ks_error *err);
int ks_bench_rows(struct bench *b, struct ks_error *err);
int ks_bench_ruler(struct bench *b, struct ks_error *err);
int ks_bench_tokenizer(struct bench *b, struct ks_error *err);
int ks_bench_pipeline(struct bench *b, struct ks_error *err);
int ks_bench_gpu(struct bench *b, struct ks_error *err);

#endif

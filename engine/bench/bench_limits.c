/*
 * What everything else is held against: multiply-adds on registers alone, on every path that this
 * CPU runs, and memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/bench/bench.h"

/* More than caches hold. */
#define BYTES  ((size_t)64 << 20)
#define PIECE  ((size_t)1 << 20)
#define PIECES (BYTES / PIECE)

struct memory {
    struct ks_cpu *cpu;
    char *from, *to;
    uint64_t sums[PIECES]; /* so that nobody leaves the reading out */
};

static void copy_piece(void *ctx, size_t i, int worker)
{
    (void)worker;
    struct memory *m = ctx;
    memcpy(m->to + i * PIECE, m->from + i * PIECE, PIECE);
}

static void copy(void *ctx)
{
    struct memory *m = ctx;
    ks_pool_for(ks_cpu_pool(m->cpu), PIECES, copy_piece, m);
}

static void read_piece(void *ctx, size_t i, int worker)
{
    (void)worker;
    struct memory *m = ctx;
    const uint64_t *words = (const void *)(m->from + i * PIECE);
    uint64_t sum = 0;
    for (size_t w = 0; w < PIECE / sizeof *words; w++)
        sum += words[w];
    m->sums[i] = sum;
}

static void read_all(void *ctx)
{
    struct memory *m = ctx;
    ks_pool_for(ks_cpu_pool(m->cpu), PIECES, read_piece, m);
}

int ks_bench_measure_limits(struct bench *b, struct ks_error *err)
{
    b->peak_one = ks_cpu_peak(b->cpu, 1);
    b->peak = ks_cpu_peak(b->cpu, b->threads);
    struct memory m = {b->cpu, ks_alloc_aligned(BYTES, 1), ks_alloc_aligned(BYTES, 1), {0}};
    int failed = 0;
    if (m.from && m.to) {
        b->copy = (double)BYTES / ks_bench_seconds(copy, &m);
        b->read = (double)BYTES / ks_bench_seconds(read_all, &m);
    } else {
        failed = ks_fail_memory(err, 2 * BYTES, "the benchmark's copy");
    }
    free(m.from);
    free(m.to);
    return failed;
}

/* A path that is not the one in use. */
static int tell_path(const struct bench *b, enum ks_isa isa, struct ks_error *err)
{
    char name[64];
    struct ks_cpu *cpu = ks_cpu_create(b->threads, isa, err);
    if (!cpu)
        return -1;
    snprintf(name, sizeof name, "FMA peak, %s, 1 thread", ks_isa_name(isa));
    ks_bench_line(b, "limits", name, ks_cpu_peak(cpu, 1) / 1e9, "GFLOP/s", NAN, NULL);
    snprintf(name, sizeof name, "FMA peak, %s, all threads", ks_isa_name(isa));
    ks_bench_line(b, "limits", name, ks_cpu_peak(cpu, b->threads) / 1e9, "GFLOP/s", NAN, NULL);
    ks_cpu_destroy(cpu);
    return 0;
}

int ks_bench_limits(struct bench *b, struct ks_error *err)
{
    static const enum ks_isa all[] = {KS_ISA_AVX512, KS_ISA_AVX2, KS_ISA_NEON, KS_ISA_SCALAR};
    ks_bench_line(b, "limits", "FMA peak, 1 thread", b->peak_one / 1e9, "GFLOP/s", NAN, NULL);
    ks_bench_line(b, "limits", "FMA peak, all threads", b->peak / 1e9, "GFLOP/s",
                  b->peak_one * b->threads / 1e9, "threads x 1 thread");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != ks_cpu_isa(b->cpu) && ks_isa_runs(all[i]) && tell_path(b, all[i], err))
            return -1;
    ks_bench_line(b, "limits", "memory, copied", b->copy / 1e6, "MB/s", NAN, NULL);
    ks_bench_line(b, "limits", "memory, read", b->read / 1e6, "MB/s", NAN, NULL);
    return 0;
}

/*
 * The object: a pool, the chosen path and the workers' memory.
 */
#include "engine/kernels/cpu.h"

#include <stdlib.h>
#include <time.h>

#include "engine/base/bytes.h"
#include "engine/kernels/elementary/lanes.h"
#include "engine/kernels/isa.h"
#include "engine/kernels/path/ops.h"

static int create_scratch(struct ks_cpu *cpu, int threads, struct ks_error *err)
{
    size_t panel = cpu->ops->panel;
    cpu->workers = calloc((size_t)threads, sizeof *cpu->workers);
    if (!cpu->workers)
        return ks_fail_memory(err, (size_t)threads * sizeof *cpu->workers, "the kernels' workers");
    for (int i = 0; i < threads; i++) {
        struct ks_scratch *s = &cpu->workers[i];
        s->panel = ks_alloc_aligned(panel * KS_BLOCK_K, sizeof *s->panel);
        s->rows = ks_alloc_aligned(KS_LANES * KS_DECODE_LD, sizeof *s->rows);
        if (!s->panel || !s->rows)
            return ks_fail_memory(err, panel * KS_BLOCK_K * sizeof *s->panel,
                                  "a worker's decoded weights; ask for fewer --threads");
    }
    return 0;
}

int ks_growing_reserve(struct ks_growing *g, size_t n, const char *what, struct ks_error *err)
{
    if (n <= g->n)
        return 0;
    free(g->floats);
    g->n = 0;
    g->floats = ks_alloc_aligned(n, sizeof *g->floats);
    if (!g->floats)
        return ks_fail_memory(err, n * sizeof *g->floats, what);
    g->n = n;
    return 0;
}

struct ks_cpu *ks_cpu_create(int threads, enum ks_isa isa, struct ks_error *err)
{
    const struct ks_ops *ops = ks_isa_ops(isa);
    if (!ops) {
        ks_fail(err, KS_UNSUPPORTED, "the %s kernels are not built into this program",
                ks_isa_name(isa));
        return NULL;
    }
    struct ks_cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu) {
        ks_fail_memory(err, sizeof *cpu, "the kernels");
        return NULL;
    }
    cpu->isa = isa;
    cpu->ops = ops;
    cpu->pool = ks_pool_create(threads, err);
    if (!cpu->pool || create_scratch(cpu, threads, err)) {
        ks_cpu_destroy(cpu);
        return NULL;
    }
    return cpu;
}

void ks_cpu_destroy(struct ks_cpu *cpu)
{
    if (!cpu)
        return;
    for (int i = 0; cpu->workers && i < ks_pool_threads(cpu->pool); i++) {
        free(cpu->workers[i].panel);
        free(cpu->workers[i].rows);
    }
    free(cpu->workers);
    free(cpu->attend.floats);
    free(cpu->spaced.floats);
    free(cpu->rounded.floats);
    ks_pool_destroy(cpu->pool);
    free(cpu);
}

struct ks_pool *ks_cpu_pool(struct ks_cpu *cpu)
{
    return cpu->pool;
}

/* One thread's trial, on a cache line of its own. */
struct spin {
    _Alignas(64) const struct ks_ops *ops;
    double flops_s;
    float result; /* so that nobody leaves the work out */
};

static double thread_seconds(void)
{
    struct timespec ran;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return (double)ran.tv_sec + (double)ran.tv_nsec * 1e-9;
}

static void spin_one(void *ctx, size_t i, int worker)
{
    (void)worker;
    enum { ROUNDS = 50000 };
    struct spin *s = (struct spin *)ctx + i;
    double begin = thread_seconds();
    s->result = s->ops->spin(ROUNDS);
    double took = thread_seconds() - begin;
    s->flops_s = took > 0 ? 2.0 * (double)s->ops->fmas * ROUNDS / took : 0;
}

double ks_cpu_peak(struct ks_cpu *cpu, int threads)
{
    enum { TRIES = 20, MOST = 1024 };
    struct spin *spins = (void *)cpu->workers[0].panel;
    _Static_assert(MOST * sizeof *spins <= KS_BLOCK_K * 16 * sizeof(float), "it has the room");
    double best = 0;
    size_t n = threads < MOST ? (size_t)threads : MOST;
    for (int try = 0; try < TRIES; try++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            spins[i].ops = cpu->ops;
        ks_pool_for(cpu->pool, n, spin_one, spins);
        for (size_t i = 0; i < n; i++)
            sum += spins[i].flops_s;
        best = sum > best ? sum : best;
    }
    return best;
}

enum ks_isa ks_cpu_isa(const struct ks_cpu *cpu)
{
    return cpu->isa;
}

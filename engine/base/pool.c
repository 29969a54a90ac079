/*
 * A loop is open or closed. The caller opens it, raises `generation`, takes indices itself until
 * they are out, closes it and waits for those who entered. `gate` holds the closed bit and how many
 * are inside; entering an open gate is a compare-and-swap, so a worker that comes late finds the
 * loop closed and nobody waits for it. Hence `ctx` may live on the caller's stack, and a worker
 * that the system leaves asleep costs its help, not its delay.
 *
 * Both sides spin for some microseconds before they sleep: a forward pass is hundreds of short
 * loops, and waking a thread costs as much as a small one takes. Whoever is about to sleep says so
 * (`sleepers`, `waiting`) before it looks a last time, and whoever changes what it looks at reads
 * that afterwards; all of these are sequentially consistent, so one of the two sees the other.
 */
#include "engine/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/bytes.h"

#define WORKER_NICE 10

struct worker {
    struct ks_pool *pool;
    int index;
    pthread_t thread;
};

struct ks_pool {
    int n_threads;
    struct worker *workers; /* n_threads - 1 of them; worker 0 is the caller */
    int n_started;

    /* The loop, written while the gate is closed and nobody inside. */
    size_t n;
    void (*run)(void *ctx, size_t i, int worker);
    void *ctx;
    _Alignas(64) atomic_size_t next;
    _Alignas(64) atomic_uint gate;
    atomic_ulong generation;
    atomic_bool quit;

    pthread_mutex_t lock;
    pthread_cond_t work, done;
    atomic_int sleepers; /* workers in or about to enter a wait for work */
    atomic_bool waiting; /* the caller in or about to enter a wait for the gate */
};

#define CLOSED 0x80000000u
#define SPINS  1000 /* of some ten nanoseconds */

static void spin_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void take_indices(struct ks_pool *pool, int worker)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->n)
            return;
        pool->run(pool->ctx, i, worker);
    }
}

static bool enter(struct ks_pool *pool)
{
    unsigned gate = atomic_load(&pool->gate);
    while (!(gate & CLOSED))
        if (atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1))
            return true;
    return false;
}

static void leave(struct ks_pool *pool)
{
    if (atomic_fetch_sub(&pool->gate, 1) - 1 != CLOSED || !atomic_load(&pool->waiting))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

/* Returns the generation that differs from seen. */
static unsigned long await_work(struct ks_pool *pool, unsigned long seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->generation) != seen)
            return atomic_load(&pool->generation);
        spin_a_little();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->work, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
    return atomic_load(&pool->generation);
}

static void await_empty(struct ks_pool *pool)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->gate) == CLOSED)
            return;
        spin_a_little();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waiting, true);
    while (atomic_load(&pool->gate) != CLOSED)
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->waiting, false);
    pthread_mutex_unlock(&pool->lock);
}

/* Makes every worker look. */
static void announce(struct ks_pool *pool)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct ks_pool *pool = w->pool;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), WORKER_NICE);
    unsigned long seen = 0;
    for (;;) {
        seen = await_work(pool, seen);
        if (atomic_load(&pool->quit))
            return NULL;
        if (!enter(pool))
            continue;
        take_indices(pool, w->index);
        leave(pool);
    }
}

struct ks_pool *ks_pool_create(int n_threads, struct ks_error *err)
{
    if (n_threads < 1) {
        ks_fail(err, KS_BAD_INPUT, "threads must be 1 or more, not %d", n_threads);
        return NULL;
    }
    struct ks_pool *pool = ks_alloc_aligned(1, sizeof *pool);
    struct worker *workers = calloc((size_t)n_threads, sizeof *workers);
    if (!pool || !workers) {
        free(pool);
        free(workers);
        ks_fail_memory(err, (size_t)n_threads * sizeof *workers, "the thread pool");
        return NULL;
    }
    pool->n_threads = n_threads;
    pool->workers = workers;
    atomic_store(&pool->gate, CLOSED);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int i = 0; i < n_threads - 1; i++) {
        workers[i] = (struct worker){.pool = pool, .index = i + 1};
        int failed = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
        if (failed) {
            ks_fail(err, KS_SYSTEM,
                    "cannot start thread %d of %d: %s; ask for fewer with --threads", i + 1,
                    n_threads, strerror(failed));
            ks_pool_destroy(pool);
            return NULL;
        }
        pool->n_started++;
    }
    return pool;
}

void ks_pool_destroy(struct ks_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->quit, true);
    announce(pool);
    for (int i = 0; i < pool->n_started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

int ks_pool_threads(const struct ks_pool *pool)
{
    return pool->n_threads;
}

void ks_pool_for(struct ks_pool *pool, size_t n, void (*run)(void *ctx, size_t i, int worker),
                 void *ctx)
{
    if (n == 0)
        return;
    if (n == 1 || pool->n_started == 0) {
        for (size_t i = 0; i < n; i++)
            run(ctx, i, 0);
        return;
    }
    pool->run = run;
    pool->ctx = ctx;
    pool->n = n;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store(&pool->gate, 0);
    announce(pool);
    take_indices(pool, 0);
    atomic_fetch_or(&pool->gate, CLOSED);
    await_empty(pool);
}

/* cgroup v2: "MAX PERIOD" or "max PERIOD" in microseconds. 0 where there is no limit. */
static int cgroup_cpus(void)
{
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!f)
        return 0;
    long quota, period;
    int got = fscanf(f, "%ld %ld", &quota, &period);
    fclose(f);
    if (got != 2 || quota <= 0 || period <= 0)
        return 0;
    return (int)((quota + period - 1) / period);
}

int ks_threads_allowed(void)
{
    cpu_set_t set;
    int n = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    int limit = cgroup_cpus();
    if (limit > 0 && limit < n)
        n = limit;
    return n < 1 ? 1 : n;
}

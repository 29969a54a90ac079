/*
 * One mutex, two conditions. A loop is published by raising `generation`; a worker that sees a new
 * generation takes indices from the atomic counter until it passes n, then reports itself done. The
 * caller waits until every worker that joined this generation has left it, so `ctx` may live on the
 * caller's stack.
 */
#include "engine/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    uint64_t generation;
    int busy;
    bool quit;
    atomic_size_t next;
    size_t n;
    void (*run)(void *ctx, size_t i, int worker);
    void *ctx;
};

static void take_indices(struct ks_pool *pool, int worker)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->n)
            return;
        pool->run(pool->ctx, i, worker);
    }
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct ks_pool *pool = w->pool;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), WORKER_NICE);
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->quit && pool->generation == seen)
            pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->quit)
            break;
        seen = pool->generation;
        pthread_mutex_unlock(&pool->lock);
        take_indices(pool, w->index);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct ks_pool *ks_pool_create(int n_threads, struct ks_error *err)
{
    if (n_threads < 1) {
        ks_fail(err, KS_BAD_INPUT, "threads must be 1 or more, not %d", n_threads);
        return NULL;
    }
    struct ks_pool *pool = calloc(1, sizeof *pool);
    struct worker *workers = calloc((size_t)n_threads, sizeof *workers);
    if (!pool || !workers) {
        free(pool);
        free(workers);
        ks_fail_memory(err, (size_t)n_threads * sizeof *workers, "the thread pool");
        return NULL;
    }
    pool->n_threads = n_threads;
    pool->workers = workers;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int i = 0; i < n_threads - 1; i++) {
        workers[i] = (struct worker){.pool = pool, .index = i + 1};
        int failed = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
        if (failed) {
            ks_fail(err, KS_SYSTEM,
                    "cannot start thread %d of %d (error %d); ask for fewer with "
                    "--threads",
                    i + 1, n_threads, failed);
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
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
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
    pthread_mutex_lock(&pool->lock);
    pool->run = run;
    pool->ctx = ctx;
    pool->n = n;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->busy = pool->n_started;
    pool->generation++;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    take_indices(pool, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
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

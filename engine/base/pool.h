/*
 * A pool of worker threads for loops whose iterations write disjoint outputs.
 *
 * ks_pool_for hands out the indices 0..n-1 one at a time, in order, to whoever is free; the caller
 * works too, as worker 0. Which worker takes an index is luck, so an iteration may use its worker
 * number only to pick scratch memory, never in a way that a result can show.
 *
 * Workers run at nice 10 so that a screen beside them stays smooth, and sleep on a condition
 * variable between loops. One loop at a time: ks_pool_for is not to be called from two threads at
 * once, nor from inside an iteration.
 */
#ifndef KS_ENGINE_BASE_POOL_H
#define KS_ENGINE_BASE_POOL_H

#include <stddef.h>

#include "engine/base/error.h"

struct ks_pool;

/* Creates a pool of n_threads (>= 1, the calling thread included). Free with ks_pool_destroy. */
struct ks_pool *ks_pool_create(int n_threads, struct ks_error *err);
void ks_pool_destroy(struct ks_pool *pool); /* accepts NULL */

int ks_pool_threads(const struct ks_pool *pool);

/* Calls run(ctx, i, worker) for every i in 0..n-1, worker in 0..threads-1; returns when all are
 * done. Everything an iteration wrote is visible to the caller then. */
void ks_pool_for(struct ks_pool *pool, size_t n, void (*run)(void *ctx, size_t i, int worker),
                 void *ctx);

/* The number of threads that cgroup limits and CPU affinity allow this process; at least 1. */
int ks_threads_allowed(void);

#endif

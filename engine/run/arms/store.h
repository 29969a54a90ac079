/*
 * The store: tensor data that arms share. Equal content exists once, so that equal tensors have
 * equal pointers and the tree of arms can tell what is common by comparing them.
 *
 * One thread at a time; quantizing uses the pool. What it returns lives until ks_store_destroy.
 */
#ifndef KS_ENGINE_RUN_ARMS_STORE_H
#define KS_ENGINE_RUN_ARMS_STORE_H

#include "engine/base/bytes.h"
#include "engine/base/pool.h"
#include "engine/cache/cache.h"
#include "engine/quant/recode.h"

struct ks_store;

/* cache: where made tensors are kept and found again, borrowed; NULL: nowhere. */
struct ks_store *ks_store_create(struct ks_cache *cache, struct ks_error *err);
void ks_store_destroy(struct ks_store *s); /* accepts NULL */

/* Lends the store a tensor that lives elsewhere (a mapped file) at least as long as the store.
 * m->data becomes the pointer of an equal tensor lent or made before, if there is one. */
int ks_store_intern(struct ks_store *s, struct ks_matrix *m, struct ks_error *err);

/* *out = source quantized to type, by importance where there is one (or NULL) and the type heeds
 * it: made now, or found here or in the cache. Refuses weights that
 * the type cannot hold, as ks_recode (the caller adds the tensor's name). */
int ks_store_quantize(struct ks_store *s, struct ks_pool *pool, const struct ks_matrix *source,
                      enum ks_type type, const struct ks_importance *importance,
                      struct ks_matrix *out, struct ks_error *err);

/* Of the data of m, which the store knows already where it was interned or made here. */
struct ks_hash ks_store_hash(const struct ks_store *s, const struct ks_matrix *m);

/* The tensors that were quantized: their bytes, and how many were made now and found in the cache.
 */
struct ks_store_tally {
    uint64_t bytes;
    size_t made, found;
};
struct ks_store_tally ks_store_tally(const struct ks_store *s);

#endif

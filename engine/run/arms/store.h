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
#include "engine/quant/type.h"

struct ks_store;

struct ks_store *ks_store_create(struct ks_error *err);
void ks_store_destroy(struct ks_store *s); /* accepts NULL */

/* Lends the store a tensor that lives elsewhere (a mapped file) at least as long as the store.
 * m->data becomes the pointer of an equal tensor lent or made before, if there is one. */
int ks_store_intern(struct ks_store *s, struct ks_matrix *m, struct ks_error *err);

/* *out = source quantized to type, made now or found. Refuses weights that the type cannot
 * hold, as ks_recode (the caller adds the tensor's name). */
int ks_store_quantize(struct ks_store *s, struct ks_pool *pool, const struct ks_matrix *source,
                      enum ks_type type, struct ks_matrix *out, struct ks_error *err);

uint64_t ks_store_bytes(const struct ks_store *s); /* of the tensors it made and owns */

#endif

/*
 * A hash index from strings to ids. The strings stay the caller's and must outlive it.
 *
 * Immutable once filled; any thread may look up.
 */
#ifndef KS_ENGINE_TEXT_VOCAB_INDEX_H
#define KS_ENGINE_TEXT_VOCAB_INDEX_H

#include "engine/base/error.h"
#include "engine/gguf/gguf.h"

struct ks_index_slot {
    uint32_t tag;
    int32_t id; /* -1: empty */
};

/* Zero-initialize; ks_index_create gives it room for n strings. */
struct ks_index {
    const struct ks_str *strings; /* by id */
    struct ks_index_slot *slots;
    size_t mask;
};

int ks_index_create(struct ks_index *x, const struct ks_str *strings, size_t n,
                    struct ks_error *err);
void ks_index_finish(struct ks_index *x);

/* Adds strings[id]; returns id, or the id of an equal string that was there before. */
int32_t ks_index_add(struct ks_index *x, int32_t id);

/* The id of a string, -1 where there is none. */
int32_t ks_index_find(const struct ks_index *x, const char *bytes, size_t len);

#endif

/* The object behind imatrix.h, for those who fill it. Private to engine/imatrix. */
#ifndef KS_ENGINE_IMATRIX_OBJECT_H
#define KS_ENGINE_IMATRIX_OBJECT_H

#include <stdatomic.h>

#include "engine/gguf/parse.h"
#include "engine/imatrix/imatrix.h"

struct ks_imatrix_entry {
    char *name;     /* of a tensor */
    float *weights; /* (n), finite, >= 0 */
    uint64_t n;
};

struct ks_imatrix {
    atomic_int references;
    char *shown;
    struct ks_imatrix_entry *entries; /* (n), sorted by name once complete */
    size_t n, cap;
    struct ks_hash hash;
    char *dataset; /* NULL: not told */
    uint32_t chunks;
};

/* Appends an entry with room for n weights, which the caller fills; NULL with *err. */
struct ks_imatrix_entry *ks_imatrix_add(struct ks_imatrix *m, const char *name, uint64_t n,
                                        struct ks_error *err);

/* Keeps what was told of the text; a name is cut where it holds a NUL. */
int ks_imatrix_tell(struct ks_imatrix *m, struct ks_str dataset, uint32_t chunks,
                    struct ks_error *err);

/* Fill m from a file in either form; messages begin with m->shown. */
int ks_imatrix_read_gguf(struct ks_imatrix *m, const struct ks_gguf *g, struct ks_error *err);
int ks_imatrix_read_old(struct ks_imatrix *m, const uint8_t *bytes, uint64_t len,
                        struct ks_error *err);

#endif

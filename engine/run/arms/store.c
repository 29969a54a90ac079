/*
 * Entries are kept in one list that is searched front to back: a run has hundreds of tensors times
 * a few types, and each look-up stands beside a hash over megabytes. Two keys lead to an entry: the
 * content (hash, type, shape), and for what was made here also the source pointer, type and
 * importance, so that a second arm of the same preset makes nothing.
 *
 * What the cache keeps is used from there, so that it takes no memory that the system could not
 * have back.
 */
#include "engine/run/arms/store.h"

#include <stdlib.h>

#include "engine/quant/encode/encode.h"

struct entry {
    struct ks_matrix matrix;
    struct ks_hash hash;
    const uint8_t *source;  /* what it was made from; NULL for a tensor lent to us */
    struct ks_hash weights; /* of the importance it was made by */
    uint8_t *owned;         /* its memory, or */
    struct ks_cached cached;
};

struct ks_store {
    struct ks_encoders *encoders;
    struct entry *entries;
    size_t n, cap;
    struct ks_cache *cache;
    struct ks_store_tally tally;
};

struct ks_store *ks_store_create(struct ks_cache *cache, struct ks_error *err)
{
    struct ks_store *s = calloc(1, sizeof *s);
    if (!s) {
        ks_fail_memory(err, sizeof *s, "the tensor store");
        return NULL;
    }
    s->cache = cache;
    s->encoders = ks_encoders_create(err);
    if (s->encoders)
        return s;
    free(s);
    return NULL;
}

static void entry_finish(struct entry *e)
{
    free(e->owned);
    ks_cached_release(&e->cached);
}

void ks_store_destroy(struct ks_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        entry_finish(&s->entries[i]);
    ks_encoders_destroy(s->encoders);
    free(s->entries);
    free(s);
}

struct ks_store_tally ks_store_tally(const struct ks_store *s)
{
    return s->tally;
}

static bool matrix_bytes(const struct ks_matrix *m, uint64_t *bytes)
{
    uint64_t row;
    return ks_type_row_bytes(m->type, m->cols, &row) && ks_mul_u64(row, m->rows, bytes);
}

static bool same_shape(const struct ks_matrix *a, const struct ks_matrix *b)
{
    return a->type == b->type && a->rows == b->rows && a->cols == b->cols;
}

static int add_entry(struct ks_store *s, const struct entry *e, struct ks_error *err)
{
    struct entry *entries =
        ks_grow(s->entries, &s->cap, s->n, sizeof *entries, "the tensor store", err);
    if (!entries)
        return -1;
    s->entries = entries;
    entries[s->n++] = *e;
    return 0;
}

static const struct entry *find_equal(const struct ks_store *s, const struct ks_matrix *m,
                                      struct ks_hash hash, uint64_t bytes)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct entry *e = &s->entries[i];
        if (same_shape(&e->matrix, m) && ks_hash_equal(e->hash, hash) &&
            memcmp(e->matrix.data, m->data, bytes) == 0)
            return e;
    }
    return NULL;
}

static const struct entry *find_known(const struct ks_store *s, const struct ks_matrix *m)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].matrix.data == m->data && same_shape(&s->entries[i].matrix, m))
            return &s->entries[i];
    return NULL;
}

struct ks_hash ks_store_hash(const struct ks_store *s, const struct ks_matrix *m)
{
    const struct entry *known = find_known(s, m);
    uint64_t bytes = 0;
    if (known)
        return known->hash;
    matrix_bytes(m, &bytes);
    return ks_hash_bytes(m->data, bytes);
}

int ks_store_intern(struct ks_store *s, struct ks_matrix *m, struct ks_error *err)
{
    uint64_t bytes;
    if (find_known(s, m))
        return 0;
    if (!matrix_bytes(m, &bytes))
        return ks_fail(err, KS_INTERNAL, "a tensor of an impossible shape reached the store");
    struct ks_hash hash = ks_hash_bytes(m->data, bytes);
    const struct entry *found = find_equal(s, m, hash, bytes);
    if (found) {
        m->data = found->matrix.data;
        return 0;
    }
    return add_entry(s, &(struct entry){.matrix = *m, .hash = hash}, err);
}

/* What is to be made. */
struct wish {
    const struct ks_matrix *source;
    enum ks_type type;
    const struct ks_importance *importance; /* NULL where the type doesn't heed it */
    struct ks_hash weights;                 /* of the importance; zero without */
};

static struct wish wish_for(const struct ks_matrix *source, enum ks_type type,
                            const struct ks_importance *importance)
{
    struct wish w = {.source = source, .type = type};
    if (importance && ks_type_info(type)->weighing != KS_UNWEIGHED) {
        w.importance = importance;
        w.weights = ks_hash_bytes(importance->weights, importance->slices * (size_t)source->cols *
                                                           sizeof *importance->weights);
    }
    return w;
}

static const struct entry *find_made(const struct ks_store *s, const struct wish *w)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct entry *e = &s->entries[i];
        if (e->source == w->source->data && e->matrix.type == w->type &&
            e->matrix.rows == w->source->rows && e->matrix.cols == w->source->cols &&
            ks_hash_equal(e->weights, w->weights))
            return e;
    }
    return NULL;
}

/* All that decides the bytes that quantizing makes. */
static struct ks_hash cache_key(const struct ks_store *s, const struct wish *w)
{
    const uint64_t how[] = {w->source->type, w->source->rows, w->source->cols, w->type,
                            KS_ENCODING_VERSION};
    struct ks_hash key = ks_hash_join(ks_store_hash(s, w->source), ks_hash_bytes(how, sizeof how));
    return w->importance ? ks_hash_join(key, w->weights) : key;
}

static void use_cached(struct entry *e, const struct ks_cached *cached)
{
    free(e->owned);
    e->owned = NULL;
    e->cached = *cached;
    e->hash = cached->hash;
    e->matrix.data = cached->data;
}

static int make(struct ks_store *s, struct ks_pool *pool, const struct wish *w, uint64_t bytes,
                struct entry *e, struct ks_error *err)
{
    const struct ks_recode how = {pool, s->encoders, w->importance};
    e->owned = ks_alloc_aligned(bytes, 1);
    if (!e->owned)
        return ks_fail_memory(err, bytes, "a quantized tensor");
    e->matrix.data = e->owned;
    if (ks_recode(&how, w->source, w->type, e->owned, err))
        return -1;
    e->hash = ks_hash_bytes(e->owned, bytes);
    return 0;
}

/* From the cache, or made and kept there. */
static int find_or_make(struct ks_store *s, struct ks_pool *pool, const struct wish *w,
                        uint64_t bytes, struct entry *e, struct ks_error *err)
{
    struct ks_hash key = s->cache ? cache_key(s, w) : (struct ks_hash){0};
    struct ks_cached cached;
    if (ks_cache_find(s->cache, key, bytes, &cached)) {
        use_cached(e, &cached);
        s->tally.found++;
        return 0;
    }
    if (make(s, pool, w, bytes, e, err))
        return -1;
    s->tally.made++;
    if (ks_cache_keep(s->cache, key, e->owned, bytes, e->hash) &&
        ks_cache_find(s->cache, key, bytes, &cached))
        use_cached(e, &cached);
    return 0;
}

int ks_store_quantize(struct ks_store *s, struct ks_pool *pool, const struct ks_matrix *source,
                      enum ks_type type, const struct ks_importance *importance,
                      struct ks_matrix *out, struct ks_error *err)
{
    struct wish w = wish_for(source, type, importance);
    const struct entry *made = find_made(s, &w);
    if (made) {
        *out = made->matrix;
        return 0;
    }
    struct entry e = {.matrix = {.type = type, .rows = source->rows, .cols = source->cols},
                      .source = source->data,
                      .weights = w.weights};
    uint64_t bytes;
    if (!matrix_bytes(&e.matrix, &bytes))
        return ks_fail(err, KS_INTERNAL, "a shape that type %s cannot hold reached the quantizer",
                       ks_type_info(type)->name);
    if (find_or_make(s, pool, &w, bytes, &e, err) || add_entry(s, &e, err)) {
        entry_finish(&e);
        return -1;
    }
    s->tally.bytes += bytes;
    *out = e.matrix;
    return 0;
}

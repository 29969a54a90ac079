#include "engine/imatrix/imatrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/imatrix/object.h"

static struct ks_imatrix *create(const char *shown, struct ks_error *err)
{
    struct ks_imatrix *m = calloc(1, sizeof *m);
    if (m)
        m->shown = strdup(shown);
    if (!m || !m->shown) {
        free(m);
        ks_fail_memory(err, sizeof *m, "an importance matrix");
        return NULL;
    }
    atomic_init(&m->references, 1);
    return m;
}

struct ks_imatrix *ks_imatrix_ref(struct ks_imatrix *m)
{
    atomic_fetch_add(&m->references, 1);
    return m;
}

void ks_imatrix_unref(struct ks_imatrix *m)
{
    if (!m || atomic_fetch_sub(&m->references, 1) > 1)
        return;
    for (size_t i = 0; i < m->n; i++) {
        free(m->entries[i].name);
        free(m->entries[i].weights);
    }
    free(m->entries);
    free(m->dataset);
    free(m->shown);
    free(m);
}

struct ks_imatrix_entry *ks_imatrix_add(struct ks_imatrix *m, const char *name, uint64_t n,
                                        struct ks_error *err)
{
    struct ks_imatrix_entry *entries =
        ks_grow(m->entries, &m->cap, m->n, sizeof *entries, "an importance matrix", err);
    if (!entries)
        return NULL;
    m->entries = entries;
    struct ks_imatrix_entry e = {.name = strdup(name), .n = n};
    e.weights = ks_alloc_aligned((size_t)n, sizeof *e.weights);
    if (!e.name || !e.weights) {
        free(e.name);
        free(e.weights);
        ks_fail_memory(err, n * sizeof *e.weights, "an importance matrix");
        return NULL;
    }
    entries[m->n++] = e;
    return &entries[m->n - 1];
}

int ks_imatrix_tell(struct ks_imatrix *m, struct ks_str dataset, uint32_t chunks,
                    struct ks_error *err)
{
    m->chunks = chunks;
    m->dataset = strndup(dataset.bytes, dataset.len);
    return m->dataset ? 0 : ks_fail_memory(err, dataset.len + 1, "an importance matrix");
}

/* ------------------------------------------------------------------ completing */

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct ks_imatrix_entry *)a)->name,
                  ((const struct ks_imatrix_entry *)b)->name);
}

static int check_weights(const struct ks_imatrix *m, const struct ks_imatrix_entry *e,
                         struct ks_error *err)
{
    for (uint64_t i = 0; i < e->n; i++)
        if (!(isfinite(e->weights[i]) && e->weights[i] >= 0))
            return ks_fail(
                err, KS_BAD_INPUT,
                "%s: tensor %s: column %llu weighs %g, which no mean of squares is; make "
                "the importance matrix anew",
                m->shown, e->name, (unsigned long long)i, (double)e->weights[i]);
    return 0;
}

static struct ks_hash hash_entry(const struct ks_imatrix_entry *e)
{
    return ks_hash_join(ks_hash_bytes(e->name, strlen(e->name)),
                        ks_hash_bytes(e->weights, (size_t)e->n * sizeof *e->weights));
}

static int complete(struct ks_imatrix *m, struct ks_error *err)
{
    if (m->n == 0)
        return ks_fail(err, KS_BAD_INPUT, "%s: an importance matrix without any tensor", m->shown);
    qsort(m->entries, m->n, sizeof *m->entries, compare_entries);
    for (size_t i = 0; i < m->n; i++) {
        if (i > 0 && compare_entries(&m->entries[i - 1], &m->entries[i]) == 0)
            return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is there twice", m->shown,
                           m->entries[i].name);
        if (check_weights(m, &m->entries[i], err))
            return -1;
        m->hash = ks_hash_join(m->hash, hash_entry(&m->entries[i]));
    }
    return 0;
}

/* ------------------------------------------------------------------ opening */

static bool is_gguf(const uint8_t *bytes, uint64_t len)
{
    return len >= 4 && memcmp(bytes, "GGUF", 4) == 0;
}

static int read_opened(struct ks_imatrix *m, struct ks_gguf *g, struct ks_error *err)
{
    int failed = g ? ks_imatrix_read_gguf(m, g, err) : -1;
    ks_gguf_close(g);
    return failed;
}

static int read_file(struct ks_imatrix *m, const char *path, struct ks_error *err)
{
    struct ks_map map;
    if (ks_map_open(&map, path, err))
        return -1;
    int failed = is_gguf(map.bytes, map.len) ? read_opened(m, ks_gguf_open(path, err), err)
                                             : ks_imatrix_read_old(m, map.bytes, map.len, err);
    ks_map_close(&map);
    return failed;
}

static struct ks_imatrix *finish_opening(struct ks_imatrix *m, int failed, struct ks_error *err)
{
    if (!failed && complete(m, err) == 0)
        return m;
    ks_imatrix_unref(m);
    return NULL;
}

struct ks_imatrix *ks_imatrix_open(const char *path, const char *shown, struct ks_error *err)
{
    struct ks_imatrix *m = create(shown ? shown : path, err);
    return m ? finish_opening(m, read_file(m, path, err), err) : NULL;
}

struct ks_imatrix *ks_imatrix_parse(const char *shown, const uint8_t *bytes, size_t len,
                                    struct ks_error *err)
{
    struct ks_imatrix *m = create(shown, err);
    if (!m)
        return NULL;
    int failed = is_gguf(bytes, len)
                     ? read_opened(m, ks_gguf_open_memory(shown, bytes, len, err), err)
                     : ks_imatrix_read_old(m, bytes, len, err);
    return finish_opening(m, failed, err);
}

/* ------------------------------------------------------------------ what it holds */

const char *ks_imatrix_shown(const struct ks_imatrix *m)
{
    return m->shown;
}

const char *ks_imatrix_dataset(const struct ks_imatrix *m)
{
    return m->dataset ? m->dataset : "";
}

uint32_t ks_imatrix_chunks(const struct ks_imatrix *m)
{
    return m->chunks;
}

struct ks_hash ks_imatrix_hash(const struct ks_imatrix *m)
{
    return m->hash;
}

size_t ks_imatrix_n(const struct ks_imatrix *m)
{
    return m->n;
}

const char *ks_imatrix_name(const struct ks_imatrix *m, size_t i)
{
    return m->entries[i].name;
}

int ks_imatrix_find(const struct ks_imatrix *m, const char *tensor, uint64_t cols,
                    uint64_t matrices, struct ks_importance *out, struct ks_error *err)
{
    const struct ks_imatrix_entry key = {.name = (char *)(uintptr_t)tensor};
    const struct ks_imatrix_entry *e =
        bsearch(&key, m->entries, m->n, sizeof *m->entries, compare_entries);
    uint64_t wanted;
    if (!e)
        return 0;
    if (!ks_mul_u64(cols, matrices, &wanted) || e->n != wanted) {
        if (strcmp(tensor, "token_embd.weight") == 0)
            return 0;
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: tensor %s has %llu weights where the model's has %llu columns; the "
                       "importance matrix was made from another model",
                       m->shown, tensor, (unsigned long long)e->n,
                       (unsigned long long)(cols * matrices));
    }
    *out = (struct ks_importance){.weights = e->weights, .slices = (size_t)matrices};
    return 1;
}

/*
 * The object: its parts, their tensors as one list, and the index by name.
 */
#include "engine/gguf/gguf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/gguf/parse.h"

struct ks_gguf {
    char *path;
    struct ks_part *parts; /* (n_parts), at least one */
    uint32_t n_parts;
    struct ks_gguf_tensor *tensors; /* (n_tensors) copies; the names stay the parts' */
    size_t n_tensors;
    const struct ks_gguf_tensor **by_name; /* (n_tensors) sorted */
};

static int compare_names(const void *a, const void *b)
{
    const struct ks_gguf_tensor *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static int check_duplicates(const struct ks_gguf *g, struct ks_error *err)
{
    for (size_t i = 1; i < g->n_tensors; i++) {
        const struct ks_gguf_tensor *a = g->by_name[i - 1], *b = g->by_name[i];
        char shown[KS_SHOWN_SIZE];
        if (strcmp(a->name, b->name) == 0)
            return ks_fail(err, KS_BAD_INPUT,
                           "%s: tensor %s is there twice (data at bytes %llu and %llu of parts %u "
                           "and %u); " KS_GGUF_DAMAGED,
                           g->parts[b->part].path, ks_shown(b->name, strlen(b->name), shown),
                           (unsigned long long)a->offset, (unsigned long long)b->offset,
                           a->part + 1, b->part + 1);
    }
    return 0;
}

/* Makes one list of all parts' tensors. */
static int join(struct ks_gguf *g, struct ks_error *err)
{
    size_t n = 0;
    for (uint32_t p = 0; p < g->n_parts; p++)
        n += g->parts[p].tensors.n;
    g->tensors = calloc(n ? n : 1, sizeof *g->tensors);
    g->by_name = calloc(n ? n : 1, sizeof *g->by_name);
    if (!g->tensors || !g->by_name)
        return ks_fail_memory(err, n * (sizeof *g->tensors + sizeof *g->by_name),
                              "the tensor list");
    for (uint32_t p = 0; p < g->n_parts; p++) {
        for (size_t i = 0; i < g->parts[p].tensors.n; i++) {
            struct ks_gguf_tensor *t = &g->tensors[g->n_tensors];
            *t = g->parts[p].tensors.items[i];
            t->part = p;
            g->by_name[g->n_tensors++] = t;
        }
    }
    qsort(g->by_name, n, sizeof *g->by_name, compare_names);
    return check_duplicates(g, err);
}

static struct ks_gguf *create(const char *path, struct ks_error *err)
{
    struct ks_gguf *g = calloc(1, sizeof *g);
    char *copy = malloc(strlen(path) + 1);
    if (!g || !copy) {
        free(g);
        free(copy);
        ks_fail_memory(err, sizeof *g + strlen(path) + 1, "a GGUF file's description");
        return NULL;
    }
    strcpy(copy, path);
    g->path = copy;
    return g;
}

struct ks_gguf *ks_gguf_open(const char *path, struct ks_error *err)
{
    struct ks_gguf *g = create(path, err);
    if (!g)
        return NULL;
    if (ks_split_open(path, &g->parts, &g->n_parts, err) || join(g, err)) {
        ks_gguf_close(g);
        return NULL;
    }
    return g;
}

static int open_lent(struct ks_gguf *g, const void *bytes, size_t len, struct ks_error *err)
{
    uint32_t no, count;
    g->parts = calloc(1, sizeof *g->parts);
    if (!g->parts)
        return ks_fail_memory(err, sizeof *g->parts, "a GGUF file's description");
    g->n_parts = 1;
    if (ks_part_open_memory(g->parts, g->path, bytes, len, err) ||
        ks_split_place(g->parts, &no, &count, err))
        return -1;
    if (count > 1)
        return ks_fail(err, KS_UNSUPPORTED, "%s: is part of a split, open it from a file", g->path);
    return join(g, err);
}

struct ks_gguf *ks_gguf_open_memory(const char *name, const void *bytes, size_t len,
                                    struct ks_error *err)
{
    struct ks_gguf *g = create(name, err);
    if (!g)
        return NULL;
    if (open_lent(g, bytes, len, err)) {
        ks_gguf_close(g);
        return NULL;
    }
    return g;
}

void ks_gguf_close(struct ks_gguf *g)
{
    if (!g)
        return;
    free(g->by_name);
    free(g->tensors);
    for (uint32_t p = 0; p < g->n_parts; p++)
        ks_part_close(&g->parts[p]);
    free(g->parts);
    free(g->path);
    free(g);
}

const char *ks_gguf_path(const struct ks_gguf *g)
{
    return g->path;
}

uint32_t ks_gguf_version(const struct ks_gguf *g)
{
    return g->parts[0].version;
}

uint64_t ks_gguf_file_bytes(const struct ks_gguf *g)
{
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < g->n_parts; p++)
        bytes += g->parts[p].map.len;
    return bytes;
}

size_t ks_gguf_n_tensors(const struct ks_gguf *g)
{
    return g->n_tensors;
}

const struct ks_gguf_tensor *ks_gguf_tensor(const struct ks_gguf *g, size_t i)
{
    assert(i < g->n_tensors);
    return &g->tensors[i];
}

static int compare_to_name(const void *name, const void *item)
{
    const struct ks_gguf_tensor *const *tensor = item;
    return strcmp(name, (*tensor)->name);
}

const struct ks_gguf_tensor *ks_gguf_find_tensor(const struct ks_gguf *g, const char *name)
{
    const struct ks_gguf_tensor **found =
        bsearch(name, g->by_name, g->n_tensors, sizeof *g->by_name, compare_to_name);
    return found ? *found : NULL;
}

size_t ks_gguf_n_values(const struct ks_gguf *g)
{
    return g->parts[0].values.n;
}

const struct ks_gguf_value *ks_gguf_value(const struct ks_gguf *g, size_t i)
{
    assert(i < g->parts[0].values.n);
    return &g->parts[0].values.items[i];
}

const struct ks_gguf_value *ks_gguf_find(const struct ks_gguf *g, const char *key)
{
    return ks_values_find(&g->parts[0].values, key);
}

const struct ks_part *ks_gguf_first_part(const struct ks_gguf *g)
{
    return &g->parts[0];
}

/*
 * The tensor list, and whether each tensor's bytes are where the list says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/gguf/parse.h"
#include "engine/quant/type.h"

/* The least an entry can take: a name of one byte with its length, the number of dimensions, one
 * dimension, type, offset. */
enum { LEAST_ENTRY_BYTES = 8 + 1 + 4 + 8 + 4 + 8 };

static int read_dims(struct ks_gguf_tensor *t, struct ks_reader *r, struct ks_error *err)
{
    uint64_t at = r->at;
    if (ks_reader_u32(r, &t->n_dims, "the number of dimensions", err))
        return -1;
    if (t->n_dims < 1 || t->n_dims > 4)
        return ks_reader_fail(
            r, at, err, "%u dimensions where 1 to 4 are possible; " KS_GGUF_DAMAGED, t->n_dims);
    for (uint32_t i = 0; i < 4; i++)
        t->dims[i] = 1;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        at = r->at;
        if (ks_reader_u64(r, &t->dims[i], "a dimension", err))
            return -1;
        if (t->dims[i] == 0)
            return ks_reader_fail(r, at, err, "dimension %u is 0; " KS_GGUF_DAMAGED, i);
    }
    return 0;
}

static int check_type(const struct ks_gguf_tensor *t, const struct ks_reader *r, uint64_t at,
                      struct ks_error *err)
{
    if (ks_type_info(t->type))
        return 0;
    const char *foreign = ks_type_foreign(t->type);
    if (foreign)
        ks_reader_fail(r, at, err,
                       "tensor type %u is %s, which is not supported; use a file with the types "
                       "of upstream llama.cpp",
                       t->type, foreign);
    else
        ks_reader_fail(r, at, err,
                       "tensor type %u is not known; the file is from a fork or a newer program, "
                       "or damaged; use one with the types of upstream llama.cpp",
                       t->type);
    err->code = KS_UNSUPPORTED;
    return -1;
}

/* Sets the size from type and dimensions. */
static int measure(struct ks_gguf_tensor *t, const struct ks_reader *r, uint64_t at,
                   struct ks_error *err)
{
    const struct ks_type_info *info = ks_type_info(t->type);
    uint64_t rows, elements, row_bytes, bytes;
    if (t->dims[0] % info->block_elems != 0)
        return ks_reader_fail(
            r, at, err,
            "rows of %llu elements are no whole number of %s blocks of %u; " KS_GGUF_DAMAGED,
            (unsigned long long)t->dims[0], info->name, info->block_elems);
    if (!ks_mul_u64(t->dims[1], t->dims[2], &rows) || !ks_mul_u64(rows, t->dims[3], &rows) ||
        !ks_mul_u64(rows, t->dims[0], &elements) ||
        !ks_type_row_bytes(info->type, t->dims[0], &row_bytes) ||
        !ks_mul_u64(rows, row_bytes, &bytes))
        return ks_reader_fail(r, at, err,
                              "dimensions %llu x %llu x %llu x %llu multiply to more than 64 bits "
                              "can count; " KS_GGUF_DAMAGED,
                              (unsigned long long)t->dims[0], (unsigned long long)t->dims[1],
                              (unsigned long long)t->dims[2], (unsigned long long)t->dims[3]);
    t->bytes = bytes;
    return 0;
}

static int read_entry(struct ks_tensors *tensors, struct ks_reader *r, struct ks_error *err)
{
    struct ks_gguf_tensor *items =
        ks_grow(tensors->items, &tensors->cap, tensors->n, sizeof *items, "the tensor list", err);
    if (!items)
        return -1;
    tensors->items = items;
    struct ks_gguf_tensor *t = &tensors->items[tensors->n];
    *t = (struct ks_gguf_tensor){0};
    snprintf(r->where, sizeof r->where, "tensor %zu", tensors->n + 1);
    char *name;
    if (ks_reader_name(r, &name, "a tensor's name", err))
        return -1;
    t->name = name;
    tensors->n++; /* from here on ks_tensors_close frees it */
    char shown[KS_SHOWN_SIZE];
    snprintf(r->where, sizeof r->where, "tensor %zu (%s)", tensors->n,
             ks_shown(name, strlen(name), shown));
    uint64_t dims_at = r->at;
    if (read_dims(t, r, err))
        return -1;
    uint64_t type_at = r->at;
    if (ks_reader_u32(r, &t->type, "the type", err) ||
        ks_reader_u64(r, &t->offset, "the offset", err))
        return -1;
    return check_type(t, r, type_at, err) || measure(t, r, dims_at, err) ? -1 : 0;
}

int ks_tensors_read(struct ks_tensors *tensors, struct ks_reader *r, uint64_t count,
                    struct ks_error *err)
{
    if (ks_reader_need_items(r, count, LEAST_ENTRY_BYTES, "tensor entries", err))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (read_entry(tensors, r, err))
            return -1;
    r->where[0] = '\0';
    return 0;
}

static int place_one(struct ks_gguf_tensor *t, const struct ks_reader *r, uint64_t data_start,
                     uint32_t alignment, struct ks_error *err)
{
    char shown[KS_SHOWN_SIZE];
    const char *name = ks_shown(t->name, strlen(t->name), shown);
    if (t->offset % alignment != 0)
        return ks_fail(
            err, KS_BAD_INPUT,
            "%s: tensor %s: offset %llu is no multiple of the alignment %u; " KS_GGUF_DAMAGED,
            r->file, name, (unsigned long long)t->offset, alignment);
    uint64_t start, end;
    if (!ks_add_u64(data_start, t->offset, &start) || !ks_add_u64(start, t->bytes, &end) ||
        end > r->len)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: tensor %s: its %llu bytes at offset %llu of the data, which starts at "
                       "byte %llu, end beyond the file's %llu bytes; " KS_GGUF_DAMAGED,
                       r->file, name, (unsigned long long)t->bytes, (unsigned long long)t->offset,
                       (unsigned long long)data_start, (unsigned long long)r->len);
    t->offset = start;
    t->data = r->bytes + start;
    return 0;
}

static int compare_offsets(const void *a, const void *b)
{
    const struct ks_gguf_tensor *const *left = a, *const *right = b;
    return ((*left)->offset > (*right)->offset) - ((*left)->offset < (*right)->offset);
}

static int check_overlap(const struct ks_gguf_tensor *low, const struct ks_gguf_tensor *high,
                         const char *file, struct ks_error *err)
{
    if (low->offset + low->bytes <= high->offset)
        return 0;
    char shown_low[KS_SHOWN_SIZE], shown_high[KS_SHOWN_SIZE];
    return ks_fail(
        err, KS_BAD_INPUT,
        "%s: tensor %s (bytes %llu to %llu) and tensor %s (from byte %llu) "
        "overlap; " KS_GGUF_DAMAGED,
        file, ks_shown(low->name, strlen(low->name), shown_low), (unsigned long long)low->offset,
        (unsigned long long)(low->offset + low->bytes - 1),
        ks_shown(high->name, strlen(high->name), shown_high), (unsigned long long)high->offset);
}

static int check_overlaps(const struct ks_tensors *tensors, const char *file, struct ks_error *err)
{
    size_t n = tensors->n;
    const struct ks_gguf_tensor **sorted = calloc(n ? n : 1, sizeof *sorted);
    if (!sorted)
        return ks_fail_memory(err, n * sizeof *sorted, "the tensor list's order");
    for (size_t i = 0; i < n; i++)
        sorted[i] = &tensors->items[i];
    qsort(sorted, n, sizeof *sorted, compare_offsets);
    int result = 0;
    for (size_t i = 1; i < n && result == 0; i++)
        result = check_overlap(sorted[i - 1], sorted[i], file, err);
    free(sorted);
    return result;
}

int ks_tensors_place(struct ks_tensors *tensors, const struct ks_reader *r, uint64_t data_start,
                     uint32_t alignment, struct ks_error *err)
{
    for (size_t i = 0; i < tensors->n; i++)
        if (place_one(&tensors->items[i], r, data_start, alignment, err))
            return -1;
    return check_overlaps(tensors, r->file, err);
}

void ks_tensors_close(struct ks_tensors *tensors)
{
    for (size_t i = 0; i < tensors->n; i++)
        free((char *)(uintptr_t)tensors->items[i].name);
    free(tensors->items);
    *tensors = (struct ks_tensors){0};
}

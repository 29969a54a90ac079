/*
 * The metadata: keys with typed values, in file order and sorted by key.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/gguf/parse.h"

/* The least an entry can take: a key of one byte with its length, the type, one byte of value. */
enum { LEAST_ENTRY_BYTES = 8 + 1 + 4 + 1 };

uint32_t ks_gguf_fixed_size(uint32_t type)
{
    switch (type) {
    case KS_GGUF_U8:
    case KS_GGUF_I8:
    case KS_GGUF_BOOL:
        return 1;
    case KS_GGUF_U16:
    case KS_GGUF_I16:
        return 2;
    case KS_GGUF_U32:
    case KS_GGUF_I32:
    case KS_GGUF_F32:
        return 4;
    case KS_GGUF_U64:
    case KS_GGUF_I64:
    case KS_GGUF_F64:
        return 8;
    default:
        return 0;
    }
}

static void set_fixed(struct ks_gguf_value *v, const uint8_t *p)
{
    switch (v->type) {
    case KS_GGUF_U8:
    case KS_GGUF_BOOL:
        v->u = *p;
        break;
    case KS_GGUF_I8:
        v->i = (int8_t)*p;
        break;
    case KS_GGUF_U16:
        v->u = ks_le16(p);
        break;
    case KS_GGUF_I16:
        v->i = (int16_t)ks_le16(p);
        break;
    case KS_GGUF_U32:
        v->u = ks_le32(p);
        break;
    case KS_GGUF_I32:
        v->i = (int32_t)ks_le32(p);
        break;
    case KS_GGUF_U64:
        v->u = ks_le64(p);
        break;
    case KS_GGUF_I64:
        v->i = (int64_t)ks_le64(p);
        break;
    case KS_GGUF_F32:
        v->f = (double)ks_f32_of_bits(ks_le32(p));
        break;
    case KS_GGUF_F64:
        v->f = ks_f64_of_bits(ks_le64(p));
        break;
    default:
        assert(false); /* the caller has seen ks_gguf_fixed_size() */
    }
}

/* A boolean is stored as 0 or 1; the format calls everything else invalid. */
static int check_bools(const struct ks_reader *r, uint64_t count, struct ks_error *err)
{
    for (uint64_t i = 0; i < count; i++)
        if (r->bytes[r->at + i] > 1)
            return ks_reader_fail(r, r->at + i, err, "a boolean is %u; " KS_GGUF_DAMAGED,
                                  (unsigned)r->bytes[r->at + i]);
    return 0;
}

/* Walks the strings before room is made for them, so that a false count costs no memory. */
static int read_strings(struct ks_gguf_value *v, struct ks_reader *r, struct ks_error *err)
{
    struct ks_reader walk = *r;
    struct ks_str s;
    uint64_t count = v->array.count;
    if (ks_reader_need_items(r, count, sizeof(uint64_t), "strings", err))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (ks_reader_str(&walk, &s, "a string of an array", err))
            return -1;
    struct ks_str *strings = calloc(count ? (size_t)count : 1, sizeof *strings);
    if (!strings)
        return ks_fail_memory(err, count * sizeof *strings, "an array of strings");
    for (uint64_t i = 0; i < count; i++) {
        int failed = ks_reader_str(r, &strings[i], "a string of an array", err);
        assert(!failed);
        (void)failed;
    }
    v->array.strings = strings;
    return 0;
}

static int read_array(struct ks_gguf_value *v, struct ks_reader *r, struct ks_error *err)
{
    uint64_t at = r->at;
    uint32_t type;
    if (ks_reader_u32(r, &type, "an array's item type", err))
        return -1;
    if (type == KS_GGUF_ARRAY)
        return ks_reader_fail(r, at, err,
                              "an array of arrays, which no known GGUF file has; "
                              "convert the model again");
    uint32_t size = ks_gguf_fixed_size(type);
    if (!size && type != KS_GGUF_STRING)
        return ks_reader_fail(r, at, err, "value type %u is not known; " KS_GGUF_DAMAGED, type);
    v->array.type = (enum ks_gguf_value_type)type;
    if (ks_reader_u64(r, &v->array.count, "an array's length", err))
        return -1;
    if (type == KS_GGUF_STRING)
        return read_strings(v, r, err);
    if (ks_reader_need_items(r, v->array.count, size, "array items", err))
        return -1;
    if (type == KS_GGUF_BOOL && check_bools(r, v->array.count, err))
        return -1;
    v->array.bytes = r->bytes + r->at;
    r->at += v->array.count * size;
    return 0;
}

static int read_value(struct ks_gguf_value *v, struct ks_reader *r, struct ks_error *err)
{
    uint64_t at = r->at;
    uint32_t type;
    if (ks_reader_u32(r, &type, "a value's type", err))
        return -1;
    v->type = (enum ks_gguf_value_type)type;
    if (type == KS_GGUF_STRING)
        return ks_reader_str(r, &v->s, "a string", err);
    if (type == KS_GGUF_ARRAY)
        return read_array(v, r, err);
    uint32_t size = ks_gguf_fixed_size(type);
    if (!size)
        return ks_reader_fail(r, at, err, "value type %u is not known; " KS_GGUF_DAMAGED, type);
    if (ks_reader_need(r, size, "a value", err))
        return -1;
    if (type == KS_GGUF_BOOL && check_bools(r, 1, err))
        return -1;
    set_fixed(v, r->bytes + r->at);
    r->at += size;
    return 0;
}

static int read_entry(struct ks_values *values, struct ks_reader *r, struct ks_error *err)
{
    struct ks_gguf_value *items =
        ks_grow(values->items, &values->cap, values->n, sizeof *items, "the metadata", err);
    if (!items)
        return -1;
    values->items = items;
    struct ks_gguf_value *v = &values->items[values->n];
    *v = (struct ks_gguf_value){0};
    snprintf(r->where, sizeof r->where, "metadata entry %zu", values->n + 1);
    char *key;
    if (ks_reader_name(r, &key, "a key", err))
        return -1;
    v->key = key;
    values->n++; /* from here on ks_values_close frees it */
    char shown[KS_SHOWN_SIZE];
    snprintf(r->where, sizeof r->where, "metadata entry %zu (%s)", values->n,
             ks_shown(key, strlen(key), shown));
    return read_value(v, r, err);
}

static int compare_keys(const void *a, const void *b)
{
    const struct ks_gguf_value *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

static int sort_by_key(struct ks_values *values, const struct ks_reader *r, struct ks_error *err)
{
    values->by_key = calloc(values->n ? values->n : 1, sizeof *values->by_key);
    if (!values->by_key)
        return ks_fail_memory(err, values->n * sizeof *values->by_key, "the metadata's index");
    for (size_t i = 0; i < values->n; i++)
        values->by_key[i] = &values->items[i];
    qsort(values->by_key, values->n, sizeof *values->by_key, compare_keys);
    for (size_t i = 1; i < values->n; i++) {
        const char *key = values->by_key[i]->key;
        char shown[KS_SHOWN_SIZE];
        if (strcmp(values->by_key[i - 1]->key, key) == 0)
            return ks_fail(err, KS_BAD_INPUT,
                           "%s: metadata key %s is there twice (entries %td and %td); "
                           "convert the model again",
                           r->file, ks_shown(key, strlen(key), shown),
                           values->by_key[i - 1] - values->items + 1,
                           values->by_key[i] - values->items + 1);
    }
    return 0;
}

int ks_values_read(struct ks_values *values, struct ks_reader *r, uint64_t count,
                   struct ks_error *err)
{
    if (ks_reader_need_items(r, count, LEAST_ENTRY_BYTES, "metadata entries", err))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (read_entry(values, r, err))
            return -1;
    r->where[0] = '\0';
    return sort_by_key(values, r, err);
}

void ks_values_close(struct ks_values *values)
{
    for (size_t i = 0; i < values->n; i++) {
        const struct ks_gguf_value *v = &values->items[i];
        free((char *)(uintptr_t)v->key);
        if (v->type == KS_GGUF_ARRAY)
            free((void *)(uintptr_t)v->array.strings);
    }
    free(values->items);
    free(values->by_key);
    *values = (struct ks_values){0};
}

static int compare_to_key(const void *key, const void *item)
{
    const struct ks_gguf_value *const *value = item;
    return strcmp(key, (*value)->key);
}

const struct ks_gguf_value *ks_values_find(const struct ks_values *values, const char *key)
{
    const struct ks_gguf_value **found =
        bsearch(key, values->by_key, values->n, sizeof *values->by_key, compare_to_key);
    return found ? *found : NULL;
}

struct ks_gguf_value ks_gguf_array_item(const struct ks_gguf_value *array, uint64_t i)
{
    assert(array->type == KS_GGUF_ARRAY && i < array->array.count);
    struct ks_gguf_value item = {.type = array->array.type};
    if (item.type == KS_GGUF_STRING)
        item.s = array->array.strings[i];
    else
        set_fixed(&item, array->array.bytes + i * ks_gguf_fixed_size(item.type));
    return item;
}

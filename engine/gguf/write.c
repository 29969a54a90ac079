#include "engine/gguf/write.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/whole.h"
#include "engine/gguf/parse.h"
#include "engine/quant/type.h"

struct ks_gguf_writer {
    struct ks_whole_file file;
    uint32_t alignment;
    struct ks_buf values, tensors;
    uint64_t n_values, n_tensors;
    uint64_t *sizes; /* (n_tensors) of their data */
    size_t cap;
    uint64_t offset;  /* of the next tensor's data */
    uint64_t written; /* tensors whose data is in the file */
    bool head_written;
};

struct ks_gguf_writer *ks_gguf_writer_create(const char *path, uint32_t alignment,
                                             struct ks_error *err)
{
    struct ks_gguf_writer *w = calloc(1, sizeof *w);
    if (!w) {
        ks_fail_memory(err, sizeof *w, "a GGUF file");
        return NULL;
    }
    w->alignment = alignment;
    if (ks_whole_open(&w->file, path, err) == 0)
        return w;
    free(w);
    return NULL;
}

/* ------------------------------------------------------------------ metadata */

static int put_u32(struct ks_buf *b, uint32_t v, struct ks_error *err)
{
    return ks_buf_put(b, &v, sizeof v, err);
}

static int put_u64(struct ks_buf *b, uint64_t v, struct ks_error *err)
{
    return ks_buf_put(b, &v, sizeof v, err);
}

static int put_str(struct ks_buf *b, const char *bytes, size_t len, struct ks_error *err)
{
    return put_u64(b, len, err) || ks_buf_put(b, bytes, len, err) ? -1 : 0;
}

static int put_array(struct ks_buf *b, const struct ks_gguf_value *v, struct ks_error *err)
{
    if (put_u32(b, v->array.type, err) || put_u64(b, v->array.count, err))
        return -1;
    if (v->array.type != KS_GGUF_STRING)
        return ks_buf_put(b, v->array.bytes, v->array.count * ks_gguf_fixed_size(v->array.type),
                          err);
    for (uint64_t i = 0; i < v->array.count; i++)
        if (put_str(b, v->array.strings[i].bytes, v->array.strings[i].len, err))
            return -1;
    return 0;
}

int ks_gguf_write_value(struct ks_gguf_writer *w, const struct ks_gguf_value *v,
                        struct ks_error *err)
{
    struct ks_buf *b = &w->values;
    w->n_values++;
    if (put_str(b, v->key, strlen(v->key), err) || put_u32(b, v->type, err))
        return -1;
    float narrow = (float)v->f;
    switch (v->type) {
    case KS_GGUF_STRING:
        return put_str(b, v->s.bytes, v->s.len, err);
    case KS_GGUF_ARRAY:
        return put_array(b, v, err);
    case KS_GGUF_F32:
        return ks_buf_put(b, &narrow, sizeof narrow, err);
    default: /* the low bytes of the widest, little-endian */
        return ks_buf_put(b, &v->u, ks_gguf_fixed_size(v->type), err);
    }
}

int ks_gguf_write_u32(struct ks_gguf_writer *w, const char *key, uint32_t v, struct ks_error *err)
{
    const struct ks_gguf_value value = {.key = key, .type = KS_GGUF_U32, .u = v};
    return ks_gguf_write_value(w, &value, err);
}

int ks_gguf_write_str(struct ks_gguf_writer *w, const char *key, const char *v,
                      struct ks_error *err)
{
    const struct ks_gguf_value value = {
        .key = key, .type = KS_GGUF_STRING, .s = {.bytes = v, .len = strlen(v)}};
    return ks_gguf_write_value(w, &value, err);
}

/* ------------------------------------------------------------------ tensors */

static uint64_t aligned(const struct ks_gguf_writer *w, uint64_t bytes)
{
    return (bytes + w->alignment - 1) / w->alignment * w->alignment;
}

static bool data_bytes(uint32_t type, uint32_t n_dims, const uint64_t *dims, uint64_t *bytes)
{
    if (!ks_type_row_bytes((enum ks_type)type, dims[0], bytes))
        return false;
    for (uint32_t i = 1; i < n_dims; i++)
        if (!ks_mul_u64(*bytes, dims[i], bytes))
            return false;
    return true;
}

int ks_gguf_write_tensor(struct ks_gguf_writer *w, const char *name, uint32_t type, uint32_t n_dims,
                         const uint64_t *dims, struct ks_error *err)
{
    uint64_t bytes;
    if (!data_bytes(type, n_dims, dims, &bytes))
        return ks_fail(err, KS_INTERNAL, "tensor %s of an impossible shape is to be written", name);
    uint64_t *sizes =
        ks_grow(w->sizes, &w->cap, w->n_tensors, sizeof *sizes, "the list of tensors", err);
    if (!sizes)
        return -1;
    w->sizes = sizes;
    struct ks_buf *b = &w->tensors;
    if (put_str(b, name, strlen(name), err) || put_u32(b, n_dims, err) ||
        ks_buf_put(b, dims, n_dims * sizeof *dims, err) || put_u32(b, type, err) ||
        put_u64(b, w->offset, err))
        return -1;
    sizes[w->n_tensors++] = bytes;
    w->offset += aligned(w, bytes);
    return 0;
}

static int write_padding(struct ks_gguf_writer *w, uint64_t bytes, struct ks_error *err)
{
    static const char zeros[64];
    for (uint64_t left = aligned(w, bytes) - bytes; left > 0;) {
        size_t some = left < sizeof zeros ? (size_t)left : sizeof zeros;
        if (ks_whole_write(&w->file, zeros, some, err))
            return -1;
        left -= some;
    }
    return 0;
}

static int write_head(struct ks_gguf_writer *w, struct ks_error *err)
{
    struct ks_buf head = {0};
    int failed = ks_buf_put(&head, "GGUF", 4, err) || put_u32(&head, 3, err) ||
                 put_u64(&head, w->n_tensors, err) || put_u64(&head, w->n_values, err) ||
                 ks_whole_write(&w->file, head.bytes, head.len, err) ||
                 ks_whole_write(&w->file, w->values.bytes, w->values.len, err) ||
                 ks_whole_write(&w->file, w->tensors.bytes, w->tensors.len, err) ||
                 write_padding(w, head.len + w->values.len + w->tensors.len, err);
    ks_buf_finish(&head);
    w->head_written = true;
    return failed ? -1 : 0;
}

int ks_gguf_write_data(struct ks_gguf_writer *w, const void *data, uint64_t bytes,
                       struct ks_error *err)
{
    assert(w->written < w->n_tensors && w->sizes[w->written] == bytes);
    if (!w->head_written && write_head(w, err))
        return -1;
    w->written++;
    return ks_whole_write(&w->file, data, bytes, err) || write_padding(w, bytes, err) ? -1 : 0;
}

int ks_gguf_writer_finish(struct ks_gguf_writer *w, int failed, struct ks_error *err)
{
    if (!failed && !w->head_written)
        failed = write_head(w, err);
    assert(failed || w->written == w->n_tensors);
    failed = ks_whole_close(&w->file, failed, err);
    ks_buf_finish(&w->values);
    ks_buf_finish(&w->tensors);
    free(w->sizes);
    free(w);
    return failed;
}

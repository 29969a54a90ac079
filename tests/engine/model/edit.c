#include "tests/testing.h"

#include <string.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/gguf/gguf.h"
#include "engine/quant/type.h"
#include "tests/engine/gguf/writer.h"
#include "tests/engine/model/edit.h"

#define ALIGNMENT 32

static char path[64];

struct writer {
    struct ks_buf head, infos, data;
    uint64_t n_keys, n_tensors;
    const struct edit *edits;
};

static const struct edit *find(const struct writer *w, const char *name, unsigned kinds)
{
    for (const struct edit *e = w->edits; e->kind != EDIT_END; e++) {
        if (kinds >> e->kind & 1 && strcmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

static size_t scalar_size(enum ks_gguf_value_type type)
{
    static const size_t sizes[] = {
        [KS_GGUF_U8] = 1,  [KS_GGUF_I8] = 1,  [KS_GGUF_U16] = 2, [KS_GGUF_I16] = 2,
        [KS_GGUF_U32] = 4, [KS_GGUF_I32] = 4, [KS_GGUF_F32] = 4, [KS_GGUF_BOOL] = 1,
        [KS_GGUF_U64] = 8, [KS_GGUF_I64] = 8, [KS_GGUF_F64] = 8, [KS_GGUF_STRING] = 0,
    };
    return sizes[type];
}

static void put_array(struct ks_buf *b, const struct ks_gguf_value *v)
{
    gw_u32(b, v->array.type);
    gw_u64(b, v->array.count);
    if (v->array.type != KS_GGUF_STRING) {
        gw_bytes(b, v->array.bytes, (size_t)v->array.count * scalar_size(v->array.type));
        return;
    }
    for (uint64_t i = 0; i < v->array.count; i++)
        gw_str_n(b, v->array.strings[i].bytes, v->array.strings[i].len);
}

static void put_value(struct ks_buf *b, const struct ks_gguf_value *v)
{
    gw_u32(b, v->type);
    if (v->type == KS_GGUF_ARRAY) {
        put_array(b, v);
    } else if (v->type == KS_GGUF_STRING) {
        gw_str_n(b, v->s.bytes, v->s.len);
    } else if (v->type == KS_GGUF_F32) {
        gw_f32(b, (float)v->f);
    } else {
        gw_bytes(b, &v->u, scalar_size(v->type));
    }
}

static void put_setting(struct writer *w, const struct edit *e)
{
    gw_str(&w->head, e->name);
    w->n_keys++;
    if (e->kind == EDIT_SET_U32) {
        gw_u32(&w->head, KS_GGUF_U32);
        gw_u32(&w->head, e->u);
    } else if (e->kind == EDIT_SET_F32) {
        gw_u32(&w->head, KS_GGUF_F32);
        gw_f32(&w->head, e->f);
    } else if (e->kind == EDIT_SET_FALSE) {
        gw_u32(&w->head, KS_GGUF_BOOL);
        gw_bytes(&w->head, "", 1);
    } else {
        gw_u32(&w->head, KS_GGUF_STRING);
        gw_str(&w->head, e->text);
    }
}

#define SETTINGS                                                                                   \
    (1u << EDIT_SET_U32 | 1u << EDIT_SET_F32 | 1u << EDIT_SET_STRING | 1u << EDIT_SET_FALSE)

static void write_keys(struct writer *w, const struct ks_gguf *g)
{
    for (size_t i = 0; i < ks_gguf_n_values(g); i++) {
        const struct ks_gguf_value *v = ks_gguf_value(g, i);
        if (find(w, v->key, SETTINGS | 1u << EDIT_DROP_KEY))
            continue;
        gw_str(&w->head, v->key);
        put_value(&w->head, v);
        w->n_keys++;
    }
    for (const struct edit *e = w->edits; e->kind != EDIT_END; e++) {
        if (SETTINGS >> e->kind & 1)
            put_setting(w, e);
        if (e->kind == EDIT_DROP_KEY)
            assert_non_null(ks_gguf_find(g, e->name));
    }
}

static void put_info(struct writer *w, const char *name, uint32_t type, uint32_t n_dims,
                     const uint64_t *dims)
{
    gw_str(&w->infos, name);
    gw_u32(&w->infos, n_dims);
    gw_bytes(&w->infos, dims, n_dims * sizeof *dims);
    gw_u32(&w->infos, type);
    gw_u64(&w->infos, w->data.len);
    w->n_tensors++;
}

static void write_tensor(struct writer *w, const struct ks_gguf_tensor *t)
{
    const struct edit *renamed = find(w, t->name, 1u << EDIT_RENAME_TENSOR);
    const struct edit *shape = find(w, t->name, 1u << EDIT_RESHAPE);
    const struct edit *fill = find(w, t->name, 1u << EDIT_FILL | 1u << EDIT_POKE);
    const uint64_t dims[2] = {shape ? shape->u : t->dims[0], shape ? shape->rows : t->dims[1]};
    size_t at = w->data.len;
    put_info(w, renamed ? renamed->text : t->name, t->type, shape ? 2 : t->n_dims,
             shape ? dims : t->dims);
    gw_bytes(&w->data, t->data, (size_t)t->bytes);
    gw_pad(&w->data, ALIGNMENT);
    if (!fill)
        return;
    assert_int_equal(t->type, KS_F32);
    size_t first = fill->kind == EDIT_POKE ? fill->u : 0;
    size_t end = fill->kind == EDIT_POKE ? first + 1 : (size_t)t->bytes / 4;
    for (size_t i = first; i < end; i++)
        memcpy(w->data.bytes + at + 4 * i, &fill->f, 4);
}

static void write_tensors(struct writer *w, const struct ks_gguf *g)
{
    for (size_t i = 0; i < ks_gguf_n_tensors(g); i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(g, i);
        if (!find(w, t->name, 1u << EDIT_DROP_TENSOR))
            write_tensor(w, t);
    }
    for (const struct edit *e = w->edits; e->kind != EDIT_END; e++) {
        if (e->kind == EDIT_ADD_VECTOR) {
            const uint64_t dims[1] = {e->u};
            put_info(w, e->name, KS_F32, 1, dims);
            for (uint32_t k = 0; k < e->u; k++)
                gw_f32(&w->data, e->f);
            gw_pad(&w->data, ALIGNMENT);
        } else if (e->kind >= EDIT_DROP_TENSOR) {
            assert_non_null(ks_gguf_find_tensor(g, e->name));
        }
    }
}

static void write_file(struct writer *w)
{
    struct ks_buf file = {0};
    gw_header(&file, 3, w->n_tensors, w->n_keys);
    gw_bytes(&file, w->head.bytes, w->head.len);
    gw_bytes(&file, w->infos.bytes, w->infos.len);
    gw_pad(&file, ALIGNMENT);
    gw_bytes(&file, w->data.bytes, w->data.len);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    gw_save(&file, path);
    ks_buf_finish(&file);
}

const char *edited(const char *source, const struct edit *edits)
{
    edit_finish();
    struct ks_error err = {0};
    struct ks_gguf *g = ks_gguf_open(source, &err);
    assert_string_equal(err.text, "");
    struct writer w = {.edits = edits};
    write_keys(&w, g);
    write_tensors(&w, g);
    snprintf(path, sizeof path, "/tmp/ks_model_XXXXXX");
    write_file(&w);
    ks_buf_finish(&w.head);
    ks_buf_finish(&w.infos);
    ks_buf_finish(&w.data);
    ks_gguf_close(g);
    return path;
}

void edit_finish(void)
{
    if (path[0])
        unlink(path);
    path[0] = '\0';
}

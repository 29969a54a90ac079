#include "tests/engine/gguf/touch.h"

#include <stdlib.h>
#include <string.h>

#include "engine/quant/type.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

static unsigned sum(const void *bytes, uint64_t len)
{
    const unsigned char *p = bytes;
    unsigned total = 0;
    for (uint64_t i = 0; i < len; i++)
        total += p[i];
    return total;
}

static unsigned touch_array(const struct ks_gguf_value *v)
{
    static const unsigned sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    unsigned total = 0;
    must(v->array.type <= KS_GGUF_F64 && v->array.type != KS_GGUF_ARRAY);
    if (v->array.type != KS_GGUF_STRING)
        return sum(v->array.bytes, v->array.count * sizes[v->array.type]);
    must(!v->array.bytes && v->array.strings);
    for (uint64_t i = 0; i < v->array.count; i++)
        total += sum(v->array.strings[i].bytes, v->array.strings[i].len);
    return total;
}

static unsigned touch_value(const struct ks_gguf *g, const struct ks_gguf_value *v)
{
    must(v->key[0] != '\0' && v->type <= KS_GGUF_F64);
    must(ks_gguf_find(g, v->key) == v); /* unique */
    must(v->type != KS_GGUF_BOOL || v->u <= 1);
    if (v->type == KS_GGUF_STRING)
        return sum(v->s.bytes, v->s.len);
    return v->type == KS_GGUF_ARRAY ? touch_array(v) : (unsigned)v->u;
}

static unsigned touch_tensor(const struct ks_gguf *g, const struct ks_gguf_tensor *t)
{
    const struct ks_type_info *info = ks_type_info(t->type);
    must(info && t->name[0] != '\0');
    must(ks_gguf_find_tensor(g, t->name) == t); /* unique */
    must(t->n_dims >= 1 && t->n_dims <= 4);
    must(t->dims[0] % info->block_elems == 0);
    uint64_t bytes = t->dims[0] / info->block_elems * info->block_bytes;
    bytes *= t->dims[1] * t->dims[2] * t->dims[3];
    must(bytes > 0 && bytes == t->bytes);
    must(t->offset + t->bytes <= ks_gguf_file_bytes(g));
    return sum(t->data, t->bytes);
}

unsigned touch_all(const struct ks_gguf *g)
{
    unsigned total = ks_gguf_version(g);
    must(total == 2 || total == 3);
    for (size_t i = 0; i < ks_gguf_n_values(g); i++)
        total += touch_value(g, ks_gguf_value(g, i));
    for (size_t i = 0; i < ks_gguf_n_tensors(g); i++)
        total += touch_tensor(g, ks_gguf_tensor(g, i));
    return total;
}

/*
 * Typed look-ups of metadata, with a refusal that says what was found where something else was
 * needed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/gguf/parse.h"

/* Each type by itself, and as what an array holds. */
static const char *const type_names[][2] = {
    [KS_GGUF_U8] = {"u8", "u8[]"},
    [KS_GGUF_I8] = {"i8", "i8[]"},
    [KS_GGUF_U16] = {"u16", "u16[]"},
    [KS_GGUF_I16] = {"i16", "i16[]"},
    [KS_GGUF_U32] = {"u32", "u32[]"},
    [KS_GGUF_I32] = {"i32", "i32[]"},
    [KS_GGUF_F32] = {"f32", "f32[]"},
    [KS_GGUF_BOOL] = {"bool", "bool[]"},
    [KS_GGUF_STRING] = {"string", "string[]"},
    [KS_GGUF_ARRAY] = {"array", "array[]"},
    [KS_GGUF_U64] = {"u64", "u64[]"},
    [KS_GGUF_I64] = {"i64", "i64[]"},
    [KS_GGUF_F64] = {"f64", "f64[]"},
};

const char *ks_gguf_value_type_name(enum ks_gguf_value_type type)
{
    return (size_t)type < sizeof type_names / sizeof *type_names ? type_names[type][0] : "?";
}

const char *ks_gguf_value_kind(const struct ks_gguf_value *v)
{
    return v->type == KS_GGUF_ARRAY ? type_names[v->array.type][1] : type_names[v->type][0];
}

static int wrong_type(const struct ks_gguf_value *v, const char *file, const char *wanted,
                      struct ks_error *err)
{
    char shown[KS_SHOWN_SIZE];
    ks_fail(err, KS_BAD_INPUT,
            "%s: metadata key %s is of type %s where %s is needed; "
            "convert the model again",
            file, ks_shown(v->key, strlen(v->key), shown), ks_gguf_value_type_name(v->type),
            wanted);
    return -1;
}

static int out_of_range(const struct ks_gguf_value *v, const char *file, const char *found,
                        const char *wanted, struct ks_error *err)
{
    char shown[KS_SHOWN_SIZE];
    ks_fail(err, KS_BAD_INPUT,
            "%s: metadata key %s is %s where %s is needed; "
            "convert the model again",
            file, ks_shown(v->key, strlen(v->key), shown), found, wanted);
    return -1;
}

int ks_values_get_u32(const struct ks_values *values, const char *file, const char *key,
                      uint32_t *out, struct ks_error *err)
{
    static const char wanted[] = "an integer from 0 to 4294967295";
    const struct ks_gguf_value *v = ks_values_find(values, key);
    char found[32];
    if (!v)
        return 0;
    switch (v->type) {
    case KS_GGUF_U8:
    case KS_GGUF_U16:
    case KS_GGUF_U32:
    case KS_GGUF_U64:
        snprintf(found, sizeof found, "%llu", (unsigned long long)v->u);
        if (v->u > UINT32_MAX)
            return out_of_range(v, file, found, wanted, err);
        *out = (uint32_t)v->u;
        return 1;
    case KS_GGUF_I8:
    case KS_GGUF_I16:
    case KS_GGUF_I32:
    case KS_GGUF_I64:
        snprintf(found, sizeof found, "%lld", (long long)v->i);
        if (v->i < 0 || v->i > UINT32_MAX)
            return out_of_range(v, file, found, wanted, err);
        *out = (uint32_t)v->i;
        return 1;
    default:
        return wrong_type(v, file, wanted, err);
    }
}

int ks_gguf_get_u32(const struct ks_gguf *g, const char *key, uint32_t *out, struct ks_error *err)
{
    const struct ks_part *part = ks_gguf_first_part(g);
    return ks_values_get_u32(&part->values, part->path, key, out, err);
}

int ks_gguf_get_f32(const struct ks_gguf *g, const char *key, float *out, struct ks_error *err)
{
    static const char wanted[] = "a finite f32";
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    const char *file = ks_gguf_first_part(g)->path;
    if (!v)
        return 0;
    if (v->type != KS_GGUF_F32 && v->type != KS_GGUF_F64)
        return wrong_type(v, file, wanted, err);
    float narrowed = (float)v->f;
    if (!isfinite(narrowed)) {
        char found[32];
        snprintf(found, sizeof found, "%g", v->f);
        return out_of_range(v, file, found, wanted, err);
    }
    *out = narrowed;
    return 1;
}

int ks_gguf_get_bool(const struct ks_gguf *g, const char *key, bool *out, struct ks_error *err)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    if (!v)
        return 0;
    if (v->type != KS_GGUF_BOOL)
        return wrong_type(v, ks_gguf_first_part(g)->path, "a bool", err);
    *out = v->u != 0;
    return 1;
}

int ks_gguf_get_str(const struct ks_gguf *g, const char *key, struct ks_str *out,
                    struct ks_error *err)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    if (!v)
        return 0;
    if (v->type != KS_GGUF_STRING)
        return wrong_type(v, ks_gguf_first_part(g)->path, "a string", err);
    *out = v->s;
    return 1;
}

/* A model as JSON, and the pieces that a difference is made of too. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tui/cli/inspect/inspect.h"

/* An object of one text member. */
static json_t *marked(const char *mark, const char *text)
{
    return json_pack("{s:s}", mark, text);
}

static json_t *in_hex(const char *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = malloc(2 * len + 1);
    if (!hex)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        hex[2 * i] = digits[(unsigned char)bytes[i] >> 4];
        hex[2 * i + 1] = digits[(unsigned char)bytes[i] & 15];
    }
    hex[2 * len] = '\0';
    json_t *made = marked("hex", hex);
    free(hex);
    return made;
}

json_t *inspect_json_text(const char *bytes, size_t len)
{
    json_t *text = json_stringn(len ? bytes : "", len); /* NULL where it is no UTF-8 */
    return text ? text : in_hex(bytes, len);
}

static json_t *text_of(const char *text)
{
    return inspect_json_text(text, strlen(text));
}

json_t *inspect_json_datum(struct ks_datum d)
{
    char digits[24];
    switch (d.kind) {
    case KS_DATUM_STRING:
        return inspect_json_text(d.s.bytes, d.s.len);
    case KS_DATUM_BOOL:
        return json_boolean(d.b);
    case KS_DATUM_SIGNED:
        return json_integer(d.i);
    case KS_DATUM_REAL:
        if (isfinite(d.f))
            return json_real(d.f);
        return marked("float", isnan(d.f) ? "nan" : d.f > 0 ? "inf" : "-inf");
    case KS_DATUM_UNSIGNED:
        if (d.u <= INT64_MAX)
            return json_integer((json_int_t)d.u);
        snprintf(digits, sizeof digits, "%" PRIu64, d.u);
        return marked("decimal", digits);
    }
    return NULL;
}

/* Releases the list and gives NULL where an item could not be made or taken. */
static json_t *append(json_t *list, json_t *item)
{
    if (list && json_array_append_new(list, item) == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *value_json(const struct ks_model *m, size_t i)
{
    uint64_t n;
    if (!ks_model_metadata_is_array(m, i, &n))
        return inspect_json_datum(ks_model_metadata_datum(m, i, 0));
    json_t *list = json_array();
    for (uint64_t item = 0; list && item < n; item++)
        list = append(list, inspect_json_datum(ks_model_metadata_datum(m, i, item)));
    return list;
}

static json_t *metadata_json(const struct ks_model *m)
{
    json_t *list = json_array();
    const char *key, *type;
    for (size_t i = 0; list && ks_model_metadata(m, i, &key, &type, NULL, 0); i++)
        list = append(list, json_pack("{s:o, s:s, s:o}", "key", text_of(key), "type", type, "value",
                                      value_json(m, i)));
    return list;
}

json_t *inspect_json_shape(const struct ks_tensor_info *t)
{
    json_t *shape = json_array();
    for (uint32_t d = 0; shape && d < t->n_dims; d++)
        shape = append(shape, json_integer((json_int_t)t->dims[d]));
    return shape;
}

static json_t *tensors_json(const struct ks_model *m)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < ks_model_info(m)->n_tensors; i++) {
        struct ks_tensor_info t = ks_model_tensor_info(m, i);
        list =
            append(list, json_pack("{s:o, s:s, s:o, s:I}", "name", text_of(t.name), "type", t.type,
                                   "shape", inspect_json_shape(&t), "bytes", (json_int_t)t.bytes));
    }
    return list;
}

static json_t *traits_json(const struct ks_model *m)
{
    json_t *traits = json_object();
    const char *name;
    char text[512];
    for (size_t i = 0; traits && ks_model_trait(m, i, &name, text, sizeof text); i++)
        json_object_set_new(traits, name, json_string(text));
    return traits;
}

int inspect_put_json(json_t *made)
{
    if (!made) {
        cli_say("out of memory for JSON");
        return CLI_INTERNAL;
    }
    json_dumpf(made, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
    printf("\n");
    json_decref(made);
    return cli_finish_output();
}

int inspect_print_json(const struct ks_model *m)
{
    const struct ks_model_info *i = ks_model_info(m);
    return inspect_put_json(json_pack(
        "{s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:I, s:I, s:f, s:o, s:o, "
        "s:s?, s:o?, s:o, s:o, s:o}",
        "file", text_of(i->shown), "name", text_of(i->name), "architecture",
        text_of(i->architecture), "layers", (int)i->layers, "hidden", (int)i->hidden, "heads",
        (int)i->heads, "kv_heads", (int)i->kv_heads, "head_dim", (int)i->head_dim, "ffn",
        (int)i->ffn, "vocab", (int)i->vocab, "context", (int)i->context, "tied", (int)i->tied,
        "weights", (json_int_t)i->elements, "bytes", (json_int_t)i->bytes, "bits_per_weight",
        i->bits_per_weight, "tokenizer_model", text_of(i->tokenizer_model), "tokenizer_pre",
        text_of(i->tokenizer_pre), "chat_family", i->chat_family, "refusal",
        i->refusal ? text_of(i->refusal) : NULL, "traits", traits_json(m), "metadata",
        metadata_json(m), "tensors", tensors_json(m)));
}

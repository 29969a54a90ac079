/* Metadata as lines for people, and as values. */
#include "engine/model/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/text.h"

/* A line being written; one that does not fit ends in "...". */
struct line {
    char *text;
    size_t size, len; /* size > 0, len < size */
    bool cut;
};

static void put(struct line *l, const char *bytes, size_t len)
{
    size_t room = l->size - 1 - l->len;
    if (len > room) {
        len = room;
        l->cut = true;
    }
    memcpy(l->text + l->len, bytes, len);
    l->len += len;
}

static void close_line(struct line *l)
{
    l->text[l->len] = '\0';
    if (!l->cut || l->len < 3)
        return;
    size_t at = l->len - 3;
    while (at > 0 && ((unsigned char)l->text[at] & 0xc0) == 0x80)
        at--; /* not inside a UTF-8 character */
    memcpy(l->text + at, "...", 4);
}

/* Control characters as escapes, so that a line stays a line; other bytes as they are. */
static void put_string(struct line *l, struct ks_str s)
{
    for (size_t i = 0; i < s.len && !l->cut; i++) {
        unsigned char c = (unsigned char)s.bytes[i];
        char escape[5];
        if (c == '\n')
            put(l, "\\n", 2);
        else if (c == '\t')
            put(l, "\\t", 2);
        else if (c < 0x20 || c == 0x7f)
            put(l, escape, (size_t)snprintf(escape, sizeof escape, "\\x%02x", c));
        else
            put(l, &s.bytes[i], 1);
    }
}

static void put_scalar(struct line *l, const struct ks_gguf_value *v)
{
    char text[48];
    int n = 0;
    switch (v->type) {
    case KS_GGUF_STRING:
        put_string(l, v->s);
        return;
    case KS_GGUF_BOOL:
        n = snprintf(text, sizeof text, "%s", v->u ? "true" : "false");
        break;
    case KS_GGUF_I8:
    case KS_GGUF_I16:
    case KS_GGUF_I32:
    case KS_GGUF_I64:
        n = snprintf(text, sizeof text, "%" PRId64, v->i);
        break;
    case KS_GGUF_F32:
        n = snprintf(text, sizeof text, "%.9g", v->f);
        break;
    case KS_GGUF_F64:
        n = snprintf(text, sizeof text, "%.17g", v->f);
        break;
    default:
        n = snprintf(text, sizeof text, "%" PRIu64, v->u);
        break;
    }
    put(l, text, (size_t)n);
}

static void put_array(struct line *l, const struct ks_gguf_value *v)
{
    char count[32];
    put(l, count, (size_t)snprintf(count, sizeof count, "%" PRIu64 ": ", v->array.count));
    for (uint64_t i = 0; i < v->array.count && !l->cut; i++) {
        struct ks_gguf_value item = ks_gguf_array_item(v, i);
        if (i)
            put(l, ", ", 2);
        put_scalar(l, &item);
    }
}

bool ks_model_metadata(const struct ks_model *m, size_t i, const char **key, const char **type,
                       char *text, size_t text_size)
{
    if (i >= ks_gguf_n_values(m->gguf))
        return false;
    const struct ks_gguf_value *v = ks_gguf_value(m->gguf, i);
    *key = v->key;
    *type = ks_gguf_value_kind(v);
    if (text_size == 0)
        return true;
    struct line line = {.text = text, .size = text_size};
    if (v->type == KS_GGUF_ARRAY)
        put_array(&line, v);
    else
        put_scalar(&line, v);
    close_line(&line);
    ks_text_one_line(text); /* what is left of control characters: C1 in UTF-8 */
    return true;
}

bool ks_model_metadata_is_array(const struct ks_model *m, size_t i, uint64_t *n)
{
    const struct ks_gguf_value *v = ks_gguf_value(m->gguf, i);
    bool array = v->type == KS_GGUF_ARRAY;
    *n = array ? v->array.count : 1;
    return array;
}

struct ks_datum ks_model_metadata_datum(const struct ks_model *m, size_t i, uint64_t item)
{
    const struct ks_gguf_value *v = ks_gguf_value(m->gguf, i);
    struct ks_gguf_value of_array;
    if (v->type == KS_GGUF_ARRAY) {
        of_array = ks_gguf_array_item(v, item);
        v = &of_array;
    }
    switch (v->type) {
    case KS_GGUF_STRING:
        return (struct ks_datum){.kind = KS_DATUM_STRING, .s = {v->s.bytes, v->s.len}};
    case KS_GGUF_BOOL:
        return (struct ks_datum){.kind = KS_DATUM_BOOL, .b = v->u != 0};
    case KS_GGUF_I8:
    case KS_GGUF_I16:
    case KS_GGUF_I32:
    case KS_GGUF_I64:
        return (struct ks_datum){.kind = KS_DATUM_SIGNED, .i = v->i};
    case KS_GGUF_F32:
    case KS_GGUF_F64:
        return (struct ks_datum){.kind = KS_DATUM_REAL, .f = v->f};
    default:
        return (struct ks_datum){.kind = KS_DATUM_UNSIGNED, .u = v->u};
    }
}

#include "engine/text/document/record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_of(const json_t *j)
{
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

static int parse_text(json_t *root, struct ks_record *r, struct ks_error *err)
{
    const json_t *text = json_object_get(root, "text");
    if (!text && json_object_get(root, "messages"))
        return ks_fail(err, KS_BAD_INPUT,
                       "has \"messages\" and no \"text\": this is a chat corpus; use chat(...) "
                       "for it instead of text(...)");
    if (!text)
        return ks_fail(err, KS_BAD_INPUT, "has no \"text\"; a line must be {\"text\": \"...\"}");
    if (!json_is_string(text))
        return ks_fail(err, KS_BAD_INPUT, "\"text\" is %s; it must be a string", kind_of(text));
    r->text = json_string_value(text);
    r->len = json_string_length(text);
    return 0;
}

/* One string of message number i, from 0. */
static int get_string(const json_t *message, const char *key, size_t i, const char **out,
                      struct ks_error *err)
{
    const json_t *s = json_object_get(message, key);
    if (!s)
        return ks_fail(err, KS_BAD_INPUT, "message %zu has no \"%s\"", i + 1, key);
    if (!json_is_string(s))
        return ks_fail(err, KS_BAD_INPUT, "\"%s\" of message %zu is %s; it must be a string", key,
                       i + 1, kind_of(s));
    if (strlen(json_string_value(s)) != json_string_length(s))
        return ks_fail(err, KS_BAD_INPUT, "\"%s\" of message %zu holds a NUL character", key,
                       i + 1);
    *out = json_string_value(s);
    return 0;
}

static int parse_messages(json_t *root, struct ks_record *r, struct ks_error *err)
{
    const json_t *list = json_object_get(root, "messages");
    if (!list && json_object_get(root, "text"))
        return ks_fail(err, KS_BAD_INPUT,
                       "has \"text\" and no \"messages\": this is a text corpus; use text(...) "
                       "for it instead of chat(...)");
    if (!list)
        return ks_fail(err, KS_BAD_INPUT,
                       "has no \"messages\"; a line must be {\"messages\": [{\"role\": \"...\", "
                       "\"content\": \"...\"}, ...]}");
    if (!json_is_array(list) || json_array_size(list) == 0)
        return ks_fail(err, KS_BAD_INPUT, "\"messages\" is %s; it must be a list of messages",
                       json_is_array(list) ? "an empty list" : kind_of(list));
    size_t n = json_array_size(list);
    r->messages = calloc(n, sizeof *r->messages);
    if (!r->messages)
        return ks_fail_memory(err, n * sizeof *r->messages, "messages");
    for (size_t i = 0; i < n; i++) {
        const json_t *message = json_array_get(list, i);
        if (!json_is_object(message))
            return ks_fail(err, KS_BAD_INPUT, "message %zu is %s; it must be an object", i + 1,
                           kind_of(message));
        if (get_string(message, "role", i, &r->messages[i].role, err) ||
            get_string(message, "content", i, &r->messages[i].content, err))
            return -1;
    }
    r->n_messages = n;
    return 0;
}

int ks_record_parse(enum ks_corpus_kind kind, const char *line, size_t len, struct ks_record *out,
                    struct ks_error *err)
{
    /* Integers of any size are fine where nobody reads them. */
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_error_t where;
    json_t *root = json_loadb(line, len, flags, &where);
    if (!root && json_error_code(&where) == json_error_out_of_memory)
        return ks_fail_memory(err, len, "a line of JSON");
    if (!root)
        return ks_fail(err, KS_BAD_INPUT, "not JSON, at column %d: %s", where.column, where.text);
    struct ks_record r = {.json = root};
    int rc;
    if (!json_is_object(root))
        rc = ks_fail(err, KS_BAD_INPUT, "is %s; each line must be an object", kind_of(root));
    else
        rc = kind == KS_CORPUS_TEXT ? parse_text(root, &r, err) : parse_messages(root, &r, err);
    if (rc)
        ks_record_finish(&r);
    else
        *out = r;
    return rc;
}

void ks_record_finish(struct ks_record *r)
{
    json_decref(r->json);
    free(r->messages);
    *r = (struct ks_record){0};
}

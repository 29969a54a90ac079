/*
 * The stored ids of tests/data/text, and the check of a tokenizer against them.
 */
#ifndef KS_TESTS_ENGINE_TEXT_EXPECTED_H
#define KS_TESTS_ENGINE_TEXT_EXPECTED_H

#include "tests/testing.h"

#include <jansson.h>
#include <string.h>

#include "engine/text/tokenizer.h"

static inline json_t *read_json(const char *name)
{
    json_error_t where;
    json_t *j = json_load_file(test_data(name), JSON_ALLOW_NUL, &where);
    if (!j)
        fail_msg("%s:%d: %s", name, where.line, where.text);
    return j;
}

/* The raw bytes of string i of strings.json; free(). */
static inline char *string_bytes(const json_t *strings, size_t i, size_t *len)
{
    const char *hex = json_string_value(json_object_get(json_array_get(strings, i), "hex"));
    *len = strlen(hex) / 2;
    char *bytes = malloc(*len + 1);
    assert_non_null(bytes);
    for (size_t k = 0; k < *len; k++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * k, "%2x", &byte), 1);
        bytes[k] = (char)byte;
    }
    return bytes;
}

static inline void assert_ids(const struct ks_tokens *got, const json_t *before, const json_t *ids,
                              const json_t *after, const char *who, size_t string)
{
    const json_t *parts[] = {before, ids, after};
    size_t n = 0;
    for (int p = 0; p < 3; p++) {
        for (size_t k = 0; k < json_array_size(parts[p]); k++, n++) {
            json_int_t want = json_integer_value(json_array_get(parts[p], k));
            if (n >= got->n || got->ids[n] != want)
                fail_msg("%s, string %zu: id %zu is %d, not %d", who, string, n,
                         n < got->n ? got->ids[n] : -1, (int)want);
        }
    }
    if (n != got->n)
        fail_msg("%s, string %zu: %zu ids, not %zu", who, string, got->n, n);
}

/* All strings: plain, with special tokens parsed, and with specials added. Where the oracle died,
 * only that nothing breaks. */
static inline void check_all_strings(const struct ks_tokenizer *t, const json_t *want,
                                     const json_t *strings, const char *who)
{
    const json_t *before = json_object_get(want, "add_special_before");
    const json_t *after = json_object_get(want, "add_special_after");
    const json_t *all = json_object_get(want, "ids");
    const json_t *parsed = json_object_get(want, "ids_parse_special");
    assert_int_equal(json_array_size(all), json_array_size(strings));
    for (size_t i = 0; i < json_array_size(strings); i++) {
        size_t len;
        char *text = string_bytes(strings, i, &len);
        const json_t *ids = json_array_get(all, i);
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        const json_t *special = json_object_get(parsed, number);
        for (unsigned flags = 0; flags < 4; flags++) {
            struct ks_tokens got = {0};
            struct ks_error err;
            if (ks_tokenize(t, text, len, flags, &got, &err))
                fail_msg("%s, string %zu: %s", who, i, err.text);
            bool add = flags & KS_TOKENIZE_ADD;
            if (!json_is_null(ids))
                assert_ids(&got, add ? before : NULL,
                           flags & KS_TOKENIZE_SPECIAL && special ? special : ids,
                           add ? after : NULL, who, i);
            ks_tokens_finish(&got);
        }
        free(text);
    }
}

#endif

/*
 * Small vocabularies written for one test: a GGUF with just the tokenizer's keys.
 */
#ifndef KS_TESTS_ENGINE_TEXT_SMALL_H
#define KS_TESTS_ENGINE_TEXT_SMALL_H

#include "tests/testing.h"

#include <string.h>

#include "engine/text/tokenizer.h"
#include "tests/engine/gguf/writer.h"

enum { SMALL_MAX = 64 };

/* Lists end with NULL or have n_tokens items; a zeroed field is not written. */
struct small {
    const char *model, *pre, *name, *chat_template;
    const char *tokens[SMALL_MAX];
    int32_t types[SMALL_MAX];
    size_t n_types; /* 0: not written */
    float scores[SMALL_MAX];
    size_t n_scores;
    const char *merges[SMALL_MAX];
    bool no_merges;    /* leaves the key out */
    bool empty_tokens; /* writes the key for an empty list */
    struct {
        const char *key;
        uint32_t value;
        uint32_t type; /* KS_GGUF_U32 or KS_GGUF_BOOL */
    } more[8];
};

static inline size_t small_count(const char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

static inline uint64_t small_write(struct ks_buf *b, const struct small *s)
{
    uint64_t n = 0;
    const char *const strings[][2] = {{"tokenizer.ggml.model", s->model},
                                      {"tokenizer.ggml.pre", s->pre},
                                      {"general.name", s->name},
                                      {"tokenizer.chat_template", s->chat_template}};
    for (int i = 0; i < 4; i++) {
        if (strings[i][1]) {
            gw_key_str(b, strings[i][0], strings[i][1]);
            n++;
        }
    }
    const char *const *lists[] = {s->tokens, s->merges};
    static const char *const keys[] = {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"};
    for (int i = 0; i < 2; i++) {
        size_t count = small_count(lists[i]);
        if (i == 0 ? !count && !s->empty_tokens : s->no_merges)
            continue;
        gw_key_array(b, keys[i], KS_GGUF_STRING, count);
        for (size_t k = 0; k < count; k++)
            gw_str(b, lists[i][k]);
        n++;
    }
    return n;
}

static inline struct ks_gguf *small_open(const struct small *s)
{
    struct ks_buf body = {0}, b = {0};
    uint64_t n = small_write(&body, s);
    if (s->n_types) {
        gw_key_array(&body, "tokenizer.ggml.token_type", KS_GGUF_I32, s->n_types);
        for (size_t i = 0; i < s->n_types; i++)
            gw_u32(&body, (uint32_t)s->types[i]);
        n++;
    }
    if (s->n_scores) {
        gw_key_array(&body, "tokenizer.ggml.scores", KS_GGUF_F32, s->n_scores);
        for (size_t i = 0; i < s->n_scores; i++)
            gw_f32(&body, s->scores[i]);
        n++;
    }
    for (size_t i = 0; i < 8 && s->more[i].key; i++, n++) {
        if (s->more[i].type == KS_GGUF_BOOL)
            gw_key_bool(&body, s->more[i].key, (uint8_t)s->more[i].value);
        else
            gw_key_u32(&body, s->more[i].key, s->more[i].value);
    }
    gw_header(&b, 3, 0, n);
    gw_bytes(&b, body.bytes, body.len);
    gw_pad(&b, 32);
    char folder[64], path[96];
    gw_folder(folder);
    snprintf(path, sizeof path, "%s/v.gguf", folder);
    gw_save(&b, path);
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(path, &err);
    if (!g)
        fail_msg("%s", err.text);
    gw_remove(folder);
    ks_buf_finish(&body);
    ks_buf_finish(&b);
    return g;
}

static inline struct ks_tokenizer *small_tokenizer(const struct small *s)
{
    struct ks_error err;
    struct ks_gguf *g = small_open(s);
    struct ks_tokenizer *t = ks_tokenizer_create(g, NULL, &err);
    if (!t)
        fail_msg("%s", err.text);
    ks_gguf_close(g);
    return t;
}

/* Tokenizes text and compares with ids written as "1 2 3". */
static inline void assert_tokens(const struct ks_tokenizer *t, const char *text, unsigned flags,
                                 const char *want)
{
    struct ks_tokens got = {0};
    struct ks_buf b = {0};
    struct ks_error err;
    if (ks_tokenize(t, text, strlen(text), flags, &got, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < got.n; i++)
        ks_buf_printf(&b, &err, i ? " %d" : "%d", got.ids[i]);
    assert_string_equal(b.bytes ? b.bytes : "", want);
    ks_buf_finish(&b);
    ks_tokens_finish(&got);
}

#endif

#include "engine/text/vocab/vocab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/vocab/utf8.h"

#define KEY_TOKENS "tokenizer.ggml.tokens"
#define KEY_TYPES  "tokenizer.ggml.token_type"
#define KEY_SCORES "tokenizer.ggml.scores"

enum { EMPTY_NAME_MAX = 24 }; /* "[EMPTY_2147483647]" */

int ks_vocab_array(const struct ks_gguf *g, const char *key, enum ks_gguf_value_type type,
                   uint64_t n, bool required, const struct ks_gguf_value **out,
                   struct ks_error *err)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    if (!v && required)
        return ks_fail(err, KS_BAD_INPUT, "%s is missing; without it no text can be tokenized",
                       key);
    if (v && (v->type != KS_GGUF_ARRAY || v->array.type != type))
        return ks_fail(err, KS_BAD_INPUT, "%s is %s%s; an array of %s is needed", key,
                       v->type == KS_GGUF_ARRAY ? "an array of " : "a ",
                       ks_gguf_value_type_name(v->type == KS_GGUF_ARRAY ? v->array.type : v->type),
                       ks_gguf_value_type_name(type));
    if (v && n && v->array.count != n)
        return ks_fail(err, KS_BAD_INPUT, "%s has %llu items for %llu tokens", key,
                       (unsigned long long)v->array.count, (unsigned long long)n);
    *out = v;
    return 0;
}

const char *ks_vocab_show(struct ks_str s, char out[KS_VOCAB_SHOWN])
{
    size_t n = 0;
    out[n++] = '"';
    for (size_t i = 0; i < s.len;) {
        unsigned used;
        uint32_t cp = ks_utf8_decode((const unsigned char *)s.bytes + i, s.len - i, &used);
        if (n > KS_VOCAB_SHOWN - 10) {
            memcpy(out + n, "...", 3);
            n += 3;
            break;
        }
        if (cp < 0x20 || cp == 0x7F || (used == 1 && cp == KS_UTF8_REPLACEMENT))
            n += (size_t)snprintf(out + n, 5, "\\x%02X", (unsigned char)s.bytes[i]);
        else
            n += ks_utf8_encode(cp, out + n);
        i += used;
    }
    out[n++] = '"';
    out[n] = '\0';
    return out;
}

/* ------------------------------------------------------------------ tokens */

static int allocate(struct ks_vocab *v, size_t arena, struct ks_error *err)
{
    size_t n = v->n;
    v->text = calloc(n, sizeof *v->text);
    v->key = calloc(n, sizeof *v->key);
    v->bytes = calloc(n, sizeof *v->bytes);
    v->scores = calloc(n, sizeof *v->scores);
    v->types = calloc(n, sizeof *v->types);
    v->flags = calloc(n, sizeof *v->flags);
    v->arena[0] = malloc(arena);
    v->arena[1] = malloc(arena);
    if (!v->text || !v->key || !v->bytes || !v->scores || !v->types || !v->flags || !v->arena[0] ||
        !v->arena[1])
        return ks_fail_memory(err, 2 * arena + 60 * n, "a vocabulary");
    return 0;
}

static int load_texts(struct ks_vocab *v, const struct ks_gguf *g, struct ks_error *err)
{
    const struct ks_gguf_value *tokens;
    if (ks_vocab_array(g, KEY_TOKENS, KS_GGUF_STRING, 0, true, &tokens, err))
        return -1;
    if (tokens->array.count == 0 || tokens->array.count > INT32_MAX)
        return ks_fail(err, KS_BAD_INPUT, KEY_TOKENS " has %llu items",
                       (unsigned long long)tokens->array.count);
    v->n = (size_t)tokens->array.count;
    size_t arena = 1;
    for (size_t i = 0; i < v->n; i++) {
        size_t len = tokens->array.strings[i].len;
        arena += len ? len : EMPTY_NAME_MAX;
    }
    if (allocate(v, arena, err))
        return -1;
    char *at = v->arena[0];
    for (size_t i = 0; i < v->n; i++) {
        struct ks_str s = tokens->array.strings[i];
        if (s.len)
            memcpy(at, s.bytes, s.len);
        else
            s.len = (size_t)snprintf(at, EMPTY_NAME_MAX, "[EMPTY_%zu]", i);
        v->text[i] = (struct ks_str){at, s.len};
        at += s.len;
    }
    return 0;
}

static int load_types(struct ks_vocab *v, const struct ks_gguf *g, struct ks_error *err)
{
    const struct ks_gguf_value *types;
    if (ks_vocab_array(g, KEY_TYPES, KS_GGUF_I32, v->n, false, &types, err))
        return -1;
    for (size_t i = 0; i < v->n; i++)
        v->types[i] = types ? (int32_t)ks_le32(types->array.bytes + 4 * i) : KS_TOKEN_NORMAL;
    return 0;
}

static int load_scores(struct ks_vocab *v, const struct ks_gguf *g, struct ks_error *err)
{
    const struct ks_gguf_value *scores;
    bool required = v->model == KS_VOCAB_SPM;
    if (ks_vocab_array(g, KEY_SCORES, KS_GGUF_F32, v->n, required, &scores, err))
        return -1;
    for (size_t i = 0; scores && i < v->n; i++) {
        memcpy(&v->scores[i], scores->array.bytes + 4 * i, 4);
        if (isnan(v->scores[i]))
            return ks_fail(err, KS_BAD_INPUT, KEY_SCORES ": item %zu is not a number", i);
    }
    return 0;
}

/* ------------------------------------------------------------------ looking up */

/* Different texts have different keys, so looking for equal texts is enough. */
static int index_texts(struct ks_index *x, const struct ks_vocab *v, struct ks_error *err)
{
    if (ks_index_create(x, v->text, v->n, err))
        return -1;
    for (size_t i = 0; i < v->n; i++) {
        int32_t other = ks_index_add(x, (int32_t)i);
        char shown[KS_VOCAB_SHOWN];
        if (other != (int32_t)i)
            return ks_fail(err, KS_BAD_INPUT, KEY_TOKENS ": tokens %d and %zu are both %s", other,
                           i, ks_vocab_show(v->text[i], shown));
    }
    return 0;
}

static int index_keys(struct ks_vocab *v, struct ks_error *err)
{
    if (ks_index_create(&v->keys, v->key, v->n, err))
        return -1;
    for (size_t i = 0; i < v->n; i++) {
        if (!v->key[i].bytes)
            continue;
        ks_index_add(&v->keys, (int32_t)i);
        if (v->key[i].len > v->longest_key)
            v->longest_key = v->key[i].len;
    }
    return 0;
}

static void find_bytes(struct ks_vocab *v)
{
    bool spelled = v->pre && !(v->pre->flags & KS_PRE_RAW);
    for (int b = 0; b < 256; b++) {
        char name[8] = {(char)b};
        int len = spelled ? 1 : snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        v->byte_id[b] = ks_index_find(&v->keys, name, (size_t)len);
        name[0] = (char)b;
        if (v->byte_id[b] < 0 && v->model == KS_VOCAB_SPM)
            v->byte_id[b] = ks_index_find(&v->keys, name, 1);
    }
}

/* ------------------------------------------------------------------ SentencePiece's order */

struct scored {
    float score;
    uint32_t id;
};

static int by_score(const void *a, const void *b)
{
    float x = ((const struct scored *)a)->score, y = ((const struct scored *)b)->score;
    return (x < y) - (x > y);
}

static int rank_scores(struct ks_vocab *v, struct ks_error *err)
{
    struct scored *order = calloc(v->n, sizeof *order);
    v->ranks = calloc(v->n, sizeof *v->ranks);
    if (!order || !v->ranks) {
        free(order);
        return ks_fail_memory(err, v->n * sizeof *order, "the order of a vocabulary");
    }
    for (size_t i = 0; i < v->n; i++)
        order[i] = (struct scored){v->scores[i], (uint32_t)i};
    qsort(order, v->n, sizeof *order, by_score);
    uint32_t rank = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (i && order[i].score < order[i - 1].score)
            rank++;
        v->ranks[order[i].id] = rank;
    }
    free(order);
    return 0;
}

/* ------------------------------------------------------------------ what merges can join */

static void find_joined(struct ks_vocab *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const unsigned char *key = (const unsigned char *)v->key[i].bytes;
        for (size_t j = 0; key && j < v->key[i].len; j += ks_utf8_length(key[j])) {
            if (j > 0)
                v->joined[key[j - 1]][key[j] / 64] |= (uint64_t)1 << key[j] % 64;
        }
    }
}

/* ------------------------------------------------------------------ all of it */

static bool is(struct ks_str s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.bytes, text, s.len) == 0;
}

static int load_model(struct ks_vocab *v, const struct ks_gguf *g, struct ks_error *err)
{
    static const char *const names[] = {"gpt2", "llama", "gemma4"};
    static const char *const others[][2] = {{"bert", " (WordPiece)"}, {"t5", " (unigram)"}};
    const struct ks_gguf_value *model = ks_gguf_find(g, "tokenizer.ggml.model");
    char shown[KS_VOCAB_SHOWN];
    if (!model || model->type != KS_GGUF_STRING)
        return ks_fail(err, KS_BAD_INPUT,
                       "tokenizer.ggml.model is %s; without it no text can be tokenized",
                       model ? "not a string" : "missing");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is(model->s, names[i])) {
            v->model = (enum ks_vocab_model)i;
            return 0;
        }
    }
    const char *kind = "";
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (is(model->s, others[i][0]))
            kind = others[i][1];
    }
    return ks_fail(err, KS_UNSUPPORTED,
                   "tokenizer.ggml.model is %s%s, which is not known here; take a model with gpt2, "
                   "llama or gemma4 there",
                   ks_vocab_show(model->s, shown), kind);
}

static int unknown_pre(struct ks_str name, const char *from, struct ks_error *err)
{
    char known[900] = "", shown[KS_VOCAB_SHOWN];
    size_t n = 0;
    for (size_t i = 0; ks_pre_at(i); i++) {
        int more = snprintf(known + n, sizeof known - n, "%s%s", i ? " " : "", ks_pre_at(i)->name);
        if (more < 0 || n + (size_t)more >= sizeof known)
            break;
        n += (size_t)more;
    }
    return ks_fail(err, KS_UNSUPPORTED, "%s is %s; known are: %s", from, ks_vocab_show(name, shown),
                   known);
}

static int load_pre(struct ks_vocab *v, const struct ks_gguf *g, const char *pre,
                    struct ks_error *err)
{
    const char *from = pre ? "the pre asked for" : "tokenizer.ggml.pre";
    struct ks_str name = {"default", 7};
    const struct ks_gguf_value *given = ks_gguf_find(g, "tokenizer.ggml.pre");
    if (v->model != KS_VOCAB_BPE) {
        if (pre)
            return ks_fail(err, KS_BAD_INPUT,
                           "a pre (\"%s\") is only for tokenizer.ggml.model = gpt2", pre);
        v->pre = v->model == KS_VOCAB_GEMMA4 ? ks_pre_find("gemma4", 6) : NULL;
        return 0;
    }
    if (!pre && given && given->type != KS_GGUF_STRING)
        return ks_fail(err, KS_BAD_INPUT, "tokenizer.ggml.pre is not a string");
    if (pre)
        name = (struct ks_str){pre, strlen(pre)};
    else if (given && given->s.len)
        name = given->s;
    v->pre = ks_pre_find(name.bytes, name.len);
    return v->pre ? 0 : unknown_pre(name, from, err);
}

int ks_vocab_load(struct ks_vocab *v, const struct ks_gguf *g, const char *pre,
                  struct ks_error *err)
{
    if (load_model(v, g, err) || load_pre(v, g, pre, err) || load_texts(v, g, err) ||
        load_types(v, g, err) || load_scores(v, g, err))
        return -1;
    ks_vocab_spell(v);
    if (index_keys(v, err))
        return -1;
    find_bytes(v);
    struct ks_index texts = {0};
    int rc = index_texts(&texts, v, err) || ks_vocab_load_specials(v, g, &texts, err);
    ks_index_finish(&texts);
    if (rc)
        return -1;
    find_joined(v);
    return v->model == KS_VOCAB_SPM ? rank_scores(v, err) : ks_vocab_load_merges(v, g, err);
}

void ks_vocab_finish(struct ks_vocab *v)
{
    free(v->text);
    free(v->key);
    free(v->bytes);
    free(v->scores);
    free(v->ranks);
    free(v->types);
    free(v->flags);
    ks_index_finish(&v->keys);
    free(v->pairs);
    free(v->arena[0]);
    free(v->arena[1]);
    *v = (struct ks_vocab){0};
}

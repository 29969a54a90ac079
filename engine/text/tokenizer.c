#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/merge.h"
#include "engine/text/object.h"
#include "engine/text/vocab/utf8.h"

enum { MAX_TEXT = INT32_MAX / 4 }; /* offsets are 32 bits, and text may grow threefold */

/* ------------------------------------------------------------------ ids */

/* Room for so many more. */
static int make_room(struct ks_tokens *t, size_t more, struct ks_error *err)
{
    int32_t *ids =
        ks_grow(t->ids, &t->cap, t->n + more - 1, sizeof *ids, "the tokens of a text", err);
    if (!ids)
        return -1;
    t->ids = ids;
    return 0;
}

int ks_tokens_put(struct ks_tokens *t, int32_t id, struct ks_error *err)
{
    if (make_room(t, 1, err))
        return -1;
    t->ids[t->n++] = id;
    return 0;
}

void ks_tokens_finish(struct ks_tokens *t)
{
    free(t->ids);
    *t = (struct ks_tokens){0};
}

/* ------------------------------------------------------------------ one text */

/* Scratch memory and output of one ks_tokenize. */
struct session {
    const struct ks_vocab *v;
    const struct ks_splitter *splitter;
    struct ks_parts parts;
    struct ks_split split;
    struct ks_merger merger;
    struct ks_words *words;
    struct ks_buf escaped;
    struct ks_tokens *out;
    struct ks_error *err;
};

static void session_finish(struct session *s)
{
    free(s->parts.at);
    ks_split_finish(&s->split);
    ks_merger_finish(&s->merger);
    ks_buf_finish(&s->escaped);
}

/*
 * What is no token is spelled in byte tokens. Where those are missing too, SPM has its unknown
 * token; byte-level BPE leaves the byte out, as llama.cpp does (no such vocabulary is known to lack
 * a byte that UTF-8 uses).
 */
static int put_bytes(struct session *s, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int32_t id = s->v->byte_id[(unsigned char)bytes[i]];
        if (id < 0 && s->v->model == KS_VOCAB_SPM && s->v->unk >= 0)
            return ks_tokens_put(s->out, s->v->unk, s->err);
        if (id >= 0 && ks_tokens_put(s->out, id, s->err))
            return -1;
    }
    return 0;
}

static bool is_newlines(const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (word[i] != '\n')
            return false;
    }
    return true;
}

/* The token that word is whatever the merges say, -1: it is none. */
static int32_t find_whole(const struct session *s, const char *word, size_t len)
{
    unsigned flags = s->v->pre->flags;
    bool wanted = flags & KS_PRE_WHOLE_WORDS || (flags & KS_PRE_NEWLINES && is_newlines(word, len));
    return wanted && len <= s->v->longest_key ? ks_index_find(&s->v->keys, word, len) : -1;
}

static bool is_raw(const struct session *s)
{
    return !s->v->pre || s->v->pre->flags & KS_PRE_RAW;
}

/* Merges a word of characters, or one of bytes where it is not a token as it is. */
static int merge(struct session *s, const char *word, size_t len)
{
    struct ks_merger *m = &s->merger;
    int32_t whole = is_raw(s) ? -1 : find_whole(s, word, len);
    if (whole >= 0)
        return ks_tokens_put(s->out, whole, s->err);
    if (is_raw(s) ? ks_merger_chars(m, s->v, word, len, s->err)
                  : ks_merger_bytes(m, s->v, word, len, s->err))
        return -1;
    if (ks_merger_run(m, s->v, word, s->err))
        return -1;
    for (size_t i = 0; i < m->n; i++) {
        const struct ks_piece *p = &m->pieces[i];
        if (p->id >= 0 ? ks_tokens_put(s->out, p->id, s->err)
                       : put_bytes(s, word + p->start, p->len))
            return -1;
    }
    return 0;
}

/* The same, or what it was the last time. */
static int put_merged(struct session *s, const char *word, size_t len)
{
    if (len > KS_WORD_BYTES)
        return merge(s, word, len);
    struct ks_tokens *out = s->out;
    struct ks_word *known = ks_words_slot(s->words, word, len);
    size_t before = out->n;
    if (known->n) {
        if (make_room(out, KS_WORD_IDS, s->err))
            return -1;
        memcpy(out->ids + before, known->ids, sizeof known->ids);
        out->n += known->n;
        return 0;
    }
    if (merge(s, word, len))
        return -1;
    size_t n = out->n - before;
    if (n && n <= KS_WORD_IDS) {
        memcpy(known->ids, out->ids + before, n * sizeof *out->ids);
        known->n = (uint8_t)n;
    }
    return 0;
}

static int escape_spaces(struct session *s, bool prefix, const char **text, size_t *len)
{
    struct ks_buf *b = &s->escaped;
    b->len = 0;
    if (prefix && ks_buf_put(b, KS_SPACE_MARK, KS_SPACE_MARK_LEN, s->err))
        return -1;
    for (size_t i = 0; i < *len;) {
        const char *space = memchr(*text + i, ' ', *len - i);
        size_t plain = space ? (size_t)(space - *text) - i : *len - i;
        if (ks_buf_put(b, *text + i, plain, s->err))
            return -1;
        if (space && ks_buf_put(b, KS_SPACE_MARK, KS_SPACE_MARK_LEN, s->err))
            return -1;
        i += plain + (space != NULL);
    }
    *text = b->bytes;
    *len = b->len;
    return 0;
}

/* Where the first characters of text end that merges may join. */
static size_t joined_end(const struct ks_vocab *v, const char *text, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t i = ks_utf8_length(bytes[0]);
    while (i < len && v->joined[bytes[i - 1]][bytes[i] / 64] >> bytes[i] % 64 & 1)
        i += ks_utf8_length(bytes[i]);
    return i < len ? i : len;
}

/* Merges characters, as far as they can be joined at a time: the same as all at once, but faster,
 * and what is merged at a time repeats like words. */
static int put_joined(struct session *s, const char *text, size_t len)
{
    while (len) {
        size_t n = joined_end(s->v, text, len);
        if (put_merged(s, text, n))
            return -1;
        text += n;
        len -= n;
    }
    return 0;
}

static int put_word(struct session *s, const char *word, size_t len)
{
    if (!is_raw(s))
        return put_merged(s, word, len);
    int32_t whole = find_whole(s, word, len);
    return whole >= 0 ? ks_tokens_put(s->out, whole, s->err) : put_joined(s, word, len);
}

static int put_text(struct session *s, const char *text, size_t len, bool prefix)
{
    bool escapes = !s->v->pre || s->v->pre->flags & KS_PRE_ESCAPES;
    if (escapes && escape_spaces(s, prefix, &text, &len))
        return -1;
    if (!s->splitter)
        return put_joined(s, text, len);
    if (ks_split_run(s->splitter, &s->split, text, len, s->err))
        return -1;
    size_t start = 0;
    for (size_t i = 0; i < s->split.words->n; i++) {
        size_t end = s->split.words->at[i];
        if (put_word(s, s->split.text + start, end - start))
            return -1;
        start = end;
    }
    return 0;
}

static int put_all(struct session *s, const struct ks_tokenizer *t, const char *text, size_t len,
                   unsigned flags)
{
    const struct ks_specials *specials = flags & KS_TOKENIZE_SPECIAL ? &t->parsed : &t->always;
    if (ks_specials_cut(specials, text, len, &s->parts, s->err))
        return -1;
    if (flags & KS_TOKENIZE_ADD && t->v.add_bos && ks_tokens_put(s->out, t->v.bos, s->err))
        return -1;
    bool after_special = true;
    for (size_t i = 0; i < s->parts.n; i++) {
        const struct ks_part *p = &s->parts.at[i];
        bool prefix = !t->v.pre && t->v.add_space_prefix && after_special;
        after_special = p->id >= 0;
        if (p->id >= 0 ? ks_tokens_put(s->out, p->id, s->err)
                       : put_text(s, text + p->start, p->len, prefix))
            return -1;
    }
    if (flags & KS_TOKENIZE_ADD && t->v.add_eos)
        return ks_tokens_put(s->out, t->v.eos, s->err);
    return 0;
}

int ks_tokenize(const struct ks_tokenizer *t, const char *text, size_t len, unsigned flags,
                struct ks_tokens *out, struct ks_error *err)
{
    if (len > MAX_TEXT)
        return ks_fail(err, KS_UNSUPPORTED,
                       "a text of %zu bytes; up to %d bytes can be tokenized at once", len,
                       MAX_TEXT);
    size_t before = out->n;
    struct session s = {.v = &t->v, .splitter = t->splitter, .out = out, .err = err};
    struct ks_words_pool *pool = &((struct ks_tokenizer *)t)->words; /* not seen from outside */
    s.words = ks_words_take(pool, err);
    int rc = s.words ? put_all(&s, t, text, len, flags) : -1;
    if (rc)
        out->n = before;
    ks_words_give(pool, s.words);
    session_finish(&s);
    return rc;
}

/* ------------------------------------------------------------------ life */

struct ks_tokenizer *ks_tokenizer_create(const struct ks_gguf *g, const char *pre,
                                         struct ks_error *err)
{
    struct ks_tokenizer *t = calloc(1, sizeof *t);
    if (!t) {
        ks_fail_memory(err, sizeof *t, "a tokenizer");
        return NULL;
    }
    ks_words_pool_init(&t->words);
    if (ks_vocab_load(&t->v, g, pre, err))
        goto fail;
    const struct ks_vocab *v = &t->v;
    if (v->pre && !(t->splitter = ks_splitter_create(v->pre, err)))
        goto fail;
    if (ks_specials_create(&t->parsed, v, true, err) ||
        ks_specials_create(&t->always, v, false, err))
        goto fail;
    if (v->model == KS_VOCAB_BPE)
        snprintf(t->kind, sizeof t->kind, "bpe %s", v->pre->name);
    else
        snprintf(t->kind, sizeof t->kind, "%s", v->model == KS_VOCAB_SPM ? "spm" : "gemma4");
    return t;
fail:
    ks_tokenizer_destroy(t);
    return NULL;
}

void ks_tokenizer_destroy(struct ks_tokenizer *t)
{
    if (!t)
        return;
    ks_specials_finish(&t->parsed);
    ks_specials_finish(&t->always);
    ks_splitter_destroy(t->splitter);
    ks_vocab_finish(&t->v);
    ks_words_pool_finish(&t->words);
    free(t);
}

/* ------------------------------------------------------------------ facts */

size_t ks_tokenizer_vocab(const struct ks_tokenizer *t)
{
    return t->v.n;
}

const char *ks_tokenizer_kind(const struct ks_tokenizer *t)
{
    return t->kind;
}

struct ks_str ks_token_bytes(const struct ks_tokenizer *t, int32_t id)
{
    return t->v.bytes[id];
}

enum ks_token_type ks_token_type(const struct ks_tokenizer *t, int32_t id)
{
    return (enum ks_token_type)t->v.types[id];
}

int32_t ks_tokenizer_bos(const struct ks_tokenizer *t)
{
    return t->v.bos;
}

int32_t ks_tokenizer_eos(const struct ks_tokenizer *t)
{
    return t->v.eos;
}

bool ks_tokenizer_adds_bos(const struct ks_tokenizer *t)
{
    return t->v.add_bos;
}

bool ks_tokenizer_adds_eos(const struct ks_tokenizer *t)
{
    return t->v.add_eos;
}

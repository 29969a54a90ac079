#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/merge.h"
#include "engine/text/object.h"

enum { MAX_TEXT = INT32_MAX / 4 }; /* offsets are 32 bits, and text may grow threefold */

/* ------------------------------------------------------------------ ids */

int ks_tokens_put(struct ks_tokens *t, int32_t id, struct ks_error *err)
{
    int32_t *ids = ks_grow(t->ids, &t->cap, t->n, sizeof *ids, "the tokens of a text", err);
    if (!ids)
        return -1;
    t->ids = ids;
    ids[t->n++] = id;
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

/*
 * Words repeat, and most are one token. So it is remembered of each token whether merging makes it
 * of its own text; then it needs no merging the next time. Every thread finds the same answer, and
 * it does not matter which one writes it.
 */
enum { NOT_TRIED = 0, WHOLE, NOT_WHOLE };

static int32_t find_word(const struct session *s, const char *word, size_t len)
{
    return len <= s->v->longest_key ? ks_index_find(&s->v->keys, word, len) : -1;
}

static bool is_whole(const struct session *s, int32_t id)
{
    return id >= 0 && atomic_load_explicit(&s->v->whole[id], memory_order_relaxed) == WHOLE;
}

/* Merges pieces[first..end) of text, a word; id is the token of the same text, -1: none. */
static int merge_word(struct session *s, const char *text, size_t first, size_t end, int32_t id)
{
    const struct ks_piece *pieces = s->merger.pieces;
    if (first == end)
        return 0;
    if (ks_merger_run(&s->merger, s->v, text, first, end, s->err))
        return -1;
    if (id >= 0)
        atomic_store_explicit(&s->v->whole[id], pieces[first].id == id ? WHOLE : NOT_WHOLE,
                              memory_order_relaxed);
    for (uint32_t i = (uint32_t)first; i != KS_NO_PIECE; i = pieces[i].next) {
        if (pieces[i].id >= 0 ? ks_tokens_put(s->out, pieces[i].id, s->err)
                              : put_bytes(s, text + pieces[i].start, pieces[i].len))
            return -1;
    }
    return 0;
}

/* The same of characters, where a word is looked up first. */
static int merge_range(struct session *s, const char *text, size_t first, size_t end)
{
    if (first == end)
        return 0;
    const struct ks_piece *from = &s->merger.pieces[first], *to = &s->merger.pieces[end - 1];
    int32_t id = find_word(s, text + from->start, to->start + to->len - from->start);
    if (is_whole(s, id))
        return ks_tokens_put(s->out, id, s->err);
    return merge_word(s, text, first, end, id);
}

static bool is_mark(const char *text, const struct ks_piece *p)
{
    return p->len == KS_SPACE_MARK_LEN && memcmp(text + p->start, KS_SPACE_MARK, 3) == 0;
}

/* Merges characters; word by word where no token spans words, which is the same and faster. */
static int merge_chars(struct session *s, const char *text, size_t len)
{
    struct ks_merger *m = &s->merger;
    if (ks_merger_chars(m, s->v, text, len, s->err))
        return -1;
    size_t first = 0;
    for (size_t i = 1; i < m->n && s->v->space_starts; i++) {
        if (is_mark(text, &m->pieces[i]) && !is_mark(text, &m->pieces[i - 1])) {
            if (merge_range(s, text, first, i))
                return -1;
            first = i;
        }
    }
    return merge_range(s, text, first, m->n);
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

static bool is_newlines(const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (word[i] != '\n')
            return false;
    }
    return true;
}

static int put_word(struct session *s, const char *word, size_t len)
{
    unsigned flags = s->v->pre->flags;
    int32_t id = find_word(s, word, len);
    if (is_whole(s, id) || (id >= 0 && (flags & KS_PRE_WHOLE_WORDS ||
                                        (flags & KS_PRE_NEWLINES && is_newlines(word, len)))))
        return ks_tokens_put(s->out, id, s->err);
    if (flags & KS_PRE_RAW)
        return merge_chars(s, word, len);
    if (ks_merger_bytes(&s->merger, s->v, word, len, s->err))
        return -1;
    return merge_word(s, word, 0, s->merger.n, id);
}

static int put_text(struct session *s, const char *text, size_t len, bool prefix)
{
    bool escapes = !s->v->pre || s->v->pre->flags & KS_PRE_ESCAPES;
    if (escapes && escape_spaces(s, prefix, &text, &len))
        return -1;
    if (!s->splitter)
        return merge_chars(s, text, len);
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
    int rc = put_all(&s, t, text, len, flags);
    if (rc)
        out->n = before;
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

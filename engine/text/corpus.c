#include "engine/text/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/path.h"
#include "engine/text/document/chat.h"
#include "engine/text/document/mask.h"
#include "engine/text/document/record.h"
#include "engine/text/document/source.h"

/* One load. spec, tally, hash and file are of what is being read. */
struct loader {
    const struct ks_tokenizer *tokenizer;
    const char *family;
    bool (*keep_going)(void *ctx, size_t documents);
    void *ctx;
    struct ks_corpus out;
    size_t cap;
    const struct ks_corpus_spec *spec;
    size_t index;
    const char *file;
    size_t file_documents;
    size_t scored; /* positions in the masks of this spec */
    struct ks_buf text;
    struct ks_error *err;
};

enum { GO_ON = 0, FAILED = -1, ENOUGH = 1 };

/* The names of files, for the documents. */
struct names {
    char **at;
    size_t n, cap;
};

/* ------------------------------------------------------------------ memory */

static const char *keep_name(struct loader *l, const char *name)
{
    static const char what[] = "the name of a corpus file";
    struct names *names = l->out.memory;
    char **at = ks_grow(names->at, &names->cap, names->n, sizeof *at, what, l->err);
    if (!at)
        return NULL;
    names->at = at;
    char *copy = strdup(name);
    if (!copy)
        ks_fail_memory(l->err, strlen(name) + 1, what);
    else
        at[names->n++] = copy;
    return copy;
}

static struct ks_document *new_document(struct loader *l)
{
    struct ks_document *documents = ks_grow(l->out.documents, &l->cap, l->out.n_documents,
                                            sizeof *documents, "documents", l->err);
    if (!documents)
        return NULL;
    l->out.documents = documents;
    return &documents[l->out.n_documents];
}

void ks_corpus_finish(struct ks_corpus *c)
{
    struct names *names = c->memory;
    for (size_t i = 0; i < c->n_documents; i++) {
        free(c->documents[i].ids);
        free(c->documents[i].scored);
    }
    for (size_t i = 0; names && i < names->n; i++)
        free(names->at[i]);
    if (names)
        free(names->at);
    free(names);
    free(c->documents);
    free(c->tallies);
    free(c->hashes);
    *c = (struct ks_corpus){0};
}

/* ------------------------------------------------------------------ one document */

static struct ks_hash hash_document(const struct ks_document *d)
{
    struct ks_hash h = ks_hash_bytes(d->ids, d->n * sizeof *d->ids);
    return d->scored ? ks_hash_join(h, ks_hash_bytes(d->scored, d->n)) : h;
}

/* Applies the limits to d; ENOUGH where it is not wanted any more. */
static int cut(struct loader *l, struct ks_document *d)
{
    struct ks_corpus_tally *tally = &l->out.tallies[l->index];
    size_t limit = l->spec->max_tokens;
    if (limit && d->n > limit - tally->tokens) {
        d->n = limit - tally->tokens;
        if (d->n < 2)
            return ENOUGH;
        tally->cut = true;
    }
    return GO_ON;
}

/* Counts d, which becomes the corpus's. */
static int count(struct loader *l, const struct ks_document *d)
{
    struct ks_corpus_tally *tally = &l->out.tallies[l->index];
    struct ks_hash *hash = &l->out.hashes[l->index];
    *hash = ks_hash_join(*hash, hash_document(d));
    tally->documents++;
    tally->tokens += d->n;
    for (size_t i = 0; d->scored && i < d->n; i++)
        l->scored += d->scored[i];
    l->out.n_documents++;
    l->file_documents++;
    if (l->keep_going && !l->keep_going(l->ctx, l->out.n_documents))
        return ks_fail(l->err, KS_CANCELLED, "stopped while reading corpora");
    return l->spec->max_tokens && tally->tokens >= l->spec->max_tokens ? ENOUGH : GO_ON;
}

static int tokenize(struct loader *l, const char *text, size_t len, struct ks_document *d)
{
    bool chat = l->spec->kind == KS_CORPUS_CHAT;
    unsigned flags = KS_TOKENIZE_ADD;
    if (chat || l->spec->parse_special)
        flags |= KS_TOKENIZE_SPECIAL;
    struct ks_tokens tokens = {0};
    if (ks_tokenize(l->tokenizer, text, len, flags, &tokens, l->err)) {
        ks_tokens_finish(&tokens);
        return FAILED;
    }
    int32_t bos = ks_tokenizer_bos(l->tokenizer);
    d->n_bos = ks_tokenizer_adds_bos(l->tokenizer);
    /* A chat format that writes the BOS itself has written all of it. */
    if (chat && d->n_bos && tokens.n > 1 && tokens.ids[1] == bos) {
        tokens.n--;
        memmove(tokens.ids, tokens.ids + 1, tokens.n * sizeof *tokens.ids);
        d->n_bos = 0;
    }
    d->ids = tokens.ids;
    d->n = tokens.n;
    return GO_ON;
}

static int mask(struct loader *l, const char *text, size_t len, const struct ks_span *spans,
                size_t n_spans, struct ks_document *d)
{
    d->scored = calloc(d->n, 1);
    if (!d->scored)
        return ks_fail_memory(l->err, d->n, "the scored positions of a document");
    if (ks_mask_spans(l->tokenizer, d->ids, d->n, d->n_bos, text, len, spans, n_spans, d->scored,
                      l->err))
        return FAILED;
    d->scored[0] = 0; /* nothing predicts the first token */
    return GO_ON;
}

static int too_short(struct loader *l, size_t n)
{
    if (l->spec->skip_short) {
        l->out.tallies[l->index].skipped_short++;
        return GO_ON;
    }
    return ks_fail(l->err, KS_BAD_INPUT,
                   "a document of %zu token%s, and only the second can be scored; take it out, or "
                   "say short = \"skip\"",
                   n, n == 1 ? "" : "s");
}

/* spans: what counts, where not all does; NULL otherwise. */
static int add_document(struct loader *l, const char *text, size_t len, uint32_t line,
                        const struct ks_span *spans, size_t n_spans)
{
    struct ks_document d = {.corpus = (uint32_t)l->index, .file = l->file, .line = line};
    int rc = tokenize(l, text, len, &d);
    if (rc == GO_ON && d.n < 2) {
        free(d.ids);
        return too_short(l, d.n);
    }
    if (rc == GO_ON && spans)
        rc = mask(l, text, len, spans, n_spans, &d);
    if (rc == GO_ON)
        rc = cut(l, &d);
    struct ks_document *place = rc == GO_ON ? new_document(l) : NULL;
    if (!place) {
        free(d.ids);
        free(d.scored);
        return rc == GO_ON ? FAILED : rc;
    }
    *place = d;
    return count(l, &d);
}

/* ------------------------------------------------------------------ one chat */

/* Keeps the assistant's spans; returns how many. */
static size_t keep_assistant(const struct ks_record *r, struct ks_span *spans)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_messages; i++) {
        if (strcmp(r->messages[i].role, "assistant") == 0)
            spans[n++] = spans[i];
    }
    return n;
}

static int add_family_chat(struct loader *l, const struct ks_record *r, uint32_t line)
{
    struct ks_span *spans = calloc(r->n_messages, sizeof *spans);
    if (!spans)
        return ks_fail_memory(l->err, r->n_messages * sizeof *spans, "messages");
    l->text.len = 0;
    int rc = ks_chat_render(l->family, r->messages, r->n_messages, &l->text, spans, l->err);
    size_t n = keep_assistant(r, spans);
    if (rc == GO_ON)
        rc = add_document(l, l->text.bytes, l->text.len, line,
                          l->spec->assistant_only ? spans : NULL, n);
    free(spans);
    return rc;
}

static int add_rendered(struct loader *l, const struct ks_rendered *r, uint32_t line)
{
    static const struct ks_span none;
    if (!l->spec->assistant_only)
        return add_document(l, r->text, r->len, line, NULL, 0);
    if (!r->told)
        return ks_fail(l->err, KS_BAD_INPUT,
                       "score = \"assistant\" needs a render that returns a list of parts, those "
                       "that count as { assistant = text }; it returned one text");
    return add_document(l, r->text, r->len, line, r->spans ? r->spans : &none, r->n_spans);
}

static int add_chat(struct loader *l, const struct ks_record *r, uint32_t line)
{
    if (!l->spec->render)
        return add_family_chat(l, r, line);
    struct ks_rendered rendered = {0};
    if (l->spec->render(l->spec->render_ctx, r->messages, r->n_messages, &rendered, l->err))
        return FAILED;
    int rc = add_rendered(l, &rendered, line);
    free(rendered.text);
    free(rendered.spans);
    return rc;
}

/* ------------------------------------------------------------------ one file */

static int load_line(struct loader *l, const char *line, size_t len, uint32_t number)
{
    struct ks_record r = {0};
    if (ks_record_parse(l->spec->kind, line, len, &r, l->err))
        return FAILED;
    int rc = l->spec->kind == KS_CORPUS_TEXT ? add_document(l, r.text, r.len, number, NULL, 0)
                                             : add_chat(l, &r, number);
    ks_record_finish(&r);
    return rc;
}

static int load_lines(struct loader *l, struct ks_source *s)
{
    const char *line;
    size_t len;
    uint32_t number;
    size_t skipped = l->out.tallies[l->index].skipped_short;
    while (ks_source_line(s, &line, &len, &number)) {
        if (l->spec->max_documents && l->file_documents == l->spec->max_documents)
            break;
        int rc = load_line(l, line, len, number);
        if (rc == FAILED && l->err->code != KS_CANCELLED)
            ks_fail_prefix(l->err, "%s:%u", l->file, number);
        if (rc != GO_ON)
            return rc;
    }
    if (l->file_documents || l->out.tallies[l->index].skipped_short > skipped)
        return GO_ON;
    return ks_fail(l->err, KS_BAD_INPUT, "%s: holds no documents", l->file);
}

static int load_file(struct loader *l, const char *path)
{
    bool lines = ks_path_ends(path, ".jsonl");
    if (!lines && !ks_path_ends(path, ".txt"))
        return ks_fail(l->err, KS_UNSUPPORTED,
                       "%s: corpora are .txt files (one document) or .jsonl files (one a line)",
                       l->file);
    if (!lines && l->spec->kind == KS_CORPUS_CHAT)
        return ks_fail(l->err, KS_BAD_INPUT,
                       "%s: a chat corpus is a .jsonl with {\"messages\": [...]} on each line; use "
                       "text(...) for plain text",
                       l->file);
    struct ks_source s;
    if (ks_source_read(path, l->file, &s, l->err))
        return FAILED;
    l->file_documents = 0;
    int rc;
    if (lines) {
        rc = load_lines(l, &s);
    } else {
        rc = add_document(l, s.bytes, s.len, 0, NULL, 0);
        if (rc == FAILED && l->err->code != KS_CANCELLED)
            ks_fail_prefix(l->err, "%s", l->file);
    }
    ks_source_finish(&s);
    return rc;
}

/* ------------------------------------------------------------------ one corpus */

static int check_spec(const struct loader *l)
{
    const struct ks_corpus_spec *s = l->spec;
    if (s->n_paths == 0)
        return ks_fail(l->err, KS_BAD_INPUT, "the corpus has no files");
    if (s->max_tokens == 1)
        return ks_fail(l->err, KS_BAD_INPUT,
                       "max_tokens = 1 leaves nothing to score; the least is 2");
    if (s->kind == KS_CORPUS_TEXT && s->assistant_only)
        return ks_fail(l->err, KS_BAD_INPUT, "score = \"assistant\" is for chat corpora");
    if (s->kind == KS_CORPUS_TEXT)
        return 0;
    if (!s->render && !ks_chat_known(l->family))
        return ks_fail(
            l->err, KS_BAD_INPUT,
            "the model has no chat template that is known here; give the corpus a format "
            "(render = \"chatml\", or a Lua file of yours, copied from scenarios/chats) "
            "or a render = function(messages) ... end that returns the text");
    return 0;
}

/* In front of what does not name a file: where the scenario defines the corpus, or its name. */
static int blame_spec(const struct loader *l)
{
    if (l->spec->where)
        return ks_fail_prefix(l->err, "%s", l->spec->where);
    return ks_fail_prefix(l->err, "corpus %s", l->spec->name ? l->spec->name : "without a name");
}

static int load_spec(struct loader *l)
{
    const struct ks_corpus_spec *s = l->spec;
    if (check_spec(l))
        return blame_spec(l);
    l->scored = 0;
    int rc = GO_ON;
    for (size_t i = 0; i < s->n_paths && rc == GO_ON; i++) {
        l->file = keep_name(l, s->shown ? s->shown[i] : s->paths[i]);
        rc = l->file ? load_file(l, s->paths[i]) : FAILED;
    }
    if (rc == FAILED)
        return FAILED;
    if (!l->out.tallies[l->index].documents) {
        ks_fail(l->err, KS_BAD_INPUT, "every document is shorter than two tokens");
        return blame_spec(l);
    }
    if (s->assistant_only && !l->scored) {
        ks_fail(l->err, KS_BAD_INPUT,
                "score = \"assistant\" leaves nothing to score: no message has that role");
        return blame_spec(l);
    }
    return GO_ON;
}

int ks_corpus_load(const struct ks_corpus_spec *specs, size_t n_specs,
                   const struct ks_tokenizer *tokenizer, const char *chat_family,
                   bool (*keep_going)(void *ctx, size_t documents), void *ctx,
                   struct ks_corpus *out, struct ks_error *err)
{
    struct loader l = {.tokenizer = tokenizer,
                       .family = chat_family,
                       .keep_going = keep_going,
                       .ctx = ctx,
                       .err = err};
    l.out.n_corpora = n_specs;
    l.out.tallies = calloc(n_specs + 1, sizeof *l.out.tallies);
    l.out.hashes = calloc(n_specs + 1, sizeof *l.out.hashes);
    l.out.memory = calloc(1, sizeof(struct names));
    int rc = 0;
    if (!l.out.tallies || !l.out.hashes || !l.out.memory)
        rc = ks_fail_memory(err, n_specs * sizeof *l.out.tallies, "corpora");
    for (; l.index < n_specs && rc == 0; l.index++) {
        l.spec = &specs[l.index];
        rc = load_spec(&l);
    }
    ks_buf_finish(&l.text);
    if (rc)
        ks_corpus_finish(&l.out);
    else
        *out = l.out;
    return rc;
}

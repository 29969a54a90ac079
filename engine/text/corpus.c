#include "engine/text/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/path.h"
#include "engine/text/document/chat.h"
#include "engine/text/document/loading.h"
#include "engine/text/document/record.h"
#include "engine/text/document/source.h"

/* The names of files, for the documents. */
struct names {
    char **at;
    size_t n, cap;
};

/* ------------------------------------------------------------------ memory */

static const char *keep_name(struct ks_loading *l, const char *name)
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

static int add_family_chat(struct ks_loading *l, const struct ks_record *r, uint32_t line)
{
    struct ks_span *spans = calloc(r->n_messages, sizeof *spans);
    if (!spans)
        return ks_fail_memory(l->err, r->n_messages * sizeof *spans, "messages");
    l->rendered.len = 0;
    int rc = ks_chat_render(l->family, r->messages, r->n_messages, &l->rendered, spans, l->err);
    size_t n = keep_assistant(r, spans);
    if (rc == KS_GO_ON)
        rc = l->add(l, l->rendered.bytes, l->rendered.len, line,
                    l->spec->assistant_only ? spans : NULL, n);
    free(spans);
    return rc;
}

static int add_rendered(struct ks_loading *l, const struct ks_rendered *r, uint32_t line)
{
    static const struct ks_span none;
    if (!l->spec->assistant_only)
        return l->add(l, r->text, r->len, line, NULL, 0);
    if (!r->told)
        return ks_fail(l->err, KS_BAD_INPUT,
                       "score = \"assistant\" needs a render that returns a list of parts, those "
                       "that count as { assistant = text }; it returned one text");
    return l->add(l, r->text, r->len, line, r->spans ? r->spans : &none, r->n_spans);
}

static int add_chat(struct ks_loading *l, const struct ks_record *r, uint32_t line)
{
    if (!l->spec->render)
        return add_family_chat(l, r, line);
    struct ks_rendered rendered = {0};
    if (l->spec->render(l->spec->render_ctx, r->messages, r->n_messages, &rendered, l->err))
        return KS_FAILED;
    int rc = add_rendered(l, &rendered, line);
    free(rendered.text);
    free(rendered.spans);
    return rc;
}

/* ------------------------------------------------------------------ one file */

static int load_line(struct ks_loading *l, const char *line, size_t len, uint32_t number)
{
    struct ks_record r = {0};
    if (ks_record_parse(l->spec->kind, line, len, &r, l->err))
        return KS_FAILED;
    int rc = l->spec->kind == KS_CORPUS_TEXT ? l->add(l, r.text, r.len, number, NULL, 0)
                                             : add_chat(l, &r, number);
    ks_record_finish(&r);
    return rc;
}

static int load_lines(struct ks_loading *l, struct ks_source *s)
{
    const char *line;
    size_t len;
    uint32_t number;
    size_t skipped = l->out.tallies[l->index].skipped_short;
    while (ks_source_line(s, &line, &len, &number)) {
        if (l->spec->max_documents && l->file_documents == l->spec->max_documents)
            break;
        int rc = load_line(l, line, len, number);
        if (rc == KS_FAILED && l->err->code != KS_CANCELLED)
            ks_fail_prefix(l->err, "%s:%u", l->file, number);
        if (rc != KS_GO_ON)
            return rc;
    }
    if (l->file_documents || l->out.tallies[l->index].skipped_short > skipped)
        return KS_GO_ON;
    return ks_fail(l->err, KS_BAD_INPUT, "%s: holds no documents", l->file);
}

static int load_file(struct ks_loading *l, const char *path)
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
        return KS_FAILED;
    l->file_documents = 0;
    int rc;
    if (lines) {
        rc = load_lines(l, &s);
    } else {
        rc = l->add(l, s.bytes, s.len, 0, NULL, 0);
        if (rc == KS_FAILED && l->err->code != KS_CANCELLED)
            ks_fail_prefix(l->err, "%s", l->file);
    }
    ks_source_finish(&s);
    return rc;
}

/* ------------------------------------------------------------------ one corpus */

static int check_spec(const struct ks_loading *l)
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
static int blame_spec(const struct ks_loading *l)
{
    if (l->spec->where)
        return ks_fail_prefix(l->err, "%s", l->spec->where);
    return ks_fail_prefix(l->err, "corpus %s", l->spec->name ? l->spec->name : "without a name");
}

static int load_spec(struct ks_loading *l)
{
    const struct ks_corpus_spec *s = l->spec;
    if (check_spec(l))
        return blame_spec(l);
    l->scored = 0;
    int rc = KS_GO_ON;
    for (size_t i = 0; i < s->n_paths && rc == KS_GO_ON; i++) {
        l->file = keep_name(l, s->shown ? s->shown[i] : s->paths[i]);
        rc = l->file ? load_file(l, s->paths[i]) : KS_FAILED;
    }
    if (rc == KS_FAILED)
        return KS_FAILED;
    if (!l->out.tallies[l->index].documents) {
        ks_fail(l->err, KS_BAD_INPUT, "every document is shorter than two tokens");
        return blame_spec(l);
    }
    if (s->assistant_only && !l->scored) {
        ks_fail(l->err, KS_BAD_INPUT,
                "score = \"assistant\" leaves nothing to score: no message has that role");
        return blame_spec(l);
    }
    return KS_GO_ON;
}

static int load_specs(struct ks_loading *l, const struct ks_corpus_spec *specs, size_t n)
{
    l->out.n_corpora = n;
    l->out.tallies = calloc(n + 1, sizeof *l->out.tallies);
    l->out.hashes = calloc(n + 1, sizeof *l->out.hashes);
    l->out.memory = calloc(1, sizeof(struct names));
    if (!l->out.tallies || !l->out.hashes || !l->out.memory)
        return ks_fail_memory(l->err, n * sizeof *l->out.tallies, "corpora");
    for (; l->index < n; l->index++) {
        l->spec = &specs[l->index];
        if (load_spec(l))
            return -1;
    }
    return 0;
}

/* Gives what was loaded, or frees it. */
static int finish(struct ks_loading *l, int failed, struct ks_corpus *out)
{
    ks_buf_finish(&l->rendered);
    ks_buf_finish(&l->joined);
    if (failed)
        ks_corpus_finish(&l->out);
    else
        *out = l->out;
    return failed;
}

int ks_corpus_load(const struct ks_corpus_spec *specs, size_t n_specs,
                   const struct ks_tokenizer *tokenizer, const char *chat_family,
                   bool (*keep_going)(void *ctx, size_t documents), void *ctx,
                   struct ks_corpus *out, struct ks_error *err)
{
    struct ks_loading l = {.tokenizer = tokenizer,
                           .family = chat_family,
                           .keep_going = keep_going,
                           .ctx = ctx,
                           .add = ks_loading_add_document,
                           .err = err};
    return finish(&l, load_specs(&l, specs, n_specs), out);
}

int ks_corpus_load_joined(const struct ks_corpus_spec *specs, size_t n_specs,
                          const struct ks_tokenizer *tokenizer,
                          bool (*keep_going)(void *ctx, size_t documents), void *ctx,
                          struct ks_corpus *out, struct ks_error *err)
{
    struct ks_loading l = {.tokenizer = tokenizer,
                           .keep_going = keep_going,
                           .ctx = ctx,
                           .add = ks_loading_join,
                           .err = err};
    int failed = ks_loading_check_joined(&l, specs, n_specs) || load_specs(&l, specs, n_specs) ||
                         ks_loading_finish_joined(&l)
                     ? -1
                     : 0;
    return finish(&l, failed, out);
}

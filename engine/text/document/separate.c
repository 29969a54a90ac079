/* Documents by themselves. */
#include "engine/text/document/loading.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/document/mask.h"

struct ks_document *ks_loading_new_document(struct ks_loading *l)
{
    struct ks_document *documents = ks_grow(l->out.documents, &l->cap, l->out.n_documents,
                                            sizeof *documents, "documents", l->err);
    if (!documents)
        return NULL;
    l->out.documents = documents;
    return &documents[l->out.n_documents];
}

struct ks_hash ks_loading_hash(const struct ks_document *d)
{
    struct ks_hash h = ks_hash_bytes(d->ids, d->n * sizeof *d->ids);
    return d->scored ? ks_hash_join(h, ks_hash_bytes(d->scored, d->n)) : h;
}

/* Applies the limits to d; KS_ENOUGH where it is not wanted any more. */
static int cut(struct ks_loading *l, struct ks_document *d)
{
    struct ks_corpus_tally *tally = &l->out.tallies[l->index];
    size_t limit = l->spec->max_tokens;
    if (limit && d->n > limit - tally->tokens) {
        d->n = limit - tally->tokens;
        if (d->n < 2)
            return KS_ENOUGH;
        tally->cut = true;
    }
    return KS_GO_ON;
}

/* Counts d, which becomes the corpus's. */
static int count(struct ks_loading *l, const struct ks_document *d)
{
    struct ks_corpus_tally *tally = &l->out.tallies[l->index];
    struct ks_hash *hash = &l->out.hashes[l->index];
    *hash = ks_hash_join(*hash, ks_loading_hash(d));
    tally->documents++;
    tally->tokens += d->n;
    for (size_t i = 0; d->scored && i < d->n; i++)
        l->scored += d->scored[i];
    l->out.n_documents++;
    l->file_documents++;
    if (l->keep_going && !l->keep_going(l->ctx, l->out.n_documents))
        return ks_fail(l->err, KS_CANCELLED, "stopped while reading corpora");
    return l->spec->max_tokens && tally->tokens >= l->spec->max_tokens ? KS_ENOUGH : KS_GO_ON;
}

int ks_loading_tokenize(struct ks_loading *l, const char *text, size_t len, struct ks_document *d)
{
    bool chat = l->spec->kind == KS_CORPUS_CHAT;
    unsigned flags = KS_TOKENIZE_ADD;
    if (chat || l->spec->parse_special)
        flags |= KS_TOKENIZE_SPECIAL;
    struct ks_tokens tokens = {0};
    if (ks_tokenize(l->tokenizer, text, len, flags, &tokens, l->err)) {
        ks_tokens_finish(&tokens);
        return KS_FAILED;
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
    return KS_GO_ON;
}

static int mask(struct ks_loading *l, const char *text, size_t len, const struct ks_span *spans,
                size_t n_spans, struct ks_document *d)
{
    d->scored = calloc(d->n, 1);
    if (!d->scored)
        return ks_fail_memory(l->err, d->n, "the scored positions of a document");
    if (ks_mask_spans(l->tokenizer, d->ids, d->n, d->n_bos, text, len, spans, n_spans, d->scored,
                      l->err))
        return KS_FAILED;
    d->scored[0] = 0; /* nothing predicts the first token */
    return KS_GO_ON;
}

static int too_short(struct ks_loading *l, size_t n)
{
    if (l->spec->skip_short) {
        l->out.tallies[l->index].skipped_short++;
        return KS_GO_ON;
    }
    return ks_fail(l->err, KS_BAD_INPUT,
                   "a document of %zu token%s, and only the second can be scored; take it out, or "
                   "say short = \"skip\"",
                   n, n == 1 ? "" : "s");
}

/* spans: what counts, where not all does; NULL otherwise. */
int ks_loading_add_document(struct ks_loading *l, const char *text, size_t len, uint32_t line,
                            const struct ks_span *spans, size_t n_spans)
{
    struct ks_document d = {.corpus = (uint32_t)l->index, .file = l->file, .line = line};
    int rc = ks_loading_tokenize(l, text, len, &d);
    if (rc == KS_GO_ON && d.n < 2) {
        free(d.ids);
        return too_short(l, d.n);
    }
    if (rc == KS_GO_ON && spans)
        rc = mask(l, text, len, spans, n_spans, &d);
    if (rc == KS_GO_ON)
        rc = cut(l, &d);
    struct ks_document *place = rc == KS_GO_ON ? ks_loading_new_document(l) : NULL;
    if (!place) {
        free(d.ids);
        free(d.scored);
        return rc == KS_GO_ON ? KS_FAILED : rc;
    }
    *place = d;
    return count(l, &d);
}

/* All documents as one text, as llama-perplexity reads a file. */
#include "engine/text/document/loading.h"

static const char blank_line[] = "\n\n"; /* behind each document */

static int refuse(const struct ks_loading *l, const struct ks_corpus_spec *s, const char *why)
{
    ks_fail(l->err, KS_BAD_INPUT, "scoring = \"llama\" takes all corpora as one plain text: %s",
            why);
    if (s->where)
        return ks_fail_prefix(l->err, "%s", s->where);
    return ks_fail_prefix(l->err, "corpus %s", s->name ? s->name : "without a name");
}

int ks_loading_check_joined(struct ks_loading *l, const struct ks_corpus_spec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (specs[i].kind == KS_CORPUS_CHAT)
            return refuse(l, &specs[i], "chats have marks that it would not read as such");
        if (specs[i].parse_special)
            return refuse(l, &specs[i], "parse_special has no place there");
        if (specs[i].max_tokens && n > 1)
            return refuse(l, &specs[i],
                          "max_tokens would cut in its middle; give the files as one, "
                          "text({ \"a.jsonl\", \"b.jsonl\" }, { max_tokens = ... })");
    }
    return KS_GO_ON;
}

int ks_loading_join(struct ks_loading *l, const char *text, size_t len, uint32_t line,
                    const struct ks_span *spans, size_t n_spans)
{
    (void)spans, (void)n_spans;
    l->from_lines = line > 0;
    if (ks_buf_put(&l->joined, text, len, l->err) ||
        ks_buf_put(&l->joined, blank_line, sizeof blank_line - 1, l->err))
        return KS_FAILED;
    l->out.tallies[l->index].documents++;
    l->file_documents++;
    l->out.n_joined++;
    if (l->keep_going && !l->keep_going(l->ctx, l->out.n_joined))
        return ks_fail(l->err, KS_CANCELLED, "stopped while reading corpora");
    return KS_GO_ON;
}

/* A .txt by itself is the text, without a line behind it that it doesn't have; and one newline at
 * the end is dropped, as llama-perplexity drops it. */
static size_t length_of(const struct ks_loading *l)
{
    size_t len = l->joined.len;
    if (l->out.n_joined == 1 && !l->from_lines)
        len -= sizeof blank_line - 1;
    return len > 0 && l->joined.bytes[len - 1] == '\n' ? len - 1 : len;
}

/* The tallies of all specs in the first. */
static void sum_up(struct ks_corpus *c, const struct ks_document *d)
{
    c->tallies[0] =
        (struct ks_corpus_tally){.documents = 1, .tokens = d->n, .cut = c->tallies[0].cut};
    c->hashes[0] = ks_hash_join(ks_hash_bytes(NULL, 0), ks_loading_hash(d));
    c->n_corpora = 1;
}

int ks_loading_finish_joined(struct ks_loading *l)
{
    size_t limit = l->spec->max_tokens;
    struct ks_document *d = ks_loading_new_document(l);
    if (!d)
        return KS_FAILED;
    *d = (struct ks_document){.file = l->file};
    if (ks_loading_tokenize(l, l->joined.bytes, length_of(l), d))
        return KS_FAILED;
    l->out.n_documents = 1;
    if (limit && d->n > limit) {
        d->n = limit;
        l->out.tallies[0].cut = true;
    }
    sum_up(&l->out, d);
    return KS_GO_ON;
}

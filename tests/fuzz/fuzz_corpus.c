/*
 * Any bytes as a corpus: a .txt, a .jsonl of texts, one of chats, and as llama-perplexity reads
 * one. Refused with a reason that names the file, or documents of ids that the vocabulary has.
 */
#include <stdio.h>
#include <string.h>

#include "engine/gguf/parse.h"
#include "engine/text/corpus.h"
#include "engine/text/document/record.h"
#include "tests/fuzz/target.h"

static struct ks_tokenizer *make_tokenizer(void)
{
    struct ks_error err;
    size_t len;
    uint8_t *bytes = target_data("text/spm-1000.gguf", &len);
    struct ks_gguf *g = ks_gguf_open_memory("spm-1000.gguf", bytes, len, &err);
    target_must(g != NULL);
    struct ks_tokenizer *t = ks_tokenizer_create(g, NULL, &err);
    target_must(t != NULL);
    ks_gguf_close(g);
    free(bytes);
    return t;
}

static void check_documents(const struct ks_tokenizer *t, const struct ks_corpus *c, bool joined)
{
    target_must(c->n_documents > 0);
    for (size_t i = 0; i < c->n_documents; i++) {
        const struct ks_document *d = &c->documents[i];
        target_must(joined || d->n >= 2);
        for (size_t k = 0; k < d->n; k++)
            target_must(d->ids[k] >= 0 && (size_t)d->ids[k] < ks_tokenizer_vocab(t));
    }
}

static void load(const struct ks_tokenizer *t, const char *path, struct ks_corpus_spec *spec,
                 bool joined)
{
    char name[] = "corpus", where[512];
    char *paths[] = {where}, *shown[] = {name};
    struct ks_error err = {0};
    struct ks_corpus c = {0};
    snprintf(where, sizeof where, "%s", path);
    spec->name = name;
    spec->paths = paths;
    spec->shown = shown;
    spec->n_paths = 1;
    int failed = joined ? ks_corpus_load_joined(spec, 1, t, NULL, NULL, &c, &err)
                        : ks_corpus_load(spec, 1, t, "chatml", NULL, NULL, &c, &err);
    if (failed)
        target_must(err.code != KS_OK && strncmp(err.text, "corpus", 6) == 0);
    else
        check_documents(t, &c, joined);
    ks_corpus_finish(&c);
}

/* What a record's strings are is not seen once they are tokenized. */
static void read_record(enum ks_corpus_kind kind, const uint8_t *bytes, size_t len)
{
    struct ks_record r = {0};
    struct ks_error err = {0};
    if (ks_record_parse(kind, (const char *)bytes, len, &r, &err)) {
        target_must(err.code != KS_OK && err.text[0]);
        return;
    }
    target_must(kind == KS_CORPUS_TEXT ? r.text[r.len] == '\0' : r.n_messages > 0);
    for (size_t i = 0; i < r.n_messages; i++)
        target_must(strlen(r.messages[i].role) + strlen(r.messages[i].content) <= len);
    ks_record_finish(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct ks_tokenizer *t;
    if (!t)
        t = make_tokenizer();
    read_record(KS_CORPUS_TEXT, bytes, len);
    read_record(KS_CORPUS_CHAT, bytes, len);
    const char *text = target_file("corpus.txt", bytes, len);
    load(t, text, &(struct ks_corpus_spec){.kind = KS_CORPUS_TEXT, .parse_special = true}, false);
    load(t, text, &(struct ks_corpus_spec){.kind = KS_CORPUS_TEXT}, true);
    const char *lines = target_file("corpus.jsonl", bytes, len);
    load(t, lines, &(struct ks_corpus_spec){.kind = KS_CORPUS_TEXT, .skip_short = true}, false);
    load(t, lines, &(struct ks_corpus_spec){.kind = KS_CORPUS_TEXT}, true);
    load(t, lines, &(struct ks_corpus_spec){.kind = KS_CORPUS_CHAT, .assistant_only = true}, false);
    return 0;
}

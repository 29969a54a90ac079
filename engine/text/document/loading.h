/*
 * A load of corpora on its way: corpus.c reads files and hands each document's text on, to become a
 * document by itself (separate.c) or a part of one long text (joined.c).
 *
 * Private to engine/text.
 */
#ifndef KS_ENGINE_TEXT_DOCUMENT_LOADING_H
#define KS_ENGINE_TEXT_DOCUMENT_LOADING_H

#include "engine/text/corpus.h"

enum { KS_GO_ON = 0, KS_FAILED = -1, KS_ENOUGH = 1 }; /* ENOUGH: no more of this corpus */

struct ks_loading {
    const struct ks_tokenizer *tokenizer;
    const char *family;
    bool (*keep_going)(void *ctx, size_t documents);
    void *ctx;
    /* Takes text[0..len); spans (n_spans): what counts of it, where not all does, or NULL. KS_GO_ON
     * and so on, with *err where it failed. */
    int (*add)(struct ks_loading *l, const char *text, size_t len, uint32_t line,
               const struct ks_span *spans, size_t n_spans);
    struct ks_corpus out;
    size_t cap; /* of out.documents */
    /* What is being read. */
    const struct ks_corpus_spec *spec;
    size_t index;
    const char *file;
    size_t file_documents;
    size_t scored;          /* positions in the masks of this spec */
    struct ks_buf rendered; /* a chat */
    struct ks_buf joined;   /* all texts so far */
    bool from_lines;        /* the last of them is of a .jsonl */
    struct ks_error *err;
};

/* separate.c */
int ks_loading_add_document(struct ks_loading *l, const char *text, size_t len, uint32_t line,
                            const struct ks_span *spans, size_t n_spans);
/* Tokenizes text into d's ids, n and n_bos, as the spec wants it. */
int ks_loading_tokenize(struct ks_loading *l, const char *text, size_t len, struct ks_document *d);
/* A place behind the last document, which counts only once out.n_documents does; NULL when out of
 * memory. */
struct ks_document *ks_loading_new_document(struct ks_loading *l);
/* Of its ids, and its mask where it has one. */
struct ks_hash ks_loading_hash(const struct ks_document *d);

/* joined.c */
int ks_loading_join(struct ks_loading *l, const char *text, size_t len, uint32_t line,
                    const struct ks_span *spans, size_t n_spans);
/* Whether specs can be one text; KS_FAILED where they can't. */
int ks_loading_check_joined(struct ks_loading *l, const struct ks_corpus_spec *specs, size_t n);
/* Makes the one document. */
int ks_loading_finish_joined(struct ks_loading *l);

#endif

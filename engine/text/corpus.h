/*
 * Corpora: files to documents of token ids.
 *
 * .txt is one document a file; .jsonl one a line, {"text": ...} for text and {"messages": [{"role",
 * "content"}...]} for chat (blank lines and other keys are passed over). A text's bytes go to the
 * tokenizer as they are, line ends and invalid UTF-8 too; only a UTF-8 byte order mark at a file's
 * start is left out. Nothing is skipped in silence: what is left out by a limit that the user asked
 * for is counted in the ks_corpus.
 *
 * Chat is written by its family (document/chat.h) or by the spec's render function. A BOS that the
 * vocabulary asks for is not put in front of a rendered chat that starts with it already.
 *
 * Loading may take long; it runs on the caller's thread and uses no other. The result is immutable.
 */
#ifndef KS_ENGINE_TEXT_CORPUS_H
#define KS_ENGINE_TEXT_CORPUS_H

#include "engine/engine.h"
#include "engine/text/tokenizer.h"

struct ks_document {
    uint32_t corpus;  /* index into the specs */
    const char *file; /* as the scenario wrote it; owned by the ks_corpus */
    uint32_t line;    /* 1-based line of a .jsonl, 0 for a .txt */
    int32_t *ids;     /* (n); owned by the ks_corpus */
    size_t n;         /* >= 2 */
    size_t n_bos;     /* 1 where ids[0] is a BOS that the vocabulary asked for, else 0 */
    uint8_t *scored;  /* (n): 1 where ids[i] as a target counts; NULL: all do */
};

struct ks_corpus_tally {
    size_t documents, tokens;
    size_t skipped_short; /* with short = "skip" */
    bool cut;             /* max_tokens cut the last document */
};

struct ks_corpus {
    struct ks_document *documents; /* corpora in their given order, files and lines in order */
    size_t n_documents;
    struct ks_corpus_tally *tallies; /* one a spec; of what was joined, one */
    size_t n_corpora;
    size_t n_joined;        /* documents that were joined to one text; 0 where none were */
    struct ks_hash *hashes; /* likewise: of the documents' ids (and masks) in file order */
    void *memory;           /* private */
};

/*
 * Reads and tokenizes all specs. chat_family: how chat without a render function is written
 * (ks_chat_family), NULL is an error for those specs that says how to give `render`.
 * keep_going is called after each document with the count so far and returns false to stop
 * (KS_CANCELLED); it may be NULL.
 * Errors name file and line: unreadable, not UTF-8 JSON, a missing key, a document of fewer than
 * two tokens (unless short = "skip"), a file without documents.
 */
int ks_corpus_load(const struct ks_corpus_spec *specs, size_t n_specs,
                   const struct ks_tokenizer *tokenizer, const char *chat_family,
                   bool (*keep_going)(void *ctx, size_t documents), void *ctx,
                   struct ks_corpus *out, struct ks_error *err);
/*
 * The same as llama-perplexity would read it from one file: all specs are one document of one
 * corpus, which is the documents' texts in order with a blank line (two newlines) behind each, but
 * behind a .txt that is all there is; of newlines at the very end one is dropped. Tokenized as a
 * whole, with BOS and EOS where the vocabulary asks for them; marks of special tokens are plain
 * text. max_tokens cuts it. Besides the errors above: a chat, parse_special, and max_tokens where
 * there are several specs. It may be shorter than two tokens.
 */
int ks_corpus_load_joined(const struct ks_corpus_spec *specs, size_t n_specs,
                          const struct ks_tokenizer *tokenizer,
                          bool (*keep_going)(void *ctx, size_t documents), void *ctx,
                          struct ks_corpus *out, struct ks_error *err);
void ks_corpus_finish(struct ks_corpus *c); /* accepts a zeroed one */

#endif

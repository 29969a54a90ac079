/*
 * Tokenizers: text to ids exactly as llama.cpp makes them for the same vocabulary, from a GGUF's
 * own metadata. Byte-level BPE (`gpt2`, with the split named by tokenizer.ggml.pre),
 * SentencePiece-style BPE with byte fallback (`llama`), and Gemma 4's BPE over raw UTF-8
 * (`gemma4`).
 *
 * A ks_tokenizer does not change after creation as far as anybody can see (inside, it remembers
 * which words it has met); any thread may use it, many at once. It copies what it needs: the GGUF
 * may be closed.
 */
#ifndef KS_ENGINE_TEXT_TOKENIZER_H
#define KS_ENGINE_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/bytes.h"
#include "engine/gguf/gguf.h"

struct ks_tokenizer;

/* Token types as GGUF numbers them. */
enum ks_token_type {
    KS_TOKEN_NORMAL = 1,
    KS_TOKEN_UNKNOWN = 2,
    KS_TOKEN_CONTROL = 3,
    KS_TOKEN_USER_DEFINED = 4,
    KS_TOKEN_UNUSED = 5,
    KS_TOKEN_BYTE = 6,
};

/* A growing list of ids. Zero-initialize; ks_tokens_finish frees. */
struct ks_tokens {
    int32_t *ids;
    size_t n, cap;
};
int ks_tokens_put(struct ks_tokens *t, int32_t id, struct ks_error *err);
void ks_tokens_finish(struct ks_tokens *t);

/*
 * pre: a name that replaces the file's tokenizer.ggml.pre, or NULL. Refuses by name what is not
 * known: the tokenizer model, the pre (with the known ones). Without a pre it is "default". Texts
 * of errors name the key and the place in it; the file is the caller's to put in front.
 */
struct ks_tokenizer *ks_tokenizer_create(const struct ks_gguf *g, const char *pre,
                                         struct ks_error *err);
void ks_tokenizer_destroy(struct ks_tokenizer *t); /* accepts NULL */

enum {
    KS_TOKENIZE_SPECIAL = 1, /* control tokens written in the text are parsed, not literal */
    KS_TOKENIZE_ADD = 2,     /* BOS and EOS before and after, where the vocabulary asks for them */
};

/*
 * Appends the ids of text[0..len) to *out. text may hold any bytes, up to half a gigabyte. On
 * failure *out holds what it held before (its memory may have grown).
 *
 * Byte-level BPE and gemma4 see what is not UTF-8 as U+FFFD, a character for each byte; overlong
 * forms are the character they spell, and surrogates stay. SPM spells such bytes in byte tokens.
 */
int ks_tokenize(const struct ks_tokenizer *t, const char *text, size_t len, unsigned flags,
                struct ks_tokens *out, struct ks_error *err);

size_t ks_tokenizer_vocab(const struct ks_tokenizer *t);
const char *ks_tokenizer_kind(const struct ks_tokenizer *t); /* "bpe smollm", "spm", "gemma4" */

/* The bytes that id stands for in text (a control token: its own text); not NUL-terminated, owned
 * by the tokenizer. id in 0..vocab-1. */
struct ks_str ks_token_bytes(const struct ks_tokenizer *t, int32_t id);
enum ks_token_type ks_token_type(const struct ks_tokenizer *t, int32_t id);

/* Ids of special tokens, -1 where the vocabulary has none. */
int32_t ks_tokenizer_bos(const struct ks_tokenizer *t);
int32_t ks_tokenizer_eos(const struct ks_tokenizer *t);
bool ks_tokenizer_adds_bos(const struct ks_tokenizer *t);
bool ks_tokenizer_adds_eos(const struct ks_tokenizer *t);

/* Hash of what makes ids: model kind, pre, token texts, types, merges, special ids; scores where
 * they matter (SPM). */
struct ks_hash ks_tokenizer_hash(const struct ks_tokenizer *t);

/* What reference and arm must share: the same number of tokens with the same bytes in order. -1
 * with the first difference in *err. What merely differs (types, scores, merges, pre, specials)
 * goes to warn, one call a kind, naming each difference; warn may be NULL. */
int ks_tokenizer_compare(const struct ks_tokenizer *reference, const struct ks_tokenizer *arm,
                         void (*warn)(void *ctx, const char *text), void *ctx,
                         struct ks_error *err);

/* Where a GGUF names a chat template: the family this program renders it as, or NULL (none, or one
 * it does not know). "chatml" for now; what a template adds to a conversation by itself, like a
 * system message where there is none, is not rendered. */
const char *ks_chat_family(const struct ks_gguf *g);

#endif

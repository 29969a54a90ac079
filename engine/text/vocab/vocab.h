/*
 * A vocabulary as its GGUF gives it, checked whole: the tokens, what they are looked up by, what
 * they stand for, which are special, and the merges.
 *
 * A ks_vocab is filled once by ks_vocab_load and immutable then; any thread may read it. It copies
 * all it needs.
 */
#ifndef KS_ENGINE_TEXT_VOCAB_VOCAB_H
#define KS_ENGINE_TEXT_VOCAB_VOCAB_H

#include <stdbool.h>

#include "engine/text/split/pre.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocab/index.h"

/* What tokenizing asks of a token; what its type says, but for tokens whose text says more. */
enum {
    KS_TOKEN_IS_CONTROL = 1,      /* control or unknown: parsed only where that is asked for */
    KS_TOKEN_IS_USER_DEFINED = 2, /* always parsed */
    KS_TOKEN_EATS_SPACE = 4,      /* white space behind it belongs to it */
};

struct ks_pair {
    int32_t left, right; /* left -1: an empty slot */
    uint32_t rank;
    int32_t id;
};

enum ks_vocab_model { KS_VOCAB_BPE, KS_VOCAB_SPM, KS_VOCAB_GEMMA4 };

struct ks_vocab {
    enum ks_vocab_model model;
    const struct ks_pre *pre; /* NULL for SPM */
    size_t n;
    struct ks_str *text;  /* (n) as the file spells them, "[EMPTY_i]" where it does not */
    struct ks_str *key;   /* (n) as the merger sees them; bytes NULL: it never does */
    struct ks_str *bytes; /* (n) what they stand for */
    float *scores;        /* (n) */
    uint32_t *ranks;      /* (n) SPM: the order of the scores, 0 the highest; else NULL */
    int32_t *types;       /* (n) */
    uint8_t *flags;       /* (n) KS_TOKEN_IS_... */
    size_t longest_key;
    struct ks_index keys;
    int32_t byte_id[256]; /* the token of a byte where nothing longer fits, -1: none */
    struct ks_pair *pairs;
    size_t pair_mask;
    uint64_t n_merges;
    struct ks_hash merges_hash;
    int32_t bos, eos, unk; /* -1: none */
    bool add_bos, add_eos, add_space_prefix;
    /* Bit b of joined[a]: in some token a character that ends with byte a stands before one that
     * begins with byte b. Where others meet, no merge joins them. For tokens in UTF-8. */
    uint64_t joined[256][4];
    char *arena[2];
};

/* pre as in ks_tokenizer_create. Texts of errors name the key, not the file. */
int ks_vocab_load(struct ks_vocab *v, const struct ks_gguf *g, const char *pre,
                  struct ks_error *err);
void ks_vocab_finish(struct ks_vocab *v); /* accepts a zeroed one */

/* ---- parts of loading */

/* An array of the metadata with the wanted item type and, unless n is 0, n items. required: absent
 * is an error; otherwise *out is NULL then. */
int ks_vocab_array(const struct ks_gguf *g, const char *key, enum ks_gguf_value_type type,
                   uint64_t n, bool required, const struct ks_gguf_value **out,
                   struct ks_error *err);
void ks_vocab_spell(struct ks_vocab *v); /* fills key and bytes from text and types */
/* texts: of all tokens. */
int ks_vocab_load_specials(struct ks_vocab *v, const struct ks_gguf *g,
                           const struct ks_index *texts, struct ks_error *err);
int ks_vocab_load_merges(struct ks_vocab *v, const struct ks_gguf *g, struct ks_error *err);

/* The merge of two adjacent tokens, NULL where there is none. */
const struct ks_pair *ks_vocab_pair(const struct ks_vocab *v, int32_t left, int32_t right);

/* A token's text for messages: quoted, control bytes as \xNN, cut where it is long. */
#define KS_VOCAB_SHOWN 96
const char *ks_vocab_show(struct ks_str s, char out[KS_VOCAB_SHOWN]);

/* U+2581, which stands for a space in SentencePiece's vocabularies. */
#define KS_SPACE_MARK     "\xE2\x96\x81"
#define KS_SPACE_MARK_LEN 3

#endif

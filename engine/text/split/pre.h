/*
 * The table of `tokenizer.ggml.pre`: how a byte-level BPE vocabulary wants its text cut into words
 * before merging, and what else its name implies.
 *
 * Constant data; any thread.
 */
#ifndef KS_ENGINE_TEXT_SPLIT_PRE_H
#define KS_ENGINE_TEXT_SPLIT_PRE_H

#include <stddef.h>

#include "engine/text/split/classes.h"

enum ks_step_kind {
    KS_STEP_END = 0,
    KS_STEP_PATTERN,       /* matches are words, and so is what lies between them */
    KS_STEP_NUMBER_GROUPS, /* cuts behind runs of numbers, and inside them every three from there */
    KS_STEP_DIGIT_GROUPS,  /* cuts runs of ASCII digits every three from their end */
};

/*
 * What a pattern is known to match at a plain word: a blank or none, then ASCII letters, then the
 * piece's end or an ASCII character that is neither a letter nor an apostrophe.
 */
enum ks_plain_words {
    KS_PLAIN_NONE = 0, /* nothing is known */
    KS_PLAIN_ANY,      /* all of it */
    KS_PLAIN_CASED,    /* all of it, where no capital follows a small letter */
};

/* One step over the pieces that the steps before it left; it never looks beyond a piece. */
struct ks_step {
    enum ks_step_kind kind;
    const char *pattern;           /* PCRE2 over class bytes; matches at least one byte */
    const struct ks_code_set *set; /* of the classes; NULL: categories */
    enum ks_plain_words plain;     /* saves most words from the pattern; changes nothing */
};

enum {
    KS_PRE_WHOLE_WORDS = 1, /* a word that is a token is that token, whatever the merges say */
    KS_PRE_ADDS_BOS = 2,    /* add_bos_token's default is true */
    KS_PRE_FORCES_BOS = 4,  /* BOS is added whatever add_bos_token says */
    KS_PRE_NO_BOS = 8,      /* BOS has no default id */
    KS_PRE_RAW = 16,        /* tokens are spelled in UTF-8, not in the byte alphabet */
    KS_PRE_ESCAPES = 32,    /* a space is written U+2581 */
    KS_PRE_NEWLINES = 64,   /* a run of newlines that is a token is that token */
};

struct ks_pre {
    const char *name;
    const struct ks_step *steps; /* ends with KS_STEP_END */
    unsigned flags;
};

const struct ks_pre *ks_pre_find(const char *name, size_t len); /* NULL where unknown */
const struct ks_pre *ks_pre_at(size_t i);                       /* NULL past the end */

#endif

/*
 * Finding special tokens in text, before anything else looks at it.
 *
 *   ks_specials  the tokens to look for. Immutable once created; any thread.
 *   ks_parts     a text cut at them. One thread.
 */
#ifndef KS_ENGINE_TEXT_VOCAB_SPECIALS_H
#define KS_ENGINE_TEXT_VOCAB_SPECIALS_H

#include "engine/text/vocab/vocab.h"

struct ks_specials {
    size_t n;
    struct ks_str *texts; /* (n) the longest first, then by id */
    int32_t *ids;         /* (n) */
    uint8_t *flags;       /* (n) of the tokens */
    struct ks_index index;
    /* Lengths of the texts that start with byte b: lengths[first[b]..first[b + 1]). */
    uint32_t *lengths;
    uint32_t first[257];
};

/* The special tokens of v; control: control tokens too, not only user-defined ones. Zero-initialize
 * before; texts point into v. */
int ks_specials_create(struct ks_specials *s, const struct ks_vocab *v, bool control,
                       struct ks_error *err);
void ks_specials_finish(struct ks_specials *s);

struct ks_part {
    size_t start, len;
    int32_t id; /* -1: text */
};
struct ks_parts {
    struct ks_part *at;
    size_t n, cap;
};

/*
 * Cuts text at its special tokens; zero-initialize *out before the first. Longer tokens are found
 * first, everywhere, then shorter ones in what is left; equal ones from left to right. White space
 * that a token eats is in no part.
 */
int ks_specials_cut(const struct ks_specials *s, const char *text, size_t len, struct ks_parts *out,
                    struct ks_error *err);

#endif

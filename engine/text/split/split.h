/*
 * Cutting text into words: the steps of a `pre`, run.
 *
 *   ks_splitter  a pre's patterns, compiled. Immutable; any thread.
 *   ks_split     the memory and result of one cut at a time. One thread.
 */
#ifndef KS_ENGINE_TEXT_SPLIT_SPLIT_H
#define KS_ENGINE_TEXT_SPLIT_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/text/split/pre.h"

struct ks_splitter;

struct ks_splitter *ks_splitter_create(const struct ks_pre *pre, struct ks_error *err);
void ks_splitter_destroy(struct ks_splitter *s); /* accepts NULL */

/* Where pieces end, ascending. */
struct ks_ends {
    uint32_t *at;
    size_t n, cap;
};

struct ks_split {
    /* The result: text as it is tokenized (lenient decoding replaced what is not UTF-8) and the
     * byte offset in it where each word ends. Valid until the next ks_split_run. */
    const char *text;
    size_t len;
    const struct ks_ends *words;
    /* Private. */
    char *clean;
    unsigned char *classes;
    size_t cap;
    const struct ks_code_set *set;
    struct ks_ends ends[2];
    void *match;
};

/* Zero-initialize before the first. text may hold any bytes; len below 2^31. */
int ks_split_run(const struct ks_splitter *s, struct ks_split *w, const char *text, size_t len,
                 struct ks_error *err);
void ks_split_finish(struct ks_split *w);

#endif

/*
 * Words that were met and the ids they became, because words repeat. Bounded: a word takes the
 * place of the one that was in its slot, and long words are not kept. What is forgotten is merged
 * anew, to the same ids.
 *
 *   ks_words       one memory. One thread at a time.
 *   ks_words_pool  those of a tokenizer that nobody uses just now: as many as threads ever
 *                  tokenized at once. Any thread.
 */
#ifndef KS_ENGINE_TEXT_WORDS_H
#define KS_ENGINE_TEXT_WORDS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

enum { KS_WORD_BYTES = 16, KS_WORD_IDS = 11 };

/* A cache line. head and tail are the first and the last bytes, which may overlap: with len they
 * are the word. */
struct ks_word {
    uint64_t head, tail;
    uint8_t len;
    uint8_t n; /* 0: not known yet */
    int32_t ids[KS_WORD_IDS];
};

struct ks_words;

/*
 * The slot of bytes[0..len), 1 <= len <= KS_WORD_BYTES, which is the word's from now on. Where its
 * n is 0 the caller fills ids and n, or leaves it so. Valid until the next call.
 */
struct ks_word *ks_words_slot(struct ks_words *w, const char *bytes, size_t len);

struct ks_words_pool {
    pthread_mutex_t lock;
    struct ks_words *idle;
};

void ks_words_pool_init(struct ks_words_pool *pool);
void ks_words_pool_finish(struct ks_words_pool *pool); /* all must have been given back */

/* NULL with *err when out of memory. Give it back. */
struct ks_words *ks_words_take(struct ks_words_pool *pool, struct ks_error *err);
void ks_words_give(struct ks_words_pool *pool, struct ks_words *w); /* accepts NULL */

#endif

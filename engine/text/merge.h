/*
 * Merging: from single bytes or characters to tokens.
 *
 * Of all adjacent pairs that a vocabulary can join, the one of the best rank is joined, the
 * leftmost of equals, until none is left. Byte-pair vocabularies rank pairs by their place in the
 * list of merges; SentencePiece's rank what a pair makes by its score.
 *
 * A ks_merger is scratch memory for one thread; zero-initialize it.
 */
#ifndef KS_ENGINE_TEXT_MERGE_H
#define KS_ENGINE_TEXT_MERGE_H

#include "engine/text/vocab/vocab.h"

struct ks_piece {
    uint32_t start, len; /* bytes of the word */
    int32_t id;          /* -1: not a token */
};

struct ks_merger {
    /* The word. */
    struct ks_piece *pieces; /* (n) */
    size_t n, cap;
    /* Private, for long words. */
    struct ks_link *links; /* (cap_links) */
    struct ks_candidate *heap;
    size_t cap_links, n_heap, cap_heap;
};

/* Makes word[0..len) the word: each of its bytes or characters a piece. A character is as long as
 * its lead byte says, or what is left. */
int ks_merger_bytes(struct ks_merger *m, const struct ks_vocab *v, const char *word, size_t len,
                    struct ks_error *err);
int ks_merger_chars(struct ks_merger *m, const struct ks_vocab *v, const char *word, size_t len,
                    struct ks_error *err);

/* Merges the pieces; what is left of them is the result. Looks up at most three pairs a piece.
 * word is what they were made of. */
int ks_merger_run(struct ks_merger *m, const struct ks_vocab *v, const char *word,
                  struct ks_error *err);

void ks_merger_finish(struct ks_merger *m);

#endif

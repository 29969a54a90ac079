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
    uint32_t start, len; /* bytes of the text; len 0: merged into the piece before */
    int32_t id;          /* -1: not a token */
    uint32_t prev, next; /* KS_NO_PIECE at the ends */
};
#define KS_NO_PIECE UINT32_MAX

struct ks_candidate {
    uint64_t order; /* rank, then place */
    uint32_t right, len;
    int32_t id;
};

struct ks_merger {
    struct ks_piece *pieces;
    size_t n, cap;
    struct ks_candidate *heap;
    size_t n_heap, cap_heap;
};

/* Replaces the pieces by text's bytes or characters. A character is as long as its lead byte says,
 * or what is left. */
int ks_merger_bytes(struct ks_merger *m, const struct ks_vocab *v, const char *text, size_t len,
                    struct ks_error *err);
int ks_merger_chars(struct ks_merger *m, const struct ks_vocab *v, const char *text, size_t len,
                    struct ks_error *err);

/* Merges pieces[first..end); the result is the chain from pieces[first] by next. text is the one
 * the pieces were made of. */
int ks_merger_run(struct ks_merger *m, const struct ks_vocab *v, const char *text, size_t first,
                  size_t end, struct ks_error *err);

void ks_merger_finish(struct ks_merger *m);

#endif

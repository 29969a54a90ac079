/*
 * Windows: how documents are cut for a model with a limited context so that every token with a
 * successor is scored exactly once, with at least `context_min` tokens before it.
 *
 * With window w and context_min c, window k of a document covers tokens [k(w-c), k(w-c)+w) and
 * scores those of its positions that no earlier window scored and that have a successor. So the
 * first window scores all its positions and a later one its positions from c on; no position is
 * lost at a cut. A window that would score nothing is not formed.
 *
 * Pure; any thread.
 */
#ifndef KS_ENGINE_RUN_WINDOWS_H
#define KS_ENGINE_RUN_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

struct ks_window {
    uint32_t document;
    size_t start;  /* token of the document that row 0 holds */
    size_t rows;   /* tokens to evaluate; the last one is scored (rows behind it serve nobody) */
    size_t first;  /* rows from here on are scored: position start + row predicts the next token */
    size_t scored; /* how many are: rows - first, or fewer where the document has a mask */
};

/* tokens[n_documents], each >= 2; 2 <= window; 1 <= context_min < window. *out is the caller's to
 * free(), in document order. */
int ks_windows_cut(const size_t *tokens, size_t n_documents, size_t window, size_t context_min,
                   struct ks_window **out, size_t *n_out, struct ks_error *err);

/* The windows of llama-perplexity: document 0, of so many tokens, in whole windows that don't
 * overlap, of which the positions window / 2 .. window - 2 are scored. The tokens - *n_out * window
 * at the end are left over. window >= 3. */
int ks_windows_chunk(size_t tokens, size_t window, struct ks_window **out, size_t *n_out,
                     struct ks_error *err);

/* Takes a document's mask into account: masks[document], NULL or one byte a token, 0 where the
 * token as a target does not count. Rows behind the last one that counts are cut off; windows
 * without any go. Works in place; returns how many windows are left. */
size_t ks_windows_mask(struct ks_window *windows, size_t n, const uint8_t *const *masks);

/* The run's window that is number k (from 0) of a shard, and how many of n windows a shard has. */
size_t ks_shard_window(const struct ks_shard *s, size_t k);
size_t ks_shard_count(const struct ks_shard *s, size_t n);
/* Leaves a shard's windows, in place; returns how many. */
size_t ks_windows_take(struct ks_window *windows, size_t n, const struct ks_shard *s);

#endif

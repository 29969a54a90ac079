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

#include "engine/base/error.h"

struct ks_window {
    uint32_t document;
    size_t start;  /* token of the document that row 0 holds */
    size_t rows;   /* tokens to evaluate; the last one is scored (rows behind it serve nobody) */
    size_t first;  /* first scored row */
    size_t scored; /* rows - first: position start + row predicts token start + row + 1 */
};

/* tokens[n_documents], each >= 2; 2 <= window; 1 <= context_min < window. *out is the caller's to
 * free(), in document order. */
int ks_windows_cut(const size_t *tokens, size_t n_documents, size_t window, size_t context_min,
                   struct ks_window **out, size_t *n_out, struct ks_error *err);

#endif

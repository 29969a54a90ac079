#include "engine/run/windows.h"

#include <assert.h>
#include <stdlib.h>

/* The windows of one document, in order: fills out (which may be NULL) and returns how many. */
static size_t cut_document(size_t tokens, uint32_t document, size_t window, size_t context_min,
                           struct ks_window *out)
{
    size_t n = 0;
    size_t scored_to = 0; /* positions below it are scored by earlier windows */
    for (size_t start = 0; scored_to + 1 < tokens; start += window - context_min) {
        size_t end = tokens - start < window ? tokens : start + window;
        size_t score_end = end < tokens ? end : tokens - 1;
        if (out)
            out[n] = (struct ks_window){
                .document = document,
                .start = start,
                .rows = score_end - start,
                .first = scored_to - start,
                .scored = score_end - scored_to,
            };
        n++;
        scored_to = score_end;
    }
    return n;
}

int ks_windows_cut(const size_t *tokens, size_t n_documents, size_t window, size_t context_min,
                   struct ks_window **out, size_t *n_out, struct ks_error *err)
{
    assert(window >= 2 && context_min >= 1 && context_min < window);
    size_t n = 0;
    for (size_t d = 0; d < n_documents; d++)
        n += cut_document(tokens[d], (uint32_t)d, window, context_min, NULL);
    struct ks_window *windows = calloc(n ? n : 1, sizeof *windows);
    if (!windows)
        return ks_fail_memory(err, n * sizeof *windows, "the list of windows");
    size_t at = 0;
    for (size_t d = 0; d < n_documents; d++)
        at += cut_document(tokens[d], (uint32_t)d, window, context_min, windows + at);
    *out = windows;
    *n_out = n;
    return 0;
}

int ks_windows_chunk(size_t tokens, size_t window, struct ks_window **out, size_t *n_out,
                     struct ks_error *err)
{
    assert(window >= 3);
    size_t n = tokens / window, first = window / 2;
    struct ks_window *windows = calloc(n ? n : 1, sizeof *windows);
    if (!windows)
        return ks_fail_memory(err, n * sizeof *windows, "the list of windows");
    for (size_t i = 0; i < n; i++)
        windows[i] = (struct ks_window){
            .start = i * window,
            .rows = window - 1,
            .first = first,
            .scored = window - 1 - first,
        };
    *out = windows;
    *n_out = n;
    return 0;
}

/* Counts the rows of a window whose target counts, and ends the window behind the last. */
static void mask_window(struct ks_window *w, const uint8_t *mask)
{
    size_t scored = 0, rows = 0;
    for (size_t row = w->first; row < w->rows; row++) {
        if (!mask[w->start + row + 1])
            continue;
        scored++;
        rows = row + 1;
    }
    w->scored = scored;
    w->rows = rows;
}

size_t ks_windows_mask(struct ks_window *windows, size_t n, const uint8_t *const *masks)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        struct ks_window w = windows[i];
        if (masks[w.document])
            mask_window(&w, masks[w.document]);
        if (w.scored > 0)
            windows[left++] = w;
    }
    return left;
}

size_t ks_shard_window(const struct ks_shard *s, size_t k)
{
    return s->of > 1 ? k * s->of + s->number - 1 : k;
}

size_t ks_shard_count(const struct ks_shard *s, size_t n)
{
    if (s->of <= 1)
        return n;
    return n < s->number ? 0 : (n - s->number) / s->of + 1;
}

size_t ks_windows_take(struct ks_window *windows, size_t n, const struct ks_shard *s)
{
    size_t left = ks_shard_count(s, n);
    for (size_t k = 0; k < left; k++)
        windows[k] = windows[ks_shard_window(s, k)];
    return left;
}

/*
 * Tallies: one arm's positions to its numbers.
 *
 * Each window has its own sums in position order; totals add windows in index order; clusters (a
 * document each, or a window where there is one document) give the standard error. So threads,
 * batches, resume and merged shards give the same bits. Exact quantiles need every KLD: they are
 * kept as sorted runs (order.h), at most 18 bytes a position.
 *
 * A ks_tally belongs to one thread at a time. Windows are added in index order, so a document's
 * windows follow each other.
 */
#ifndef KS_ENGINE_RULER_TALLY_H
#define KS_ENGINE_RULER_TALLY_H

#include "engine/engine.h"
#include "engine/ruler/ruler.h"

struct ks_tally;

/* n_corpora for the per-corpus numbers; n_documents_total decides the cluster (document if > 1,
 * else window); n_positions_max is what the run can add at most, measured or not. */
struct ks_tally *ks_tally_create(size_t n_corpora, size_t n_documents_total, size_t n_positions_max,
                                 struct ks_error *err);
void ks_tally_destroy(struct ks_tally *t); /* accepts NULL */

/* Where a window's positions come from. */
struct ks_tally_window {
    uint32_t corpus, document;
    const int32_t *offsets; /* (n) the positions in the document, for the non-finite list */
};

/* Adds one window: n rows of the reference and of the arm in position order. The reference tally
 * itself (perplexity of all its measured positions) passes arm == NULL, always. On failure the
 * tally is as before. */
int ks_tally_add(struct ks_tally *t, const struct ks_tally_window *w, const struct ks_ref_row *ref,
                 const struct ks_arm_row *arm, size_t n, struct ks_error *err);

/* Windows added so far: the length that ks_tally_read's trend must have. */
size_t ks_tally_windows(const struct ks_tally *t);

/*
 * Fills every number of *out that comes from positions (engine.h says which), the histogram, the
 * trend and the corpora. out->corpora (n_corpora) and out->trend (ks_tally_windows) are the
 * caller's memory, set before the call; NULL where they are not wanted. With no positions: n = 0
 * and every value NaN, which reports show as absent. Where the mean KLD is +inf its standard error
 * is NaN. Costs microseconds, however many positions there are. On failure (only memory can) what
 * the two arrays hold is undefined.
 *
 * Standard errors are clustered: sqrt(G/(G-1) sum over clusters g (sum over i in g (x_i - mean))^2)
 * / n, over the G clusters that have positions; NaN for fewer than two.
 */
int ks_tally_read(const struct ks_tally *t, struct ks_numbers *out, struct ks_error *err);

/* The nearest-rank quantile, rank = ceil(q n) clamped to 1..n, of values[n], which it reorders.
 * +inf sorts last. n > 0; no NaN. */
double ks_quantile(double *values, size_t n, double q);

#endif

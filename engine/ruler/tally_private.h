/* What tally.c gathers and tally_read.c turns into numbers. */
#ifndef KS_ENGINE_RULER_TALLY_PRIVATE_H
#define KS_ENGINE_RULER_TALLY_PRIVATE_H

#include "engine/ruler/order.h"
#include "engine/ruler/tally.h"

/* Quantities with a standard error: a cluster keeps the sum of each. */
enum { NLL_REF, NLL_ARM, NLL_DIFFERENCE, KLD, N_CLUSTERED };

struct cluster {
    uint32_t document;
    size_t n;
    double sum[N_CLUSTERED];
};

/* Sums over measured positions: of a window first, then of all windows in order. */
struct sums {
    size_t n, infinite, top1, overlap;
    double clustered[N_CLUSTERED];
    double reverse, delta_p, delta_p_squared;
};

struct corpus_sums {
    size_t n;
    double kld, nll_arm;
};

struct ks_tally {
    size_t n_corpora, n_positions_max;
    bool by_document, is_reference;
    size_t n_positions; /* added, measured or not */
    int32_t n_top;      /* of every row; 0 before the first */

    struct sums total;
    double kld_max;
    size_t nonfinite;
    uint32_t nonfinite_document, nonfinite_offset; /* of the first */
    uint64_t hist[KS_HIST_BINS], hist_zero, hist_below, hist_above;

    struct corpus_sums *corpora; /* (n_corpora) */
    struct ks_order *klds;       /* (n_corpora) */
    struct cluster *clusters;
    size_t n_clusters, cap_clusters;
    float *trend;
    size_t n_windows, cap_windows;
    double *window_klds; /* (cap_window_klds): scratch */
    size_t cap_window_klds;
};

#endif

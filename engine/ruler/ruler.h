/*
 * The ruler: one position's comparison of a reference row and an arm's row of logits.
 *
 * KLD(P || Q) = sum p (log p - log q) in nats (Kullback and Leibler 1951), P the reference. Rows
 * are f32, widened to f64 once; everything after is f64 with max-subtracted log-softmax. Sums run
 * in 16 lanes and one tree (kernels/lanes.h) with exp and log from kernels/math.h, so the same rows
 * give the same bits on every ISA.
 *
 * With x = r - max r, y = a - max a, d = x - y, S = sum e^x and T = sum e^y, a position costs one
 * pass with two exponentials a token:
 *     KLD     = sum e^x d / S + (ln T - ln S)
 *     reverse = (ln S - ln T) - sum e^y d / T
 * Equal rows have d = 0 everywhere and S = T to the bit, so both are exactly 0. Otherwise rounding
 * may leave a KLD a few 1e-16 off, and so below 0; it is kept as it is.
 *
 * A term whose e^x (reverse: e^y) is 0 in f64 is skipped, so that 0 * inf is never formed. What is
 * left gives +inf exactly where a token with mass in one row has the logit -inf in the other.
 *
 * Pure functions over the caller's memory; any thread, many at once.
 */
#ifndef KS_ENGINE_RULER_RULER_H
#define KS_ENGINE_RULER_RULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kernels/cpu.h"

#define KS_TOP_MAX   32 /* top_k of a scenario is 1..32; 10 by default */
#define KS_TOP_SHOWN 10 /* of a top list, that are told with their log-probabilities */

/* What is computed once of a reference row and shared by all arms. Where the row is no measurement
 * every number is NaN and every count 0. */
struct ks_ref_row {
    bool measurement;        /* false: NaN, +inf, or all -inf in the row */
    double max;              /* largest logit */
    double sum;              /* sum exp(l - max), 1..vocab */
    double lse;              /* ln sum; so log p_i = l_i - max - lse */
    double logprob;          /* of the target */
    double entropy;          /* -sum p log p, nats */
    int32_t top[KS_TOP_MAX]; /* indices, largest first, ties to the lowest index */
    int32_t n_top;           /* min(k, vocab) */
    int32_t rank;            /* of the target, 1 = top; rank by the same order */
    /* Of the first min(n_top, KS_TOP_SHOWN) of top, nats; NaN where a device made the row, which
     * tells the tokens alone. */
    float top_logprob[KS_TOP_SHOWN];
};

/* As above where it is no measurement. */
struct ks_arm_row {
    bool measurement; /* both rows are */
    double kld; /* KLD(P_ref || Q_arm), nats; +inf where p > 0 meets a logit of -inf; >= -1e-9 */
    double reverse;  /* KLD(Q_arm || P_ref) */
    double logprob;  /* of the target under the arm */
    int32_t rank;    /* of the target under the arm, 1 = top */
    int32_t overlap; /* size of the intersection of the top-k sets, of n_top */
    bool top1;       /* the same first token */
    /* As the reference's, the first min(ref n_top, KS_TOP_SHOWN). */
    int32_t top[KS_TOP_SHOWN];
    float top_logprob[KS_TOP_SHOWN];
};

/* row(vocab); target in 0..vocab-1 or it is an error naming it; 1 <= k <= KS_TOP_MAX. */
int ks_ruler_reference(enum ks_isa isa, const float *row, size_t vocab, int32_t target, int k,
                       struct ks_ref_row *out, struct ks_error *err);

/* reference(vocab) with its ks_ref_row, made with the same k; arm(arm_vocab): widths that differ
 * are an error. */
int ks_ruler_arm(enum ks_isa isa, const float *reference, size_t vocab,
                 const struct ks_ref_row *ref, const float *arm, size_t arm_vocab, int32_t target,
                 int k, struct ks_arm_row *out, struct ks_error *err);

#endif

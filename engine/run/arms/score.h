/*
 * Scoring: from the rows that the head multiplies to each position's comparison.
 *
 * Logits live one tile of positions at a time: the reference's tile and one arm's, so memory is
 * O(tile x vocabulary) whatever the corpus. The reference's row is measured once and serves all
 * arms.
 *
 * A ks_scorer is used by one thread; it spreads rows over the pool.
 */
#ifndef KS_ENGINE_RUN_ARMS_SCORE_H
#define KS_ENGINE_RUN_ARMS_SCORE_H

#include "engine/ruler/ruler.h"
#include "engine/run/arms/device.h"
#include "engine/run/arms/tree.h"

struct ks_scorer;

/* Bytes that ks_scorer_create takes, for a preflight. */
uint64_t ks_scorer_bytes(size_t vocab);
/* device: what multiplies the heads, borrowed; NULL: the CPU. */
struct ks_scorer *ks_scorer_create(struct ks_cpu *cpu, struct ks_device *device, size_t vocab,
                                   int top_k, struct ks_error *err);
void ks_scorer_destroy(struct ks_scorer *s); /* accepts NULL */

/* Another device from now on, borrowed; NULL: the CPU. */
void ks_scorer_take_device(struct ks_scorer *s, struct ks_device *device);
/* Why the last run's device failed, or NULL. From then on the CPU does the heads, until the scorer
 * is given a device again. */
const struct ks_error *ks_scorer_device_failure(const struct ks_scorer *s);

/* What one batch's scored positions come to. */
struct ks_scored {
    const int32_t *targets; /* (n) */
    size_t n;
    struct ks_ref_row *ref;         /* (n), written */
    struct ks_arm_row *const *arms; /* for each net of the tree (n), written; NULL for net 0 */
};

/* nets and hidden as the tree ran them: net 0 is the reference, hidden[leaf] (n, hidden). Where the
 * device fails on the way, all n positions are done again on the CPU: no result mixes the two. */
int ks_scorer_run(struct ks_scorer *s, const struct ks_tree *tree, const struct ks_tree_net *nets,
                  size_t n_nets, float *const *hidden, const struct ks_scored *out,
                  struct ks_error *err);

#endif

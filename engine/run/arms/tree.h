/*
 * The tree of arms: what several nets have in common is computed once.
 *
 * Nets that agree in every stage up to some point share one residual up to there. The tree's leaves
 * are groups of nets that agree to the end, final norm and head included; each leaf yields one set
 * of rows for the head. Sharing never changes a bit: a shared stage has the same weights and the
 * same input.
 *
 * A ks_tree is used by one thread; the kernels below it use the pool.
 */
#ifndef KS_ENGINE_RUN_ARMS_TREE_H
#define KS_ENGINE_RUN_ARMS_TREE_H

#include "engine/model/net/forward.h"

struct ks_tree;

/* One net of the tree with the scratch that fits its hyperparameters; both borrowed. */
struct ks_tree_net {
    const struct ks_net *net;
    struct ks_body *body;
};

/* nets[n], n >= 1. max_rows: of a batch. budget: bytes that residuals may take; one is always
 * there, and what does not fit is computed more than once. */
struct ks_tree *ks_tree_create(const struct ks_tree_net *nets, size_t n, size_t max_rows,
                               uint64_t budget, struct ks_error *err);
/* The most residuals that a tree of so many leaves makes use of. */
size_t ks_tree_most_residuals(size_t leaves);
void ks_tree_destroy(struct ks_tree *t); /* accepts NULL */

size_t ks_tree_leaves(const struct ks_tree *t);
/* The leaf that net i of the list ends in; a leaf's rows serve every net in it. */
size_t ks_tree_leaf(const struct ks_tree *t, size_t net);
/* A net of the leaf, whose head makes its logits. */
size_t ks_tree_leaf_net(const struct ks_tree *t, size_t leaf);

/* Layers computed for a batch, those computed more than once included, and what it would be without
 * sharing; for the log. */
size_t ks_tree_layers(struct ks_tree *t);
size_t ks_tree_layers_unshared(const struct ks_tree *t);
/* Useful FLOPs of the bodies for a batch: 2 a weight and row, and attention. */
double ks_tree_flops(const struct ks_tree *t, const struct ks_batch *batch);

/* The rows of a batch that are scored, in order: rows[n_rows], each below the batch's size. */
struct ks_tree_rows {
    const size_t *rows;
    size_t n;
};

/* Runs the batch through all bodies. hidden[leaf] (scored rows, that net's hidden) is written with
 * what the head multiplies. */
int ks_tree_run(struct ks_tree *t, const struct ks_batch *batch, const struct ks_tree_rows *scored,
                float *const *hidden, struct ks_error *err);

#endif

/*
 * The inside of a tree, for the files that build and walk it.
 */
#ifndef KS_ENGINE_RUN_ARMS_TREE_PRIVATE_H
#define KS_ENGINE_RUN_ARMS_TREE_PRIVATE_H

#include "engine/run/arms/tree.h"

struct ks_tree_node {
    size_t net;                    /* stands for all nets of the node */
    int first, end;                /* stages first..end-1 run here; -1 is the embedding */
    struct ks_tree_node *children; /* (n_children); none: a leaf */
    size_t n_children;
    size_t leaf; /* of a leaf */
    size_t need; /* residuals alive at once, its own included; 0: a leaf that only reads */
};

/* A node on the way from the root to where a walk is. */
struct ks_tree_frame {
    const struct ks_tree_node *node;
    float *x;    /* its residual */
    bool intact; /* nothing has run on it since */
};

struct ks_tree {
    struct ks_tree_net *nets;
    size_t n_nets;
    size_t *leaf_of;  /* (n_nets) */
    size_t *leaf_net; /* (n_leaves) */
    size_t n_leaves;
    struct ks_tree_node root;
    size_t depth; /* nodes from the root to the deepest leaf */
    size_t max_rows, max_hidden;
    float **residuals; /* (n_residuals) of (max_rows, max_hidden) */
    size_t n_residuals;
    struct ks_tree_frame *frames; /* (depth), of a walk */
};

#endif

/*
 * The tree is built once for a set of nets. A node owns the stages that all its nets share. Of its
 * children the one that needs the most residuals is the last (see walk.c), so that as few as can be
 * are alive at once: two for a sweep over the layers, and never more than one for each doubling of
 * the leaves.
 */
#include <stdlib.h>

#include "engine/run/arms/tree_private.h"

static int n_layers(const struct ks_tree *t, size_t net)
{
    return (int)t->nets[net].net->hparams->layers;
}

static bool all_equal(const struct ks_tree *t, const size_t *nets, size_t n, int stage)
{
    for (size_t i = 1; i < n; i++)
        if (!ks_net_stage_equal(t->nets[nets[0]].net, t->nets[nets[i]].net, stage))
            return false;
    return true;
}

static void make_leaf(struct ks_tree *t, struct ks_tree_node *node, const size_t *nets, size_t n)
{
    node->leaf = t->n_leaves++;
    t->leaf_net[node->leaf] = nets[0];
    for (size_t i = 0; i < n; i++)
        t->leaf_of[nets[i]] = node->leaf;
}

static int build(struct ks_tree *t, struct ks_tree_node *node, size_t *nets, size_t n, int stage,
                 size_t depth, struct ks_error *err);

/* Splits nets into groups that agree at `stage`, a child each, in order of their first net. */
static int split(struct ks_tree *t, struct ks_tree_node *node, size_t *nets, size_t n, int stage,
                 size_t depth, struct ks_error *err)
{
    node->children = calloc(n, sizeof *node->children);
    if (!node->children)
        return ks_fail_memory(err, n * sizeof *node->children, "the tree of arms");
    for (size_t start = 0; start < n;) {
        size_t end = start + 1;
        for (size_t i = start + 1; i < n; i++) {
            if (!ks_net_stage_equal(t->nets[nets[start]].net, t->nets[nets[i]].net, stage))
                continue;
            size_t moved = nets[i];
            for (size_t j = i; j > end; j--)
                nets[j] = nets[j - 1];
            nets[end++] = moved;
        }
        struct ks_tree_node *child = &node->children[node->n_children++];
        if (build(t, child, nets + start, end - start, stage, depth + 1, err))
            return -1;
        start = end;
    }
    return 0;
}

/* Moves the child that needs the most to the end, and sums up. A residual that is not there yet,
 * before the embedding, needs no copy. */
static void order_children(struct ks_tree_node *node)
{
    size_t end = node->n_children - 1, most = 0, copy = node->end >= 0 ? 1 : 0;
    for (size_t i = 1; i <= end; i++)
        if (node->children[i].need > node->children[most].need)
            most = i;
    struct ks_tree_node last = node->children[most];
    node->children[most] = node->children[end];
    node->children[end] = last;
    node->need = last.need > 0 ? last.need : 1;
    for (size_t i = 0; i < end; i++)
        if (node->children[i].need > 0 && node->children[i].need + copy > node->need)
            node->need = node->children[i].need + copy;
}

static int build(struct ks_tree *t, struct ks_tree_node *node, size_t *nets, size_t n, int stage,
                 size_t depth, struct ks_error *err)
{
    int layers = n_layers(t, nets[0]);
    node->net = nets[0];
    node->first = stage;
    if (depth > t->depth)
        t->depth = depth;
    while (stage <= layers && all_equal(t, nets, n, stage))
        stage++;
    node->end = stage < layers ? stage : layers;
    if (stage > layers) {
        make_leaf(t, node, nets, n);
        node->need = node->first < node->end ? 1 : 0;
        return 0;
    }
    if (split(t, node, nets, n, stage, depth, err))
        return -1;
    order_children(node);
    return 0;
}

static void node_finish(struct ks_tree_node *node)
{
    for (size_t i = 0; i < node->n_children; i++)
        node_finish(&node->children[i]);
    free(node->children);
}

size_t ks_tree_most_residuals(size_t leaves)
{
    size_t n = 1;
    for (; leaves > 1; leaves /= 2)
        n++;
    return n;
}

static uint64_t residual_bytes(const struct ks_tree *t)
{
    return (uint64_t)t->max_rows * t->max_hidden * sizeof(float);
}

static int make_residuals(struct ks_tree *t, uint64_t budget, struct ks_error *err)
{
    for (size_t i = 0; i < t->n_nets; i++)
        if (t->nets[i].net->hparams->hidden > t->max_hidden)
            t->max_hidden = t->nets[i].net->hparams->hidden;
    uint64_t fit = budget / residual_bytes(t);
    size_t n = fit < 1 ? 1 : fit < t->root.need ? (size_t)fit : t->root.need;
    t->frames = calloc(t->depth, sizeof *t->frames);
    t->residuals = calloc(n, sizeof *t->residuals);
    if (!t->frames || !t->residuals)
        return ks_fail_memory(err, t->depth * sizeof *t->frames, "the tree of arms");
    for (; t->n_residuals < n; t->n_residuals++) {
        float *x = ks_alloc_aligned(t->max_rows * t->max_hidden, sizeof *x);
        if (!x)
            return ks_fail_memory(err, residual_bytes(t), "the residuals of the arms");
        t->residuals[t->n_residuals] = x;
    }
    return 0;
}

struct ks_tree *ks_tree_create(const struct ks_tree_net *nets, size_t n, size_t max_rows,
                               uint64_t budget, struct ks_error *err)
{
    struct ks_tree *t = calloc(1, sizeof *t);
    size_t *order = calloc(n, sizeof *order);
    if (t) {
        t->nets = calloc(n, sizeof *t->nets);
        t->leaf_of = calloc(n, sizeof *t->leaf_of);
        t->leaf_net = calloc(n, sizeof *t->leaf_net);
    }
    if (!t || !order || !t->nets || !t->leaf_of || !t->leaf_net) {
        ks_fail_memory(err, n * sizeof *nets, "the tree of arms");
        goto fail;
    }
    memcpy(t->nets, nets, n * sizeof *nets);
    t->n_nets = n;
    t->max_rows = max_rows;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (build(t, &t->root, order, n, -1, 1, err) || make_residuals(t, budget, err))
        goto fail;
    free(order);
    return t;
fail:
    free(order);
    ks_tree_destroy(t);
    return NULL;
}

void ks_tree_destroy(struct ks_tree *t)
{
    if (!t)
        return;
    node_finish(&t->root);
    for (size_t i = 0; i < t->n_residuals; i++)
        free(t->residuals[i]);
    free(t->residuals);
    free(t->frames);
    free(t->nets);
    free(t->leaf_of);
    free(t->leaf_net);
    free(t);
}

size_t ks_tree_leaves(const struct ks_tree *t)
{
    return t->n_leaves;
}

size_t ks_tree_leaf(const struct ks_tree *t, size_t net)
{
    return t->leaf_of[net];
}

size_t ks_tree_leaf_net(const struct ks_tree *t, size_t leaf)
{
    return t->leaf_net[leaf];
}

size_t ks_tree_layers_unshared(const struct ks_tree *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_nets; i++)
        n += t->nets[i].net->hparams->layers;
    return n;
}

static double layer_flops(const struct ks_net *net, int layer, const struct ks_batch *batch)
{
    bool last = layer + 1 == (int)net->hparams->layers;
    double flops = 0;
    for (size_t s = 0; s < batch->n_sequences; s++)
        flops += ks_net_layer_flops(net, (size_t)layer, batch->starts[s + 1] - batch->starts[s],
                                    last && batch->firsts ? batch->firsts[s] : 0);
    return flops;
}

static double node_flops(const struct ks_tree *t, const struct ks_tree_node *node,
                         const struct ks_batch *batch)
{
    const struct ks_net *net = t->nets[node->net].net;
    double flops = 0;
    for (int stage = node->first < 0 ? 0 : node->first; stage < node->end; stage++)
        flops += layer_flops(net, stage, batch);
    for (size_t i = 0; i < node->n_children; i++)
        flops += node_flops(t, &node->children[i], batch);
    return flops;
}

double ks_tree_flops(const struct ks_tree *t, const struct ks_batch *batch)
{
    return node_flops(t, &t->root, batch);
}

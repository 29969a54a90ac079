/*
 * The tree is built once for a set of nets. A node owns the stages that all its nets share and
 * where they run in place on the node's residual; children start from copies of it, but for the
 * last child, which takes the residual over. So the number of residuals alive is the depth of the
 * tree.
 */
#include "engine/run/arms/tree.h"

#include <stdlib.h>

struct node {
    size_t net;            /* stands for all nets of the node */
    int first, end;        /* stages first..end-1 run here; -1 is the embedding */
    struct node *children; /* (n_children); none: a leaf */
    size_t n_children;
    size_t leaf; /* of a leaf */
};

struct ks_tree {
    struct ks_tree_net *nets;
    size_t n_nets;
    size_t *leaf_of;  /* (n_nets) */
    size_t *leaf_net; /* (n_leaves) */
    size_t n_leaves;
    struct node root;
    size_t max_rows, max_hidden;
    size_t depth;
    float **residual; /* (depth) of (max_rows, max_hidden) */
};

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

static void make_leaf(struct ks_tree *t, struct node *node, const size_t *nets, size_t n)
{
    node->leaf = t->n_leaves++;
    t->leaf_net[node->leaf] = nets[0];
    for (size_t i = 0; i < n; i++)
        t->leaf_of[nets[i]] = node->leaf;
}

static int build(struct ks_tree *t, struct node *node, size_t *nets, size_t n, int stage,
                 size_t depth, struct ks_error *err);

/* Splits nets into groups that agree at `stage`, a child each, in order of their first net. */
static int split(struct ks_tree *t, struct node *node, size_t *nets, size_t n, int stage,
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
        struct node *child = &node->children[node->n_children++];
        if (build(t, child, nets + start, end - start, stage, depth + 1, err))
            return -1;
        start = end;
    }
    return 0;
}

static int build(struct ks_tree *t, struct node *node, size_t *nets, size_t n, int stage,
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
        return 0;
    }
    return split(t, node, nets, n, stage, depth, err);
}

static void node_finish(struct node *node)
{
    for (size_t i = 0; i < node->n_children; i++)
        node_finish(&node->children[i]);
    free(node->children);
}

static int make_residuals(struct ks_tree *t, struct ks_error *err)
{
    for (size_t i = 0; i < t->n_nets; i++)
        if (t->nets[i].net->hparams->hidden > t->max_hidden)
            t->max_hidden = t->nets[i].net->hparams->hidden;
    t->residual = calloc(t->depth, sizeof *t->residual);
    if (!t->residual)
        return ks_fail_memory(err, t->depth * sizeof *t->residual, "the tree of arms");
    for (size_t i = 0; i < t->depth; i++) {
        t->residual[i] = ks_alloc_aligned(t->max_rows * t->max_hidden, sizeof(float));
        if (!t->residual[i])
            return ks_fail_memory(err, t->max_rows * t->max_hidden * sizeof(float),
                                  "the residuals of the arms");
    }
    return 0;
}

struct ks_tree *ks_tree_create(const struct ks_tree_net *nets, size_t n, size_t max_rows,
                               struct ks_error *err)
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
    if (build(t, &t->root, order, n, -1, 1, err) || make_residuals(t, err))
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
    for (size_t i = 0; t->residual && i < t->depth; i++)
        free(t->residual[i]);
    free(t->residual);
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

static size_t count_layers(const struct node *node)
{
    size_t n = 0;
    for (int stage = node->first; stage < node->end; stage++)
        n += stage >= 0;
    for (size_t i = 0; i < node->n_children; i++)
        n += count_layers(&node->children[i]);
    return n;
}

size_t ks_tree_layers(const struct ks_tree *t)
{
    return count_layers(&t->root);
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

static double node_flops(const struct ks_tree *t, const struct node *node,
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

struct walk {
    struct ks_tree *t;
    const struct ks_batch *batch;
    const struct ks_tree_rows *scored;
    float *const *hidden;
    struct ks_error *err;
};

static int run_stages(const struct walk *w, const struct node *node, float *x)
{
    const struct ks_tree_net *n = &w->t->nets[node->net];
    for (int stage = node->first; stage < node->end; stage++) {
        int failed = stage < 0 ? ks_body_embed(n->body, n->net, w->batch, x, w->err)
                               : ks_body_layer(n->body, n->net, w->batch, (size_t)stage, x, w->err);
        if (failed)
            return -1;
    }
    return 0;
}

/* The scored rows alone go through the final norm: nothing else reaches the head. */
static int finish_leaf(const struct walk *w, const struct node *node, const float *x)
{
    const struct ks_tree_net *n = &w->t->nets[node->net];
    size_t dim = n->net->hparams->hidden;
    float *out = w->hidden[node->leaf];
    for (size_t i = 0; i < w->scored->n; i++)
        memcpy(out + i * dim, x + w->scored->rows[i] * dim, dim * sizeof *x);
    return ks_body_norm(n->body, n->net, out, w->scored->n, out, w->err);
}

static int walk_node(const struct walk *w, const struct node *node, size_t depth, float *x)
{
    if (run_stages(w, node, x))
        return -1;
    if (node->n_children == 0)
        return finish_leaf(w, node, x);
    size_t values =
        w->batch->starts[w->batch->n_sequences] * w->t->nets[node->net].net->hparams->hidden;
    for (size_t i = 0; i < node->n_children; i++) {
        float *own = x;
        if (i + 1 < node->n_children) {
            own = w->t->residual[depth];
            if (node->end >= 0)
                memcpy(own, x, values * sizeof *x);
        }
        if (walk_node(w, &node->children[i], depth + 1, own))
            return -1;
    }
    return 0;
}

int ks_tree_run(struct ks_tree *t, const struct ks_batch *batch, const struct ks_tree_rows *scored,
                float *const *hidden, struct ks_error *err)
{
    struct walk w = {.t = t, .batch = batch, .scored = scored, .hidden = hidden, .err = err};
    return walk_node(&w, &t->root, 1, t->residual[0]);
}

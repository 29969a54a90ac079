/*
 * Running a tree. Stages run in place on a residual. A child starts from a copy of its parent's,
 * but for the last, which takes the parent's over. Where the budget holds no copy, a child runs on
 * its parent's residual, and that is then computed again from the nearest one above that is intact.
 */
#include "engine/run/arms/tree_private.h"

struct walk {
    struct ks_tree *t;
    const struct ks_batch *batch; /* NULL: nothing is computed, only counted */
    const struct ks_tree_rows *scored;
    float *const *hidden;
    size_t used;   /* residuals that are somebody's */
    size_t layers; /* run so far */
    struct ks_error *err;
};

static int run_stages(struct walk *w, const struct ks_tree_node *node, float *x)
{
    const struct ks_tree_net *n = &w->t->nets[node->net];
    for (int stage = node->first; stage < node->end; stage++) {
        w->layers += stage >= 0;
        if (!w->batch)
            continue;
        int failed = stage < 0 ? ks_body_embed(n->body, n->net, w->batch, x, w->err)
                               : ks_body_layer(n->body, n->net, w->batch, (size_t)stage, x, w->err);
        if (failed)
            return -1;
    }
    return 0;
}

/* The scored rows alone go through the final norm: nothing else reaches the head. */
static int finish_leaf(const struct walk *w, const struct ks_tree_node *node, const float *x)
{
    const struct ks_tree_net *n = &w->t->nets[node->net];
    size_t dim = n->net->hparams->hidden;
    if (!w->batch)
        return 0;
    float *out = w->hidden[node->leaf];
    for (size_t i = 0; i < w->scored->n; i++)
        memcpy(out + i * dim, x + w->scored->rows[i] * dim, dim * sizeof *x);
    return ks_body_norm(n->body, n->net, out, w->scored->n, out, w->err);
}

static void copy_residual(const struct walk *w, const struct ks_tree_frame *from, float *to)
{
    if (w->batch)
        memcpy(to, from->x,
               w->batch->starts[w->batch->n_sequences] *
                   w->t->nets[from->node->net].net->hparams->hidden * sizeof *to);
}

/* Whoever is intact has not given its memory to those below. */
static int compute_again(struct walk *w, size_t depth)
{
    struct ks_tree_frame *frames = w->t->frames, *f = &frames[depth];
    size_t from = depth;
    while (from > 0 && !frames[from - 1].intact)
        from--;
    if (from > 0)
        copy_residual(w, &frames[from - 1], f->x);
    for (; from <= depth; from++)
        if (run_stages(w, frames[from].node, f->x))
            return -1;
    f->intact = true;
    return 0;
}

static int walk_node(struct walk *w, const struct ks_tree_node *node, size_t depth, float *x);

static int walk_child(struct walk *w, size_t depth, const struct ks_tree_node *child, bool last)
{
    struct ks_tree_frame *f = &w->t->frames[depth];
    bool wanted = !last && f->node->end >= 0; /* its residual, by those that follow */
    if (child->need > 0 && wanted && w->used < w->t->n_residuals) {
        float *own = w->t->residuals[w->used++];
        copy_residual(w, f, own);
        int failed = walk_node(w, child, depth + 1, own);
        w->used--;
        return failed;
    }
    f->intact = f->intact && child->need == 0;
    if (walk_node(w, child, depth + 1, f->x))
        return -1;
    return wanted && !f->intact ? compute_again(w, depth) : 0;
}

static int walk_node(struct walk *w, const struct ks_tree_node *node, size_t depth, float *x)
{
    if (run_stages(w, node, x))
        return -1;
    if (node->n_children == 0)
        return finish_leaf(w, node, x);
    w->t->frames[depth] = (struct ks_tree_frame){.node = node, .x = x, .intact = node->end >= 0};
    for (size_t i = 0; i < node->n_children; i++)
        if (walk_child(w, depth, &node->children[i], i + 1 == node->n_children))
            return -1;
    return 0;
}

int ks_tree_run(struct ks_tree *t, const struct ks_batch *batch, const struct ks_tree_rows *scored,
                float *const *hidden, struct ks_error *err)
{
    struct walk w = {
        .t = t, .batch = batch, .scored = scored, .hidden = hidden, .used = 1, .err = err};
    return walk_node(&w, &t->root, 0, t->residuals[0]);
}

size_t ks_tree_layers(struct ks_tree *t)
{
    struct walk w = {.t = t, .used = 1};
    (void)walk_node(&w, &t->root, 0, t->residuals[0]);
    return w.layers;
}

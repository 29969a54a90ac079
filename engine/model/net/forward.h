/*
 * The forward pass, stage by stage, so that a caller can keep the residual between stages and start
 * an arm where it first differs from another.
 *
 * A ks_body owns the scratch for batches up to max_rows of nets with the hyperparameters given; one
 * thread at a time. x is the residual stream, (n, hidden), the caller's.
 */
#ifndef KS_ENGINE_MODEL_NET_FORWARD_H
#define KS_ENGINE_MODEL_NET_FORWARD_H

#include "engine/model/model.h"

/* A batch of sequences laid end to end; each is causal inside itself and starts at position 0. */
struct ks_batch {
    const int32_t *ids;   /* (n), each in 0..vocab-1 */
    const size_t *starts; /* (n_sequences + 1); starts[n_sequences] == n */
    size_t n_sequences;
    /* NULL: every row is wanted. Else (n_sequences): of each sequence the rows from firsts[s] on
     * are, counted from its own start. The last layer then computes only these, with the same bits,
     * and leaves the others undefined. */
    const size_t *firsts;
};

struct ks_body;

/* Bytes that ks_body_create will take, for a preflight. */
uint64_t ks_body_bytes(const struct ks_hparams *h, size_t max_rows);
struct ks_body *ks_body_create(struct ks_cpu *cpu, const struct ks_hparams *h, size_t max_rows,
                               struct ks_error *err);
void ks_body_destroy(struct ks_body *b); /* accepts NULL */

/*
 * Called before every product with a matrix of weights: x(n, w.cols) is what it multiplies. Of a
 * stack of matrices (experts), matrix m multiplies rows starts[m]..starts[m + 1] - 1 of x; else
 * stacked is 1. A tensor of which several matrices are parts is seen once for each.
 */
typedef void ks_watch_product(void *ctx, const struct ks_matrix *w, size_t stacked,
                              const size_t *starts, const float *x);
void ks_body_watch_products(struct ks_body *b, ks_watch_product *watch, void *ctx);

/* x = embedding rows of the batch. */
int ks_body_embed(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                  float *x, struct ks_error *err);
/* x = layer(x). */
int ks_body_layer(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                  size_t layer, float *x, struct ks_error *err);
/* out(n, hidden) = what the head multiplies, wherever it does: the final norm of x(n, hidden),
 * rounded where the net asks for it. out may be x. */
int ks_body_norm(struct ks_body *b, const struct ks_net *net, const float *x, size_t n, float *out,
                 struct ks_error *err);
/* logits(n, vocab) = h(n, hidden) * head^T, with the architecture's scaling or soft cap. */
int ks_body_head(struct ks_body *b, const struct ks_net *net, const float *h, size_t n,
                 float *logits, struct ks_error *err);

#endif

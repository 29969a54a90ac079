/*
 * What a layer is built of: one function a kind of block, each in a file of its own. forward.c
 * calls them in the order that the layer's description gives.
 *
 * Private to net/. Activations are (rows, columns) f32, row-major and without gaps.
 */
#ifndef KS_ENGINE_MODEL_NET_BLOCKS_H
#define KS_ENGINE_MODEL_NET_BLOCKS_H

#include "engine/model/net/forward.h"

/* Columns of the activations of a row: the greatest of any layer. */
struct ks_widths {
    size_t hidden, mixed, q, k, v, attended, ffn;
    size_t queries; /* of attn_q's output where it has gates too, else 0 */
};

struct ks_body {
    struct ks_cpu *cpu;
    ks_watch_product *watch; /* or NULL */
    void *watch_ctx;
    bool rounds; /* the net at work rounds what its matrices multiply */
    struct ks_widths widths;
    size_t max_rows;
    /* Scratch, each (max_rows, width). normed also takes what a block adds to the residual: by then
     * its own content is used up. The blocks' own scratch lies in one place, as they take turns:
     * attention's q, k, v, attended, gates and queries, the MLP's gate and up; the blocks of
     * sparse.c and recurrent.c lay it out by themselves. */
    float *normed;
    float *mixed; /* (max_rows, hidden) of models whose MLP reads what the mixer reads, or who have
                     experts beside it; else NULL */
    float *q, *k, *v, *attended, *gates, *queries;
    float *gate, *up;
    float *block; /* (block_floats) */
    uint64_t block_floats;
    int32_t *positions; /* (max_rows) */
    size_t *kept;       /* (max_rows + 1) where each sequence's kept rows start at the front */
    float *memory;
};

/* A layer at work. Every row of the batch is an input of the mixer; the kept rows are those that
 * are computed whole (all, but in the last layer only the wanted ones). Where they are fewer they
 * stand at the front, sequence after sequence. */
struct ks_step {
    struct ks_body *body;
    const struct ks_net *net;
    const struct ks_net_layer *layer;
    const struct ks_layer_traits *traits;
    const struct ks_batch *batch;
    size_t n, kept;
};

/* Moves the kept rows of m to its front. Rows are of `size` bytes. */
void ks_step_pack(const struct ks_step *s, void *m, size_t size);

/* As ks_matmul_stacked, of rows without gaps, which are rounded first where the net at work asks
 * for it. */
int ks_block_multiply(struct ks_body *b, const struct ks_matrix *w, size_t stacked,
                      const size_t *starts, const float *in, float *out, size_t ldout,
                      struct ks_error *err);
/* out(n, w.rows) = in(n, w.cols) * W^T, plus the bias where it isn't NULL. */
int ks_block_project(struct ks_body *b, const struct ks_matrix *w, const float *bias,
                     const float *in, size_t n, float *out, struct ks_error *err);
/* out(n, dim) = norm(x(n, dim)) of the model's kind. bias may be NULL, out may be x. */
void ks_block_norm(struct ks_body *b, const struct ks_hparams *h, const float *x, size_t n,
                   size_t dim, const float *gain, const float *bias, float *out);

/*
 * The mixers: out(kept, hidden) = mixer(in(n, hidden)). in is packed to the kept rows on return;
 * out may be in.
 */
int ks_block_attention(const struct ks_step *s, float *in, float *out, struct ks_error *err);
int ks_block_shortconv(const struct ks_step *s, float *in, float *out, struct ks_error *err);
int ks_block_delta(const struct ks_step *s, float *in, float *out, struct ks_error *err);

/* The MLPs: out(kept, hidden) = mlp(in(kept, hidden)). out may be in. */
int ks_block_mlp(const struct ks_step *s, const float *in, float *out, struct ks_error *err);
/* gate(n, dim) = activation(gate) * up, as the MLP of a gated model has it. */
int ks_block_gate(const struct ks_step *s, float *gate, const float *up, size_t n, size_t dim,
                  struct ks_error *err);
/* x: the residual, which a router with a norm of its own reads. */
int ks_block_experts(const struct ks_step *s, const float *in, const float *x, float *out,
                     struct ks_error *err);

/* Floats of scratch that the blocks need which lay it out by themselves: those of a row, and those
 * for a batch of max_rows. 0 for a model without them. */
size_t ks_shortconv_row_floats(const struct ks_hparams *h);
size_t ks_delta_row_floats(const struct ks_hparams *h);
size_t ks_experts_floats(const struct ks_hparams *h, size_t max_rows);

#endif

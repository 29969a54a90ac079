/*
 * A model as the engine computes it: hyperparameters read from the metadata of its architecture,
 * tensors as matrices by their role, and an arm's replaced tensors in their place.
 *
 * ks_model (opened through engine.h) is immutable and reference-counted; any thread. A ks_net is a
 * set of views bound to a model's shape; it borrows all memory.
 */
#ifndef KS_ENGINE_MODEL_MODEL_H
#define KS_ENGINE_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/gguf/gguf.h"
#include "engine/kernels/cpu.h"
#include "engine/text/tokenizer.h"

enum {
    KS_MAX_LAYERS = 512,
    KS_ROPES = 2,          /* a model's kinds of rotation: [0], and [1] of windowed layers */
    KS_NO_ROPE = KS_ROPES, /* of a layer: it has none */
};

/* How a layer mixes positions, and what it does to each by itself. */
enum ks_mixer { KS_MIXER_ATTENTION };
enum ks_mlp { KS_MLP_GATED, KS_MLP_PLAIN };

enum ks_norm { KS_NORM_RMS, KS_NORM_LAYER };
/* Whether q's and k's norm takes each head by itself, all with one gain, or the row as a whole. */
enum ks_qk_norm { KS_QK_NORM_HEAD, KS_QK_NORM_ROW };

/* Of a gate, or of the MLP's middle where there is none. */
enum ks_activation { KS_ACTIVATION_SILU, KS_ACTIVATION_GELU, KS_ACTIVATION_RELU2 };
/* Whether attention and MLP both read the layer's input, as one norm leaves it. */
enum ks_order {
    KS_ORDER_SEQUENTIAL,
    KS_ORDER_PARALLEL,
    KS_ORDER_BY_NORM, /* parallel in layers without an ffn_norm */
};

/* What the architecture says of every layer. */
struct ks_design {
    enum ks_norm norm;
    enum ks_qk_norm qk_norm;
    enum ks_activation activation;
    enum ks_order order;
};

enum ks_rope_scaling {
    KS_ROPE_SCALING_NONE,
    KS_ROPE_SCALING_LINEAR,
    KS_ROPE_SCALING_YARN,
    KS_ROPE_SCALING_LONG, /* by two tensors of factors, for short and for long sequences */
};

/* One kind of rotation. */
struct ks_rope {
    uint32_t dims; /* of each head, the first ones; even */
    enum ks_rope_pairing pairing;
    enum ks_rope_scaling scaling;
    float base, factor; /* factor 1: none */
    uint32_t original_context;
    float attn_factor;                    /* times cosine and sine */
    float yarn_beta_fast, yarn_beta_slow; /* rotations over the original context */
    float yarn_log_multiplier;            /* 0: none */
};

/* What one layer is. */
struct ks_layer_traits {
    enum ks_mixer mixer;
    enum ks_mlp mlp;
    uint32_t window; /* the last positions that it sees, the own one included; 0: all */
    uint32_t rope;   /* which of the model's, or KS_NO_ROPE */
    uint32_t heads, kv_heads, head_dim, head_dim_v, ffn;
};

/* Every member is four bytes or a multiple of it, so that two can be compared by their bytes. */
struct ks_hparams {
    char architecture[32];
    struct ks_design design;
    uint32_t layers, hidden, vocab, context;
    uint32_t heads, kv_heads, head_dim, head_dim_v, ffn; /* the greatest of any layer */
    float norm_eps;
    float embedding_scale;             /* on the embedding's rows */
    float residual_scale;              /* on what a block adds to the residual */
    float logit_scale;                 /* on the last norm's rows, and so on the logits */
    float attn_softcap, final_softcap; /* of scores and of logits; 0: none */
    float temperature_scale;           /* t: queries are scaled by 1 + t * ln(1 + floor(position /
                                          rope[0].original_context)) */
    uint32_t window;                   /* of the layers that have one */
    float attention_scale;             /* on q.k */
    struct ks_rope rope[KS_ROPES];
    struct ks_layer_traits layer[KS_MAX_LAYERS]; /* (layers); the others are 0 */
};

/* Accessors beside engine.h's. All borrow. */
const struct ks_hparams *ks_model_hparams(const struct ks_model *m);
/* Created on first use, under a lock; NULL with *err where the vocabulary is refused. */
const struct ks_tokenizer *ks_model_tokenizer(struct ks_model *m, struct ks_error *err);
/* The tensors in file order: data is the file's mapping, or memory of the model where it was
 * converted. */
size_t ks_model_n_tensors(const struct ks_model *m);
const struct ks_matrix *ks_model_tensor(const struct ks_model *m, size_t i);
const char *ks_model_tensor_name(const struct ks_model *m, size_t i);
/* Hash of names, types, shapes and data of all tensors in file order; computed on first use. */
struct ks_hash ks_model_hash(struct ks_model *m);
/* The same with other tensors in the place of the model's, as for ks_net_bind: what an arm is.
 * data_hashes: ks_hash_bytes of each tensor's data where they are known, or NULL. */
struct ks_hash ks_model_hash_with(const struct ks_model *m, const struct ks_matrix *tensors,
                                  const struct ks_hash *data_hashes);

/* A layer's tensors. Matrices without data and vectors that are NULL: the layer has none. Vectors
 * are decoded to f32. Tensors that hold several of these are bound as their parts. */
struct ks_net_layer {
    const float *attn_norm, *attn_norm_bias; /* (hidden) */
    struct ks_matrix attn_q, attn_k, attn_v, attn_output;
    const float *bias_q, *bias_k, *bias_v, *bias_o;
    const float *q_norm, *k_norm; /* (head_dim), or the row's width */
    const float *post_attn_norm;  /* (hidden), of what is added to the residual */

    const float *ffn_norm, *ffn_norm_bias; /* (hidden) */
    struct ks_matrix ffn_gate, ffn_up, ffn_down;
    const float *bias_gate, *bias_up, *bias_down;
    const float *post_ffn_norm; /* (hidden) */
};

struct ks_rope_table {
    float *cosine, *sine; /* (positions, dims / 2), NULL where no layer rotates by it */
};

struct ks_net {
    const struct ks_hparams *hparams;
    struct ks_matrix token_embd, head; /* head is token_embd where tied, its original bytes */
    const float *output_norm, *output_norm_bias; /* (hidden) */
    const float *head_bias;                      /* (vocab) or NULL */
    struct ks_net_layer *layers;                 /* (hparams.layers) */
    const float *rope_factors;           /* (rope[0].dims / 2) dividing the frequencies, or NULL */
    const float *rope_short, *rope_long; /* the same up to and beyond the original context */
    struct ks_rope_table rope[KS_ROPES];
    float *query_scale; /* (positions), NULL where the model has none */
    size_t positions;   /* the longest sequence that the tables serve */
    void *memory;       /* private: decoded vectors */
};

/* Binds tensors (one matrix for each of the model's tensors, in file order: the model's own or an
 * arm's replacements) to their roles. positions: how many the rope tables need (the window). The
 * net borrows the model and the tensors' data.
 * Errors: a missing or ill-shaped tensor by name, a tensor with no role in this architecture, a
 * tensor of a type that cannot be decoded, a model from ks_model_peek that cannot be computed. */
int ks_net_bind(struct ks_net *net, const struct ks_model *m, const struct ks_matrix *tensors,
                size_t positions, struct ks_error *err);
void ks_net_finish(struct ks_net *net); /* accepts a zeroed one */

/* Whether two nets compute the same thing in a stage: -1 the embedding, 0..layers-1 a layer, layers
 * the final norm and head. True means bit-identical outputs for identical inputs. Of matrices the
 * pointers are compared, so equal ones must share memory; of vectors the decoded values. False for
 * different hyperparameters. */
bool ks_net_stage_equal(const struct ks_net *a, const struct ks_net *b, int stage);

/* Whether the head is a product alone, with no bias and no cap behind it, so that others than
 * ks_body_head can do it. */
bool ks_net_head_is_product(const struct ks_net *net);

/* Multiplications and additions, counted apart, of a layer over a sequence of n whose rows from
 * `first` on are wanted: matrices, and the attention's products. */
double ks_net_layer_flops(const struct ks_net *net, size_t layer, size_t n, size_t first);

#endif

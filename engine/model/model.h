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
#include "engine/kernels/experts.h"
#include "engine/text/tokenizer.h"

enum {
    KS_MAX_LAYERS = 512,
    KS_ROPES = 2,          /* a model's kinds of rotation: [0], and [1] of windowed layers */
    KS_NO_ROPE = KS_ROPES, /* of a layer: it has none */
};

/* How a layer mixes positions, and what it does to each by itself. */
enum ks_mixer {
    KS_MIXER_ATTENTION,
    KS_MIXER_SHORTCONV, /* a gated short convolution (lfm2) */
    KS_MIXER_DELTA,     /* a gated delta net behind a short convolution (qwen3.5) */
};
enum ks_mlp { KS_MLP_GATED, KS_MLP_PLAIN, KS_MLP_EXPERTS };

enum ks_norm { KS_NORM_RMS, KS_NORM_LAYER };
/* Of q and k: each head by itself, all with one gain; the row as a whole; each head with its own.
 */
enum ks_qk_norm { KS_QK_NORM_HEAD, KS_QK_NORM_ROW, KS_QK_NORM_OWN };

/* Of a gate, or of the MLP's middle where there is none. */
enum ks_activation {
    KS_ACTIVATION_SILU,
    KS_ACTIVATION_CLAMPED_SILU, /* gpt-oss's, see ks_clamped_silu_mul */
    KS_ACTIVATION_GELU,
    KS_ACTIVATION_RELU2,
};
/* Whether attention and MLP both read the layer's input, as one norm leaves it. */
enum ks_order {
    KS_ORDER_SEQUENTIAL,
    KS_ORDER_PARALLEL,
    KS_ORDER_BY_NORM, /* parallel in layers without an ffn_norm */
};

/* What the architecture says of every layer. */
struct ks_design {
    enum ks_norm norm;
    uint32_t bare_norm; /* 1: the norms over the hidden width have neither gain nor bias */
    enum ks_qk_norm qk_norm;
    enum ks_activation activation;
    enum ks_order order;
    uint32_t gated_attention;   /* 1: each head's row of attn_q is its query and then a gate on what
                                   it attends to */
    enum ks_gating gating;      /* of experts */
    uint32_t normalize_experts; /* 1: a token's weights are divided by their sum ... */
    float expert_sum_eps;       /* ... plus this */
    uint32_t norm_v;            /* 1: each head of v is brought to a mean square of 1 */
    uint32_t dense_and_experts; /* 1: layers with experts have the dense MLP too, each between norms
                                   of its own, and the router has one */
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
    uint32_t spare_layers; /* in the file behind the others: they guess tokens further ahead, and
                              nothing here computes them */
    uint32_t heads, kv_heads, head_dim, head_dim_v, ffn; /* the greatest of any layer */
    uint32_t local_head_dim, local_head_dim_v; /* of layers with a window; 0: as the others */
    float norm_eps;
    float embedding_scale;             /* on the embedding's rows */
    float residual_scale;              /* on what a block adds to the residual */
    float logit_scale;                 /* on the last norm's rows, and so on the logits */
    float attn_softcap, final_softcap; /* of scores and of logits; 0: none */
    float temperature_scale;           /* t: queries are scaled by 1 + t * ln(1 + floor(position /
                                          rope[0].original_context)) */
    uint32_t window;                   /* of the layers that have one */
    float attention_scale;             /* on q.k */
    uint32_t leading_dense, experts, experts_used, expert_ffn, shared_ffn; /* experts 0: none */
    float expert_scale; /* times the weights of a token's experts */
    uint32_t conv_taps;
    uint32_t delta_k_heads, delta_v_heads, delta_dim, delta_inner; /* inner: v_heads * dim of v */
    uint32_t attention_period; /* p: every p-th layer attends, the others are delta nets */
    struct ks_rope rope[KS_ROPES];
    struct ks_layer_traits layer[KS_MAX_LAYERS]; /* (layers); the others are 0 */
};

/* Accessors beside engine.h's. All borrow. */
const struct ks_hparams *ks_model_hparams(const struct ks_model *m);
/* Created on first use, under a lock; NULL with *err where the vocabulary is refused. */
const struct ks_tokenizer *ks_model_tokenizer(struct ks_model *m, struct ks_error *err);
/* The file itself: metadata, and the tensors as they are in it. */
const struct ks_gguf *ks_model_gguf(const struct ks_model *m);
/* The tensors in file order: data is the file's mapping, or memory of the model where it was
 * converted. */
size_t ks_model_n_tensors(const struct ks_model *m);
const struct ks_matrix *ks_model_tensor(const struct ks_model *m, size_t i);
const char *ks_model_tensor_name(const struct ks_model *m, size_t i);
/* The tensor that a net's head is bound to, before it is; NULL where the model has none. */
const struct ks_matrix *ks_model_head(const struct ks_model *m);
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
    const float *q_norm, *k_norm; /* (head_dim), or the row's width: (heads, head_dim) */
    const float *post_attn_norm;  /* (hidden), of what is added to the residual */

    const float *ffn_norm, *ffn_norm_bias; /* (hidden) */
    struct ks_matrix ffn_gate, ffn_up, ffn_down;
    const float *bias_gate, *bias_up, *bias_down;
    const float *post_ffn_norm; /* (hidden) */

    /* Experts lie one behind the other: expert e is rows e * (rows / experts) on of a stack. */
    struct ks_matrix router;          /* (experts, hidden) */
    struct ks_matrix gate_up_experts; /* each expert's gate and then its up, where the file has them
                                         so; the next two are empty then */
    struct ks_matrix gate_experts, up_experts, down_experts; /* (experts * rows of each, .) */
    const float *bias_router, *preference;                   /* (experts) */
    const float *bias_gate_experts, *bias_up_experts;        /* (experts, expert_ffn) */
    const float *bias_down_experts;                          /* (experts, hidden) */
    struct ks_matrix shared_gate, shared_up, shared_down;    /* the expert that every token takes */
    struct ks_matrix shared_router;                          /* (1, hidden): its weight's logit */

    struct ks_matrix conv_in;  /* (3 * hidden, hidden): the gate before the convolution, the gate
                                  behind it, and what is convolved */
    struct ks_matrix conv_out; /* (hidden, hidden) */
    const float *taps;         /* (hidden, conv_taps); of a delta net (channels of
                                  q, k and v, conv_taps) */

    struct ks_matrix delta_qkv, delta_gate;   /* (channels, hidden), (inner, hidden) */
    struct ks_matrix delta_alpha, delta_beta; /* (v_heads, hidden) */
    struct ks_matrix delta_out;               /* (hidden, inner) */
    const float *delta_rate, *delta_bias;     /* (v_heads) */
    const float *delta_norm;                  /* (dim of v) */

    const float *sinks; /* (heads) */

    /* Of layers with experts beside a dense MLP: what the router's norm is multiplied by, and each
     * expert's weights; norms of the dense MLP's output, of the experts' input and output. */
    const float *router_gain;                                        /* (hidden) */
    const float *weight_gains;                                       /* (experts), or NULL */
    const float *post_dense_norm, *experts_norm, *post_experts_norm; /* (hidden) */
    const float *layer_scale; /* (1), of the layer's whole output; NULL: none */
};

struct ks_rope_table {
    float *cosine, *sine; /* (positions, dims / 2), NULL where no layer rotates by it */
};

/* What a net's activations are rounded to on their way, which no tensor says. KS_F32, false:
 * nothing. */
struct ks_rounding {
    enum ks_type keys, values; /* attention's, each head's row by itself: keys as they are after the
                                  rope, values as they are projected (and normed); a row's own key
                                  and value too */
    bool products; /* what matrices multiply, the head's rows too, as quant/activations.h has it */
};

struct ks_net {
    const struct ks_hparams *hparams;
    struct ks_rounding rounding;       /* nothing, until the owner says otherwise */
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

struct ks_body;

/* ks_model_logits up to the head, which is called once with what it multiplies, h(n, hidden), and
 * the scratch that the pass used. */
int ks_model_pass(struct ks_model *m, const int32_t *ids, size_t n, int threads,
                  int (*head)(void *ctx, struct ks_body *body, const struct ks_net *net,
                              const float *h, size_t n, struct ks_error *err),
                  void *ctx, struct ks_error *err);

/* Whether two nets compute the same thing in a stage: -1 the embedding, 0..layers-1 a layer, layers
 * the final norm and head. Rounding counts where there is something to round. True means
 * bit-identical outputs for identical inputs. Of matrices the pointers are compared, so equal ones
 * must share memory; of vectors the decoded values. False for different hyperparameters. */
bool ks_net_stage_equal(const struct ks_net *a, const struct ks_net *b, int stage);

/* Whether the head is a product alone, with no bias and no cap behind it, so that others than
 * ks_body_head can do it. */
bool ks_net_head_is_product(const struct ks_net *net);

/* Multiplications and additions, counted apart, of a layer over a sequence of n whose rows from
 * `first` on are wanted: matrices, and the attention's products. */
double ks_net_layer_flops(const struct ks_net *net, size_t layer, size_t n, size_t first);

#endif

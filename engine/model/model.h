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

enum ks_rope_scaling { KS_ROPE_SCALING_NONE, KS_ROPE_SCALING_LINEAR, KS_ROPE_SCALING_YARN };

struct ks_hparams {
    char architecture[32];
    uint32_t layers, hidden, heads, kv_heads, head_dim, head_dim_v, ffn, vocab, context;
    float norm_eps;
    uint32_t rope_dims;
    enum ks_rope_pairing rope_pairing;
    enum ks_rope_scaling rope_scaling;
    float rope_base, rope_factor; /* factor 1: none */
    uint32_t rope_original_context;
    float rope_attn_factor;               /* times cosine and sine */
    float yarn_beta_fast, yarn_beta_slow; /* rotations over the original context */
    float attention_scale;                /* on q.k */
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
/* The same with other tensors in the place of the model's, as for ks_net_bind: what an arm is. */
struct ks_hash ks_model_hash_with(const struct ks_model *m, const struct ks_matrix *tensors);

struct ks_net_layer {
    struct ks_matrix attn_q, attn_k, attn_v, attn_output;
    struct ks_matrix ffn_gate, ffn_up, ffn_down;
    const float *attn_norm, *ffn_norm; /* (hidden), decoded to f32 */
    /* NULL where there are none: */
    const float *bias_q, *bias_k, *bias_v, *bias_o;
    const float *bias_gate, *bias_up, *bias_down;
};

struct ks_net {
    const struct ks_hparams *hparams;
    struct ks_matrix token_embd, head; /* head is token_embd where tied, its original bytes */
    const float *output_norm;          /* (hidden) */
    struct ks_net_layer *layers;       /* (hparams.layers) */
    const float *rope_factors;         /* (rope_dims / 2) dividing the frequencies, or NULL */
    float *rope_cos, *rope_sin;        /* (positions, rope_dims / 2) */
    size_t positions;                  /* the longest sequence that the tables serve */
    void *memory;                      /* private: decoded vectors */
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

#endif

/*
 * Architectures as descriptions: which tensors a model of each has, of what shape, and how its
 * blocks differ. A new family is a row in arch.c's table; a part that no family before had is a
 * role in roles.c and a step in forward.c that runs where the role is bound.
 *
 * Constant tables and pure functions; any thread.
 */
#ifndef KS_ENGINE_MODEL_ARCH_ARCH_H
#define KS_ENGINE_MODEL_ARCH_ARCH_H

#include "engine/model/model.h"

/* What a tensor is for. The names in the files are in roles.c. */
enum ks_role {
    KS_ROLE_TOKEN_EMBD,
    KS_ROLE_OUTPUT_NORM,
    KS_ROLE_OUTPUT,
    KS_ROLE_ROPE_FREQS,
    KS_ROLE_ATTN_NORM,
    KS_ROLE_ATTN_Q,
    KS_ROLE_ATTN_K,
    KS_ROLE_ATTN_V,
    KS_ROLE_ATTN_OUTPUT,
    KS_ROLE_ATTN_Q_BIAS,
    KS_ROLE_ATTN_K_BIAS,
    KS_ROLE_ATTN_V_BIAS,
    KS_ROLE_ATTN_OUTPUT_BIAS,
    KS_ROLE_FFN_NORM,
    KS_ROLE_FFN_GATE,
    KS_ROLE_FFN_UP,
    KS_ROLE_FFN_DOWN,
    KS_ROLE_FFN_GATE_BIAS,
    KS_ROLE_FFN_UP_BIAS,
    KS_ROLE_FFN_DOWN_BIAS,
    KS_ROLE_COUNT,
};

/* A set of roles: bit KS_ROLE_BIT(role). */
#define KS_ROLE_BIT(role) (UINT64_C(1) << (role))

struct ks_arch {
    const char *name; /* general.architecture */
    enum ks_rope_pairing rope_pairing;
    uint64_t required, optional; /* sets of roles; every other tensor is refused */
};

/* The description of an architecture; NULL if it is not known. */
const struct ks_arch *ks_arch_find(const char *name);
/* "llama, qwen2, ...", into text, for messages. */
void ks_arch_list(char *text, size_t size);

/* A dimension that hyperparameters give. */
enum ks_dim {
    KS_DIM_ONE, /* of a vector */
    KS_DIM_HIDDEN,
    KS_DIM_VOCAB,
    KS_DIM_FFN,
    KS_DIM_Q,    /* heads * head_dim */
    KS_DIM_K,    /* kv_heads * head_dim */
    KS_DIM_V,    /* kv_heads * head_dim_v */
    KS_DIM_ATTN, /* heads * head_dim_v */
    KS_DIM_ROPE, /* rope_dims / 2 */
};

struct ks_role_info {
    const char *name;       /* "attn_q.weight"; of a layer it follows "blk.N." */
    bool per_layer;         /* the slot is in struct ks_net_layer, else in struct ks_net */
    enum ks_dim cols, rows; /* rows KS_DIM_ONE: a vector, decoded to f32 */
    size_t slot;            /* offset of a struct ks_matrix, or of a const float * for a vector */
};

const struct ks_role_info *ks_role_info(enum ks_role role);
/* The role that a tensor's name stands for and its layer (0 where it belongs to none);
 * KS_ROLE_COUNT for a name that stands for nothing. */
enum ks_role ks_role_of(const char *tensor, uint32_t *layer);
/* The name of a role's tensor: "blk.3.attn_q.weight". */
void ks_role_name(enum ks_role role, uint32_t layer, char *text, size_t size);

uint64_t ks_dim_size(enum ks_dim dim, const struct ks_hparams *h);
/* The metadata that sets the dimension, for messages: "embedding_length". */
const char *ks_dim_name(enum ks_dim dim);

/*
 * Reads and checks the hyperparameters that the metadata gives. file: how messages name the file.
 * Errors name the key (or tensor) with what was found and what would be valid; an architecture that
 * is not known is KS_UNSUPPORTED with the list of those that are.
 */
int ks_hparams_read(const struct ks_gguf *g, const char *file, struct ks_hparams *out,
                    struct ks_error *err);
/* What can be told of a model that ks_hparams_read refuses; 0 for what can't. */
void ks_hparams_glance(const struct ks_gguf *g, struct ks_hparams *out);

/*
 * Fills cosine and sine, (positions, rope_dims / 2), with the angles position * frequency, computed
 * in f64 and rounded once. factors: rope_freqs.weight (rope_dims / 2), or NULL.
 * -1 where factors are no positive finite numbers or an angle leaves the range of ks_cos.
 */
int ks_rope_tables(const struct ks_hparams *h, const float *factors, size_t positions,
                   float *cosine, float *sine, struct ks_error *err);

#endif

/*
 * Architectures as descriptions: which tensors a model of each has, of what shape, which keys set
 * its numbers, and how its layers differ. A new family is a row in families.c's table. A tensor
 * that no family before had is a row in roles.c, a number one in fields.c; a block that runs where
 * the tensor is bound stands in net/.
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
    KS_ROLE_OUTPUT_NORM_BIAS,
    KS_ROLE_OUTPUT,
    KS_ROLE_OUTPUT_BIAS,
    KS_ROLE_ROPE_FREQS,
    KS_ROLE_ROPE_SHORT,
    KS_ROLE_ROPE_LONG,
    KS_ROLE_ATTN_NORM,
    KS_ROLE_ATTN_NORM_BIAS,
    KS_ROLE_ATTN_Q,
    KS_ROLE_ATTN_K,
    KS_ROLE_ATTN_V,
    KS_ROLE_ATTN_QKV,
    KS_ROLE_ATTN_OUTPUT,
    KS_ROLE_ATTN_Q_BIAS,
    KS_ROLE_ATTN_K_BIAS,
    KS_ROLE_ATTN_V_BIAS,
    KS_ROLE_ATTN_QKV_BIAS,
    KS_ROLE_ATTN_OUTPUT_BIAS,
    KS_ROLE_ATTN_Q_NORM,
    KS_ROLE_ATTN_K_NORM,
    KS_ROLE_POST_ATTN_NORM,
    KS_ROLE_FFN_NORM,
    KS_ROLE_FFN_NORM_BIAS,
    KS_ROLE_FFN_GATE,
    KS_ROLE_FFN_UP,
    KS_ROLE_FFN_GATE_UP,
    KS_ROLE_FFN_DOWN,
    KS_ROLE_FFN_GATE_BIAS,
    KS_ROLE_FFN_UP_BIAS,
    KS_ROLE_FFN_DOWN_BIAS,
    KS_ROLE_POST_FFN_NORM,
    KS_ROLE_ATTN_SINKS,
    KS_ROLE_LAYER_SCALE,
    KS_ROLE_ROUTER_GAIN,
    KS_ROLE_WEIGHT_GAINS,
    KS_ROLE_POST_DENSE_NORM,
    KS_ROLE_EXPERTS_NORM,
    KS_ROLE_POST_EXPERTS_NORM,
    KS_ROLE_ROUTER,
    KS_ROLE_GATE_EXPERTS,
    KS_ROLE_UP_EXPERTS,
    KS_ROLE_GATE_UP_EXPERTS,
    KS_ROLE_DOWN_EXPERTS,
    KS_ROLE_ROUTER_BIAS,
    KS_ROLE_GATE_EXPERTS_BIAS,
    KS_ROLE_UP_EXPERTS_BIAS,
    KS_ROLE_DOWN_EXPERTS_BIAS,
    KS_ROLE_EXPERT_PREFERENCE,
    KS_ROLE_SHARED_GATE,
    KS_ROLE_SHARED_UP,
    KS_ROLE_SHARED_DOWN,
    KS_ROLE_SHARED_ROUTER,
    KS_ROLE_CONV_IN,
    KS_ROLE_CONV_TAPS,
    KS_ROLE_CONV_OUT,
    KS_ROLE_DELTA_QKV,
    KS_ROLE_DELTA_TAPS,
    KS_ROLE_DELTA_GATE,
    KS_ROLE_DELTA_ALPHA,
    KS_ROLE_DELTA_BETA,
    KS_ROLE_DELTA_RATE,
    KS_ROLE_DELTA_BIAS,
    KS_ROLE_DELTA_NORM,
    KS_ROLE_DELTA_OUT,
    KS_ROLE_COUNT,
};

/* Which roles come together: an architecture, a mixer and an MLP name sets of these parts. */
enum ks_part {
    KS_PART_EMBED,
    KS_PART_OUTPUT_NORM,
    KS_PART_OUTPUT, /* any may have it; absent: the head is the embedding table */
    KS_PART_OUTPUT_BIAS,
    KS_PART_ROPE_FREQS,
    KS_PART_ROPE_LONG, /* factors of short and of long sequences */
    KS_PART_NORM_BIAS, /* of the three norms over the hidden width */
    KS_PART_ATTN_NORM,
    KS_PART_ATTN,     /* q, k, v, output */
    KS_PART_ATTN_QKV, /* q, k and v in one, where the file has it so */
    KS_PART_QKV_BIAS,
    KS_PART_ATTN_OUTPUT_BIAS,
    KS_PART_QK_NORM,
    KS_PART_POST_ATTN_NORM,
    KS_PART_FFN_NORM,
    KS_PART_FFN, /* up, down */
    KS_PART_FFN_GATE,
    KS_PART_FFN_GATE_UP, /* gate and up in one, where the file has it so */
    KS_PART_FFN_BIAS,
    KS_PART_FFN_GATE_BIAS,
    KS_PART_POST_FFN_NORM,
    KS_PART_SINKS,
    KS_PART_ATTN_V, /* where it is missing, keys are values too */
    KS_PART_LAYER_SCALE,
    KS_PART_DENSE_AND_EXPERTS,
    KS_PART_WEIGHT_GAINS,
    KS_PART_EXPERTS,
    KS_PART_EXPERTS_GATE_UP,   /* gate and up of each expert in one, where the file has it so */
    KS_PART_EXPERT_BIAS,       /* the router's too */
    KS_PART_EXPERT_PREFERENCE, /* moves the choice of experts alone */
    KS_PART_SHARED_EXPERT,
    KS_PART_SHARED_ROUTER,
    KS_PART_CONV,
    KS_PART_DELTA,
};

/* A set of parts: bit KS_PART_BIT(part). */
#define KS_PART_BIT(part) (UINT64_C(1) << (part))

/* Keys that only some architectures have; the others refuse them. A set as of parts. */
enum ks_key_set {
    KS_KEYS_ALL,      /* every architecture's */
    KS_KEYS_RMS_NORM, /* follow from the design */
    KS_KEYS_LAYER_NORM,
    KS_KEYS_WINDOW,
    KS_KEYS_SCORE_CAP,
    KS_KEYS_LOGIT_CAP,
    KS_KEYS_SCALES,
    KS_KEYS_LOGIT_SCALE,
    KS_KEYS_TEMPERATURE,
    KS_KEYS_ROPE_SWITCH, /* rope.scaling.finetuned false: there is no rope */
    KS_KEYS_EXPERTS,
    KS_KEYS_CONV,
    KS_KEYS_DELTA,
    KS_KEYS_LOCAL_HEADS, /* heads of other widths in layers with a window */
    KS_KEYS_SPARE,       /* layers that guess tokens further ahead */
};

/* A tensor's name that in this architecture stands for another role than roles.c says. */
struct ks_alias {
    const char *name; /* NULL ends a list */
    enum ks_role role;
};

/* How layers with a window rotate. */
enum ks_local_rope {
    KS_LOCAL_ROPE_SAME, /* as the others */
    KS_LOCAL_ROPE_OWN,
    KS_LOCAL_ROPE_ONLY, /* and the others don't */
};

struct ks_arch {
    const char *name; /* general.architecture */
    struct ks_design design;
    enum ks_rope_pairing rope_pairing;
    enum ks_mixer mixer;            /* of every layer, or of those that don't attend */
    enum ks_mlp mlp;                /* of layers without experts; KS_MLP_EXPERTS: all have some */
    uint64_t required, optional;    /* parts beside the mixer's and the MLP's */
    uint64_t attention;             /* what layers that attend need beside KS_PART_ATTN */
    uint64_t experts;               /* what layers with experts need beside KS_PART_EXPERTS */
    uint64_t keys;                  /* sets of keys beside KS_KEYS_ALL */
    const struct ks_alias *aliases; /* or NULL */
    /* Windows. By default layer i has one where i % period < period - 1; 0: all have. A rope of
     * windowed layers of its own is not scaled, whatever scales the model's. */
    uint32_t window_period;
    uint32_t window; /* where the file says nothing */
    enum ks_local_rope local_rope;
    float local_base; /* of that rope where the file says nothing; 0: the model's */
    /* Numbers that the file need not say. */
    float attention_scale;   /* on q.k; 0: by the heads' width */
    bool embedding_by_width; /* embedding rows times sqrt(hidden) */
    bool divides_logits;     /* logit_scale is a divisor */
    float attn_softcap, final_softcap;
    uint32_t scale_by_width_at; /* with that many layers, scores are scaled by 1 / sqrt(hidden /
                                   heads); 0: never */
    uint32_t no_rope_period;    /* p: every p-th layer has no rope; 0: all have */
};

/* The descriptions in the order of the messages; NULL past the end. */
const struct ks_arch *ks_arch_at(size_t i);
/* The description of an architecture; NULL if it is not known. */
const struct ks_arch *ks_arch_find(const char *name);
/* "llama, qwen2, ...", into text, for messages. */
void ks_arch_list(char *text, size_t size);
/* "llama.block_count": a metadata key under the architecture's name. Returns key. */
enum { KS_ARCH_KEY_SIZE = 256 };
const char *ks_arch_key(const struct ks_hparams *h, const char *suffix, char key[KS_ARCH_KEY_SIZE]);
/* The parts that a layer, or the model outside its layers (layer == NULL), has to have and may
 * have. */
struct ks_parts {
    uint64_t required, optional;
};
struct ks_parts ks_arch_parts(const struct ks_arch *arch, const struct ks_layer_traits *layer);
bool ks_arch_has_keys(const struct ks_arch *arch, enum ks_key_set set);
/* Fills h->layer[0..layers) from the architecture and what the file said: what differs from layer
 * to layer. */
void ks_arch_layers(const struct ks_arch *arch, struct ks_hparams *h);

/* A dimension that hyperparameters give. */
enum ks_dim {
    KS_DIM_ONE,
    KS_DIM_HIDDEN,
    KS_DIM_VOCAB,
    KS_DIM_FFN,
    KS_DIM_GATE_UP, /* 2 * ffn */
    KS_DIM_Q,       /* heads * head_dim */
    KS_DIM_K,       /* kv_heads * head_dim */
    KS_DIM_V,       /* kv_heads * head_dim_v */
    KS_DIM_QKV,     /* the three together */
    KS_DIM_ATTN,    /* heads * head_dim_v */
    KS_DIM_Q_NORM,  /* head_dim, or as Q */
    KS_DIM_Q_NORMS, /* 1, or heads */
    KS_DIM_K_NORM,  /* head_dim, or as K */
    KS_DIM_K_NORMS, /* 1, or kv_heads */
    KS_DIM_ROPE,    /* rope[0].dims / 2 */
    KS_DIM_HEADS,
    KS_DIM_Q_GATED, /* as Q, or twice that */
    KS_DIM_EXPERTS,
    KS_DIM_EXPERT_FFN,
    KS_DIM_FFN_STACK,     /* experts * expert_ffn */
    KS_DIM_GATE_UP_STACK, /* twice that */
    KS_DIM_HIDDEN_STACK,  /* experts * hidden */
    KS_DIM_SHARED_FFN,
    KS_DIM_TAPS,
    KS_DIM_CONV_IN,        /* 3 * hidden */
    KS_DIM_DELTA_CHANNELS, /* q, k and v of a delta net */
    KS_DIM_DELTA_HEADS,    /* of v */
    KS_DIM_DELTA_INNER,
    KS_DIM_DELTA_V, /* inner / heads */
};

enum { KS_MAX_PARTS_OF_ROLE = 3 };

struct ks_role_info {
    const char *name; /* "attn_q.weight"; of a layer it follows "blk.N." */
    enum ks_part part;
    bool per_layer;         /* the slot is in struct ks_net_layer, else in struct ks_net */
    bool vector;            /* decoded to f32 */
    enum ks_dim cols, rows; /* rows is KS_DIM_ONE of most vectors */
    bool stacked;           /* a matrix of each expert, in the tensor's third dimension */
    size_t slot;            /* offset of a struct ks_matrix, or of a const float * for a vector */
    /* Of a tensor without a slot of its own: the roles whose rows (of a vector: elements) follow
     * one another in it. */
    uint32_t n_pieces;
    enum ks_role pieces[KS_MAX_PARTS_OF_ROLE];
};

const struct ks_role_info *ks_role_info(enum ks_role role);
/* The role that a tensor's name stands for in an architecture (NULL: in any) and its layer (0 where
 * it belongs to none); KS_ROLE_COUNT for a name that stands for nothing. */
enum ks_role ks_role_of(const struct ks_arch *arch, const char *tensor, uint32_t *layer);
/* The name of a role's tensor: "blk.3.attn_q.weight". */
void ks_role_name(const struct ks_arch *arch, enum ks_role role, uint32_t layer, char *text,
                  size_t size);

/* layer: whose; of no account for the dimensions that all layers share. */
uint64_t ks_dim_size(enum ks_dim dim, const struct ks_hparams *h, uint32_t layer);
/* The metadata that sets the dimension, for messages: "embedding_length". */
const char *ks_dim_name(enum ks_dim dim);

/* Reads every number that the metadata gives into h (whose architecture is set) and its layers;
 * absent keys leave it as it is, but for those that every file has. */
int ks_fields_read(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                   struct ks_hparams *h, struct ks_error *err);
/* Whether ks_fields_read reads the key, without the architecture's name, for this one. */
bool ks_fields_have(const struct ks_arch *arch, const char *key);
/* The same of any architecture, passing over what is wrong. */
void ks_fields_glance(const struct ks_gguf *g, struct ks_hparams *h);

/* Checks the numbers of experts that are in h, sets their defaults, and refuses what this
 * architecture does not compute. */
int ks_experts_read(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                    struct ks_hparams *h, struct ks_error *err);

/*
 * Reads and checks the hyperparameters that the metadata gives. file: how messages name the file.
 * Errors name the key (or tensor) with what was found and what would be valid; an architecture that
 * is not known is KS_UNSUPPORTED with the list of those that are.
 */
int ks_hparams_read(const struct ks_gguf *g, const char *file, struct ks_hparams *out,
                    struct ks_error *err);
/* What can be told of a model that ks_hparams_read refuses; 0 for what can't. */
void ks_hparams_glance(const struct ks_gguf *g, struct ks_hparams *out);

/* Refuses keys under the architecture's name that nothing here knows. */
int ks_keys_check(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                  struct ks_error *err);

/* Sets which layers have a window, and their rope, from the metadata and the architecture. */
int ks_windows_read(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                    struct ks_hparams *h, struct ks_error *err);

/*
 * Fills cosine and sine, (positions, dims / 2), with the angles position * frequency, computed in
 * f64 and rounded once. factors: rope_freqs.weight (dims / 2), or NULL.
 * -1 where factors are no positive finite numbers or an angle leaves the range of ks_cos.
 */
int ks_rope_tables(const struct ks_rope *rope, const float *factors, size_t positions,
                   float *cosine, float *sine, struct ks_error *err);

#endif

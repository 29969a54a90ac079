/*
 * The architectures that are known, a row each; README.md of engine/model says how to add one.
 */
#include "engine/model/arch/arch.h"

#define BIT KS_PART_BIT

/* What every model here has outside its layers, and layers beside their blocks. */
#define WHOLE         (BIT(KS_PART_EMBED) | BIT(KS_PART_OUTPUT_NORM))
#define PRE_NORM      (BIT(KS_PART_ATTN_NORM) | BIT(KS_PART_FFN_NORM))
#define POST_NORM     (BIT(KS_PART_POST_ATTN_NORM) | BIT(KS_PART_POST_FFN_NORM))
#define BIASES        (BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_ATTN_OUTPUT_BIAS) | BIT(KS_PART_FFN_BIAS))
#define SHARED_EXPERT (BIT(KS_PART_SHARED_EXPERT) | BIT(KS_PART_SHARED_ROUTER))

/* The norm before the MLP is named by where it stands: behind attention. */
static const struct ks_alias norm_between[] = {
    {"post_attention_norm.weight", KS_ROLE_FFN_NORM},
    {0},
};
static const struct ks_alias gate_in_up[] = {
    {"ffn_up.weight", KS_ROLE_FFN_GATE_UP},
    {0},
};
static const struct ks_alias delta_names[] = {
    {"attn_qkv.weight", KS_ROLE_DELTA_QKV},
    {"post_attention_norm.weight", KS_ROLE_FFN_NORM},
    {0},
};
static const struct ks_alias lfm2_names[] = {
    {"token_embd_norm.weight", KS_ROLE_OUTPUT_NORM},
    {0},
};

static const struct ks_arch architectures[] = {
    {
        .name = "llama",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_ROPE_FREQS) | BIASES | BIT(KS_PART_FFN_GATE_BIAS),
        .design = {.gating = KS_GATING_SOFTMAX, .normalize_experts = 1},
        .keys = BIT(KS_KEYS_EXPERTS),
    },
    {
        .name = "qwen2",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QKV_BIAS),
    },
    {
        .name = "qwen3",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QK_NORM),
    },
    {
        .name = "qwen2moe",
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_EXPERTS,
        .design = {.gating = KS_GATING_SOFTMAX},
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QKV_BIAS),
        .experts = SHARED_EXPERT,
        .keys = BIT(KS_KEYS_EXPERTS),
    },
    {
        .name = "qwen3moe",
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_EXPERTS,
        .design = {.gating = KS_GATING_SOFTMAX, .normalize_experts = 1},
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_EXPERTS),
    },
    {
        .name = "olmoe",
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_EXPERTS,
        .design = {.qk_norm = KS_QK_NORM_ROW, .gating = KS_GATING_SOFTMAX},
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_EXPERTS),
    },
    {
        .name = "granitemoe",
        .rope_pairing = KS_ROPE_ADJACENT,
        .mlp = KS_MLP_EXPERTS,
        .design = {.gating = KS_GATING_SOFTMAX, .normalize_experts = 1},
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_SHARED_EXPERT),
        .keys = BIT(KS_KEYS_SCALES) | BIT(KS_KEYS_LOGIT_SCALE) | BIT(KS_KEYS_EXPERTS) |
                BIT(KS_KEYS_ROPE_SWITCH),
        .divides_logits = true,
    },
    {
        .name = "gpt-oss",
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_EXPERTS,
        .design = {.activation = KS_ACTIVATION_CLAMPED_SILU, .gating = KS_GATING_CHOSEN},
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_ATTN_OUTPUT_BIAS),
        .attention = BIT(KS_PART_SINKS),
        .experts = BIT(KS_PART_EXPERT_BIAS),
        .keys = BIT(KS_KEYS_EXPERTS) | BIT(KS_KEYS_WINDOW),
        .aliases = norm_between,
        .window_period = 2,
    },
    {
        .name = "qwen35",
        .rope_pairing = KS_ROPE_HALVES,
        .mixer = KS_MIXER_DELTA,
        .design = {.gated_attention = 1},
        .required = WHOLE | PRE_NORM,
        .attention = BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_DELTA) | BIT(KS_KEYS_SPARE),
        .aliases = delta_names,
    },
    {
        .name = "qwen35moe",
        .rope_pairing = KS_ROPE_HALVES,
        .mixer = KS_MIXER_DELTA,
        .mlp = KS_MLP_EXPERTS,
        .design = {.gated_attention = 1, .gating = KS_GATING_SOFTMAX, .normalize_experts = 1},
        .required = WHOLE | PRE_NORM,
        .attention = BIT(KS_PART_QK_NORM),
        .experts = SHARED_EXPERT,
        .keys = BIT(KS_KEYS_DELTA) | BIT(KS_KEYS_EXPERTS) | BIT(KS_KEYS_SPARE),
        .aliases = delta_names,
    },
    {
        .name = "lfm2",
        .rope_pairing = KS_ROPE_HALVES,
        .mixer = KS_MIXER_SHORTCONV,
        .required = WHOLE | PRE_NORM,
        .attention = BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_CONV),
        .aliases = lfm2_names,
    },
    {
        .name = "lfm2moe",
        .rope_pairing = KS_ROPE_HALVES,
        .mixer = KS_MIXER_SHORTCONV,
        .design = {.gating = KS_GATING_SIGMOID, .normalize_experts = 1, .expert_sum_eps = 1e-6f},
        .required = WHOLE | PRE_NORM,
        .attention = BIT(KS_PART_QK_NORM),
        .experts = BIT(KS_PART_EXPERT_PREFERENCE),
        .keys = BIT(KS_KEYS_CONV) | BIT(KS_KEYS_EXPERTS),
        .aliases = lfm2_names,
    },
    {
        .name = "smollm3",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .no_rope_period = 4,
    },
    {
        .name = "gemma2",
        .design = {.activation = KS_ACTIVATION_GELU},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM | POST_NORM,
        .keys = BIT(KS_KEYS_WINDOW) | BIT(KS_KEYS_SCORE_CAP) | BIT(KS_KEYS_LOGIT_CAP),
        .window_period = 2,
        .window = 4096,
        .embedding_by_width = true,
        .attn_softcap = 50,
        .final_softcap = 30,
        .scale_by_width_at = 46,
    },
    {
        .name = "gemma3",
        .design = {.activation = KS_ACTIVATION_GELU},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM | POST_NORM | BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_WINDOW) | BIT(KS_KEYS_LOGIT_CAP),
        .window_period = 6,
        .local_rope = KS_LOCAL_ROPE_OWN,
        .local_base = 10000,
        .embedding_by_width = true,
        .scale_by_width_at = 62,
    },
    {
        .name = "gemma4",
        .rope_pairing = KS_ROPE_HALVES,
        .design = {.activation = KS_ACTIVATION_GELU,
                   .gating = KS_GATING_SOFTMAX,
                   .normalize_experts = 1,
                   .norm_v = 1,
                   .dense_and_experts = 1},
        .required = WHOLE | PRE_NORM | POST_NORM | BIT(KS_PART_QK_NORM),
        .optional = BIT(KS_PART_ROPE_FREQS) | BIT(KS_PART_ATTN_V) | BIT(KS_PART_LAYER_SCALE) |
                    BIT(KS_PART_WEIGHT_GAINS),
        .experts = BIT(KS_PART_DENSE_AND_EXPERTS),
        .keys = BIT(KS_KEYS_WINDOW) | BIT(KS_KEYS_LOGIT_CAP) | BIT(KS_KEYS_EXPERTS) |
                BIT(KS_KEYS_LOCAL_HEADS),
        .window_period = 6,
        .local_rope = KS_LOCAL_ROPE_OWN,
        .local_base = 10000,
        .attention_scale = 1,
        .embedding_by_width = true,
    },
    {
        .name = "phi3",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_ROPE_LONG),
        .keys = BIT(KS_KEYS_WINDOW),
        .aliases = gate_in_up,
    },
    {
        .name = "olmo2",
        .design = {.qk_norm = KS_QK_NORM_ROW},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | POST_NORM | BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_WINDOW),
        .window_period = 4,
        .local_rope = KS_LOCAL_ROPE_OWN,
    },
    {
        .name = "granite",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_ATTN_OUTPUT_BIAS),
        .keys = BIT(KS_KEYS_SCALES) | BIT(KS_KEYS_LOGIT_SCALE) | BIT(KS_KEYS_ROPE_SWITCH),
        .divides_logits = true,
    },
    {
        .name = "mistral3",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_ROPE_FREQS),
        .keys = BIT(KS_KEYS_TEMPERATURE),
    },
    {
        .name = "gemma",
        .design = {.activation = KS_ACTIVATION_GELU},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM,
        .embedding_by_width = true,
    },
    {
        .name = "stablelm",
        .design = {.norm = KS_NORM_LAYER, .qk_norm = KS_QK_NORM_OWN, .order = KS_ORDER_BY_NORM},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .optional = BIT(KS_PART_NORM_BIAS) | BIT(KS_PART_FFN_NORM) | BIT(KS_PART_QKV_BIAS) |
                    BIT(KS_PART_QK_NORM),
    },
    {
        .name = "starcoder2",
        .design = {.norm = KS_NORM_LAYER, .activation = KS_ACTIVATION_GELU},
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_PLAIN,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_NORM_BIAS),
        .optional = BIASES,
    },
    {
        .name = "phi2",
        .design = {.norm = KS_NORM_LAYER,
                   .activation = KS_ACTIVATION_GELU,
                   .order = KS_ORDER_PARALLEL},
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_PLAIN,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .optional = BIT(KS_PART_OUTPUT_BIAS) | BIT(KS_PART_NORM_BIAS) | BIASES,
    },
    {
        .name = "nemotron",
        .design = {.norm = KS_NORM_LAYER, .activation = KS_ACTIVATION_RELU2},
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_PLAIN,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_NORM_BIAS),
        .optional = BIASES,
    },
    {
        .name = "command-r",
        .design = {.norm = KS_NORM_LAYER, .qk_norm = KS_QK_NORM_OWN, .order = KS_ORDER_PARALLEL},
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .optional = BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_LOGIT_SCALE),
    },
    {
        .name = "cohere2",
        .design = {.norm = KS_NORM_LAYER, .order = KS_ORDER_PARALLEL},
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .keys = BIT(KS_KEYS_LOGIT_SCALE) | BIT(KS_KEYS_WINDOW),
        .window_period = 4,
        .local_rope = KS_LOCAL_ROPE_ONLY,
    },
    {
        .name = "olmo",
        .design = {.norm = KS_NORM_LAYER, .bare_norm = 1},
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = BIT(KS_PART_EMBED),
    },
    {
        .name = "glm4",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM | POST_NORM,
        .optional = BIT(KS_PART_QKV_BIAS),
        .aliases = gate_in_up,
    },
    {
        .name = "chatglm",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_QKV_BIAS),
        .aliases = gate_in_up,
    },
    {
        .name = "exaone4",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | POST_NORM | BIT(KS_PART_QK_NORM),
        .optional = BIT(KS_PART_ROPE_FREQS),
        .keys = BIT(KS_KEYS_WINDOW),
        .window_period = 4,
        .local_rope = KS_LOCAL_ROPE_ONLY,
    },
    {
        .name = "arcee",
        .design = {.activation = KS_ACTIVATION_RELU2},
        .rope_pairing = KS_ROPE_ADJACENT,
        .mlp = KS_MLP_PLAIN,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_ROPE_FREQS),
    },
    {
        .name = "ernie4_5",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
    },
    {
        .name = "seed_oss",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_QKV_BIAS),
        .aliases = norm_between,
    },
};

const struct ks_arch *ks_arch_at(size_t i)
{
    return i < sizeof architectures / sizeof *architectures ? &architectures[i] : NULL;
}

#include "engine/model/arch/arch.h"

#include <stdio.h>
#include <string.h>

#define BIT KS_PART_BIT

/* What every model here has outside its layers, and every pre-norm layer beside its blocks. */
#define WHOLE    (BIT(KS_PART_EMBED) | BIT(KS_PART_OUTPUT_NORM))
#define PRE_NORM (BIT(KS_PART_ATTN_NORM) | BIT(KS_PART_FFN_NORM))

#define POST_NORM (BIT(KS_PART_POST_ATTN_NORM) | BIT(KS_PART_POST_FFN_NORM))

#define QKV_BIASES (BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_ATTN_OUTPUT_BIAS))
#define LAYER_NORM .norm = KS_NORM_LAYER

static const struct ks_alias seed_oss_names[] = {
    {"post_attention_norm.weight", KS_ROLE_FFN_NORM},
    {0},
};
static const struct ks_alias phi3_names[] = {
    {"ffn_up.weight", KS_ROLE_FFN_GATE_UP},
    {0},
};
#define SHARED_EXPERT (BIT(KS_PART_SHARED_EXPERT) | BIT(KS_PART_SHARED_ROUTER))

static const struct ks_alias qwen35_names[] = {
    {"attn_qkv.weight", KS_ROLE_DELTA_QKV},
    {"post_attention_norm.weight", KS_ROLE_FFN_NORM},
    {0},
};
static const struct ks_alias gpt_oss_names[] = {
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
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_ROPE_FREQS) | BIT(KS_PART_QKV_BIAS) |
                    BIT(KS_PART_ATTN_OUTPUT_BIAS) | BIT(KS_PART_FFN_BIAS) |
                    BIT(KS_PART_FFN_GATE_BIAS),
        .design = {.gating = KS_GATING_SOFTMAX, .normalize_experts = 1},
        .keys = BIT(KS_KEYS_EXPERTS),
    },
    {
        .name = "qwen2",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QKV_BIAS),
        .optional = BIT(KS_PART_OUTPUT),
    },
    {
        .name = "qwen3",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QK_NORM),
        .optional = BIT(KS_PART_OUTPUT),
    },
    {
        .name = "qwen2moe",
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_EXPERTS,
        .design = {.gating = KS_GATING_SOFTMAX},
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QKV_BIAS),
        .optional = BIT(KS_PART_OUTPUT),
        .experts = SHARED_EXPERT,
        .keys = BIT(KS_KEYS_EXPERTS),
    },
    {
        .name = "qwen3moe",
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_EXPERTS,
        .design = {.gating = KS_GATING_SOFTMAX, .normalize_experts = 1},
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QK_NORM),
        .optional = BIT(KS_PART_OUTPUT),
        .keys = BIT(KS_KEYS_EXPERTS),
    },
    {
        .name = "gpt-oss",
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_EXPERTS,
        .design = {.activation = KS_ACTIVATION_CLAMPED_SILU, .gating = KS_GATING_CHOSEN},
        .required = WHOLE | PRE_NORM | BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_ATTN_OUTPUT_BIAS),
        .optional = BIT(KS_PART_OUTPUT),
        .attention = BIT(KS_PART_SINKS),
        .experts = BIT(KS_PART_EXPERT_BIAS),
        .keys = BIT(KS_KEYS_EXPERTS) | BIT(KS_KEYS_WINDOW),
        .aliases = gpt_oss_names,
        .window_period = 2,
    },
    {
        .name = "qwen35",
        .rope_pairing = KS_ROPE_HALVES,
        .mixer = KS_MIXER_DELTA,
        .design = {.gated_attention = 1},
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT),
        .attention = BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_DELTA),
        .aliases = qwen35_names,
    },
    {
        .name = "qwen35moe",
        .rope_pairing = KS_ROPE_HALVES,
        .mixer = KS_MIXER_DELTA,
        .mlp = KS_MLP_EXPERTS,
        .design = {.gated_attention = 1, .gating = KS_GATING_SOFTMAX, .normalize_experts = 1},
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT),
        .attention = BIT(KS_PART_QK_NORM),
        .experts = SHARED_EXPERT,
        .keys = BIT(KS_KEYS_DELTA) | BIT(KS_KEYS_EXPERTS),
        .aliases = qwen35_names,
    },
    {
        .name = "lfm2",
        .rope_pairing = KS_ROPE_HALVES,
        .mixer = KS_MIXER_SHORTCONV,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT),
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
        .optional = BIT(KS_PART_OUTPUT),
        .attention = BIT(KS_PART_QK_NORM),
        .experts = BIT(KS_PART_EXPERT_PREFERENCE),
        .keys = BIT(KS_KEYS_CONV) | BIT(KS_KEYS_EXPERTS),
        .aliases = lfm2_names,
    },
    {
        .name = "smollm3",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT),
        .no_rope_period = 4,
    },
    {
        .name = "gemma2",
        .design = {.activation = KS_ACTIVATION_GELU},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM | POST_NORM,
        .optional = BIT(KS_PART_OUTPUT),
        .keys = BIT(KS_KEYS_WINDOW) | BIT(KS_KEYS_CAPS),
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
        .optional = BIT(KS_PART_OUTPUT),
        .keys = BIT(KS_KEYS_WINDOW) | BIT(KS_KEYS_CAPS),
        .window_period = 6,
        .local_rope = KS_LOCAL_ROPE_OWN,
        .local_base = 10000,
        .embedding_by_width = true,
        .scale_by_width_at = 62,
    },
    {
        .name = "phi3",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_ROPE_LONG),
        .keys = BIT(KS_KEYS_WINDOW),
        .aliases = phi3_names,
    },
    {
        .name = "olmo2",
        .design = {.qk_norm = KS_QK_NORM_ROW},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | POST_NORM | BIT(KS_PART_QK_NORM),
        .optional = BIT(KS_PART_OUTPUT),
        .keys = BIT(KS_KEYS_WINDOW),
        .window_period = 4,
        .local_rope = KS_LOCAL_ROPE_OWN,
    },
    {
        .name = "granite",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_ATTN_OUTPUT_BIAS),
        .keys = BIT(KS_KEYS_SCALES) | BIT(KS_KEYS_LOGIT_SCALE),
        .divides_logits = true,
    },
    {
        .name = "mistral3",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_ROPE_FREQS),
        .keys = BIT(KS_KEYS_TEMPERATURE),
    },
    {
        .name = "gemma",
        .design = {.activation = KS_ACTIVATION_GELU},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT),
        .embedding_by_width = true,
    },
    {
        .name = "stablelm",
        .design = {LAYER_NORM, .qk_norm = KS_QK_NORM_OWN, .order = KS_ORDER_BY_NORM},
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_NORM_BIAS) | BIT(KS_PART_FFN_NORM) |
                    BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_QK_NORM),
    },
    {
        .name = "starcoder2",
        .design = {LAYER_NORM, .activation = KS_ACTIVATION_GELU},
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_PLAIN,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_NORM_BIAS),
        .optional = BIT(KS_PART_OUTPUT) | QKV_BIASES | BIT(KS_PART_FFN_BIAS),
    },
    {
        .name = "phi2",
        .design = {LAYER_NORM, .activation = KS_ACTIVATION_GELU, .order = KS_ORDER_PARALLEL},
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_PLAIN,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_OUTPUT_BIAS) | BIT(KS_PART_NORM_BIAS) |
                    QKV_BIASES | BIT(KS_PART_FFN_BIAS),
    },
    {
        .name = "nemotron",
        .design = {LAYER_NORM, .activation = KS_ACTIVATION_RELU2},
        .rope_pairing = KS_ROPE_HALVES,
        .mlp = KS_MLP_PLAIN,
        .required = WHOLE | PRE_NORM | BIT(KS_PART_NORM_BIAS),
        .optional = BIT(KS_PART_OUTPUT) | QKV_BIASES | BIT(KS_PART_FFN_BIAS),
    },
    {
        .name = "command-r",
        .design = {LAYER_NORM, .qk_norm = KS_QK_NORM_OWN, .order = KS_ORDER_PARALLEL},
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_QKV_BIAS) | BIT(KS_PART_QK_NORM),
        .keys = BIT(KS_KEYS_LOGIT_SCALE),
    },
    {
        .name = "cohere2",
        .design = {LAYER_NORM, .order = KS_ORDER_PARALLEL},
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | BIT(KS_PART_ATTN_NORM),
        .optional = BIT(KS_PART_OUTPUT),
        .keys = BIT(KS_KEYS_LOGIT_SCALE) | BIT(KS_KEYS_WINDOW),
        .window_period = 4,
        .local_rope = KS_LOCAL_ROPE_ONLY,
    },
    {
        .name = "olmo",
        .design = {LAYER_NORM, .bare_norm = 1},
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = BIT(KS_PART_EMBED),
        .optional = BIT(KS_PART_OUTPUT),
    },
    {
        .name = "glm4",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM | POST_NORM,
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_QKV_BIAS),
        .aliases = phi3_names,
    },
    {
        .name = "chatglm",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_QKV_BIAS),
        .aliases = phi3_names,
    },
    {
        .name = "exaone4",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | POST_NORM | BIT(KS_PART_QK_NORM),
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_ROPE_FREQS),
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
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_ROPE_FREQS),
    },
    {
        .name = "ernie4_5",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT),
    },
    {
        .name = "seed_oss",
        .rope_pairing = KS_ROPE_HALVES,
        .required = WHOLE | PRE_NORM,
        .optional = BIT(KS_PART_OUTPUT) | BIT(KS_PART_QKV_BIAS),
        .aliases = seed_oss_names,
    },
};

#define N_ARCHITECTURES (sizeof architectures / sizeof *architectures)

const struct ks_arch *ks_arch_find(const char *name)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        if (strcmp(architectures[i].name, name) == 0)
            return &architectures[i];
    }
    return NULL;
}

void ks_arch_list(char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < N_ARCHITECTURES && at < size; i++) {
        int n = snprintf(text + at, size - at, "%s%s", i ? ", " : "", architectures[i].name);
        at += n < 0 ? 0 : (size_t)n;
    }
}

/* What a mixer and an MLP consist of; they bring their parts to the layers that have them. */
static const struct ks_parts mixers[] = {
    [KS_MIXER_ATTENTION] = {BIT(KS_PART_ATTN), BIT(KS_PART_ATTN_QKV)},
    [KS_MIXER_SHORTCONV] = {BIT(KS_PART_CONV), 0},
    [KS_MIXER_DELTA] = {BIT(KS_PART_DELTA), 0},
};
static const struct ks_parts mlps[] = {
    [KS_MLP_GATED] = {BIT(KS_PART_FFN) | BIT(KS_PART_FFN_GATE), BIT(KS_PART_FFN_GATE_UP)},
    [KS_MLP_PLAIN] = {BIT(KS_PART_FFN), 0},
    [KS_MLP_EXPERTS] = {BIT(KS_PART_EXPERTS), 0},
};

struct ks_parts ks_arch_parts(const struct ks_arch *arch, const struct ks_layer_traits *layer)
{
    struct ks_parts parts = {arch->required, arch->optional};
    if (layer) {
        parts.required |= mixers[layer->mixer].required | mlps[layer->mlp].required;
        parts.optional |= mixers[layer->mixer].optional | mlps[layer->mlp].optional;
        if (layer->mixer == KS_MIXER_ATTENTION)
            parts.required |= arch->attention;
        if (layer->mlp == KS_MLP_EXPERTS) {
            parts.required |= arch->experts;
            parts.optional &= ~(BIT(KS_PART_FFN_BIAS) | BIT(KS_PART_FFN_GATE_BIAS));
        }
    }
    return parts;
}

bool ks_arch_has_keys(const struct ks_arch *arch, enum ks_key_set set)
{
    switch (set) {
    case KS_KEYS_ALL:
        return true;
    case KS_KEYS_RMS_NORM:
        return arch->design.norm == KS_NORM_RMS;
    case KS_KEYS_LAYER_NORM:
        return arch->design.norm == KS_NORM_LAYER;
    default:
        return (arch->keys & BIT(set)) != 0;
    }
}

/* Which layers of a model of several mixers attend: those with heads of keys, or every so many. */
static bool attends(const struct ks_arch *arch, const struct ks_hparams *h, uint32_t layer)
{
    uint32_t period = h->attention_period ? h->attention_period : 4;
    switch (arch->mixer) {
    case KS_MIXER_ATTENTION:
        return true;
    case KS_MIXER_SHORTCONV:
        return h->layer[layer].kv_heads > 0;
    case KS_MIXER_DELTA:
        return (layer + 1) % period == 0;
    }
    return true;
}

void ks_arch_layers(const struct ks_arch *arch, struct ks_hparams *h)
{
    for (uint32_t i = 0; i < h->layers; i++) {
        struct ks_layer_traits *l = &h->layer[i];
        l->mixer = attends(arch, h, i) ? KS_MIXER_ATTENTION : arch->mixer;
        l->mlp = h->experts > 0 && i >= h->leading_dense ? KS_MLP_EXPERTS : arch->mlp;
        l->rope = arch->no_rope_period && (i + 1) % arch->no_rope_period == 0 ? KS_NO_ROPE : 0;
    }
}

#include "engine/model/arch/arch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MATRIX(role_part, text, field, c, r)                                                       \
    {                                                                                              \
        .part = (role_part), .name = (text), .per_layer = true, .cols = (c), .rows = (r),          \
        .slot = offsetof(struct ks_net_layer, field)                                               \
    }
#define VECTOR(role_part, text, field, c)                                                          \
    {                                                                                              \
        .part = (role_part), .name = (text), .per_layer = true, .vector = true, .cols = (c),       \
        .rows = KS_DIM_ONE, .slot = offsetof(struct ks_net_layer, field)                           \
    }
/* One matrix of each expert, one behind the other; r is the rows of all. */
#define STACK(role_part, text, field, c, r)                                                        \
    {                                                                                              \
        .part = (role_part), .name = (text), .per_layer = true, .stacked = true, .cols = (c),      \
        .rows = (r), .slot = offsetof(struct ks_net_layer, field)                                  \
    }
/* A vector of each of several things, decoded one behind the other. */
#define VECTORS(role_part, text, field, c, r)                                                      \
    {                                                                                              \
        .part = (role_part), .name = (text), .per_layer = true, .vector = true, .cols = (c),       \
        .rows = (r), .slot = offsetof(struct ks_net_layer, field)                                  \
    }
/* Of the model outside its layers. */
#define NET_MATRIX(role_part, text, field, c, r)                                                   \
    {                                                                                              \
        .part = (role_part), .name = (text), .cols = (c), .rows = (r),                             \
        .slot = offsetof(struct ks_net, field)                                                     \
    }
#define NET_VECTOR(role_part, text, field, c)                                                      \
    {                                                                                              \
        .part = (role_part), .name = (text), .vector = true, .cols = (c), .rows = KS_DIM_ONE,      \
        .slot = offsetof(struct ks_net, field)                                                     \
    }

static const struct ks_role_info roles[KS_ROLE_COUNT] = {
    [KS_ROLE_TOKEN_EMBD] =
        NET_MATRIX(KS_PART_EMBED, "token_embd.weight", token_embd, KS_DIM_HIDDEN, KS_DIM_VOCAB),
    [KS_ROLE_OUTPUT_NORM] =
        NET_VECTOR(KS_PART_OUTPUT_NORM, "output_norm.weight", output_norm, KS_DIM_HIDDEN),
    [KS_ROLE_OUTPUT_NORM_BIAS] =
        NET_VECTOR(KS_PART_NORM_BIAS, "output_norm.bias", output_norm_bias, KS_DIM_HIDDEN),
    [KS_ROLE_OUTPUT] =
        NET_MATRIX(KS_PART_OUTPUT, "output.weight", head, KS_DIM_HIDDEN, KS_DIM_VOCAB),
    [KS_ROLE_OUTPUT_BIAS] = NET_VECTOR(KS_PART_OUTPUT_BIAS, "output.bias", head_bias, KS_DIM_VOCAB),
    [KS_ROLE_ROPE_FREQS] =
        NET_VECTOR(KS_PART_ROPE_FREQS, "rope_freqs.weight", rope_factors, KS_DIM_ROPE),
    [KS_ROLE_ROPE_SHORT] =
        NET_VECTOR(KS_PART_ROPE_LONG, "rope_factors_short.weight", rope_short, KS_DIM_ROPE),
    [KS_ROLE_ROPE_LONG] =
        NET_VECTOR(KS_PART_ROPE_LONG, "rope_factors_long.weight", rope_long, KS_DIM_ROPE),

    [KS_ROLE_ATTN_NORM] = VECTOR(KS_PART_ATTN_NORM, "attn_norm.weight", attn_norm, KS_DIM_HIDDEN),
    [KS_ROLE_ATTN_NORM_BIAS] =
        VECTOR(KS_PART_NORM_BIAS, "attn_norm.bias", attn_norm_bias, KS_DIM_HIDDEN),
    [KS_ROLE_ATTN_Q] = MATRIX(KS_PART_ATTN, "attn_q.weight", attn_q, KS_DIM_HIDDEN, KS_DIM_Q_GATED),
    [KS_ROLE_ATTN_K] = MATRIX(KS_PART_ATTN, "attn_k.weight", attn_k, KS_DIM_HIDDEN, KS_DIM_K),
    [KS_ROLE_ATTN_V] = MATRIX(KS_PART_ATTN_V, "attn_v.weight", attn_v, KS_DIM_HIDDEN, KS_DIM_V),
    [KS_ROLE_ATTN_QKV] =
        {
            .part = KS_PART_ATTN_QKV,
            .name = "attn_qkv.weight",
            .per_layer = true,
            .cols = KS_DIM_HIDDEN,
            .rows = KS_DIM_QKV,
            .n_pieces = 3,
            .pieces = {KS_ROLE_ATTN_Q, KS_ROLE_ATTN_K, KS_ROLE_ATTN_V},
        },
    [KS_ROLE_ATTN_OUTPUT] =
        MATRIX(KS_PART_ATTN, "attn_output.weight", attn_output, KS_DIM_ATTN, KS_DIM_HIDDEN),
    [KS_ROLE_ATTN_Q_BIAS] = VECTOR(KS_PART_QKV_BIAS, "attn_q.bias", bias_q, KS_DIM_Q),
    [KS_ROLE_ATTN_K_BIAS] = VECTOR(KS_PART_QKV_BIAS, "attn_k.bias", bias_k, KS_DIM_K),
    [KS_ROLE_ATTN_V_BIAS] = VECTOR(KS_PART_QKV_BIAS, "attn_v.bias", bias_v, KS_DIM_V),
    [KS_ROLE_ATTN_QKV_BIAS] =
        {
            .part = KS_PART_QKV_BIAS,
            .name = "attn_qkv.bias",
            .per_layer = true,
            .vector = true,
            .cols = KS_DIM_QKV,
            .rows = KS_DIM_ONE,
            .n_pieces = 3,
            .pieces = {KS_ROLE_ATTN_Q_BIAS, KS_ROLE_ATTN_K_BIAS, KS_ROLE_ATTN_V_BIAS},
        },
    [KS_ROLE_ATTN_OUTPUT_BIAS] =
        VECTOR(KS_PART_ATTN_OUTPUT_BIAS, "attn_output.bias", bias_o, KS_DIM_HIDDEN),
    [KS_ROLE_ATTN_Q_NORM] =
        VECTORS(KS_PART_QK_NORM, "attn_q_norm.weight", q_norm, KS_DIM_Q_NORM, KS_DIM_Q_NORMS),
    [KS_ROLE_ATTN_K_NORM] =
        VECTORS(KS_PART_QK_NORM, "attn_k_norm.weight", k_norm, KS_DIM_K_NORM, KS_DIM_K_NORMS),
    [KS_ROLE_POST_ATTN_NORM] =
        VECTOR(KS_PART_POST_ATTN_NORM, "post_attention_norm.weight", post_attn_norm, KS_DIM_HIDDEN),

    [KS_ROLE_FFN_NORM] = VECTOR(KS_PART_FFN_NORM, "ffn_norm.weight", ffn_norm, KS_DIM_HIDDEN),
    [KS_ROLE_FFN_NORM_BIAS] =
        VECTOR(KS_PART_NORM_BIAS, "ffn_norm.bias", ffn_norm_bias, KS_DIM_HIDDEN),
    [KS_ROLE_FFN_GATE] =
        MATRIX(KS_PART_FFN_GATE, "ffn_gate.weight", ffn_gate, KS_DIM_HIDDEN, KS_DIM_FFN),
    [KS_ROLE_FFN_UP] = MATRIX(KS_PART_FFN, "ffn_up.weight", ffn_up, KS_DIM_HIDDEN, KS_DIM_FFN),
    [KS_ROLE_FFN_GATE_UP] =
        {
            .part = KS_PART_FFN_GATE_UP,
            .name = "ffn_gate_up.weight",
            .per_layer = true,
            .cols = KS_DIM_HIDDEN,
            .rows = KS_DIM_GATE_UP,
            .n_pieces = 2,
            .pieces = {KS_ROLE_FFN_GATE, KS_ROLE_FFN_UP},
        },
    [KS_ROLE_FFN_DOWN] =
        MATRIX(KS_PART_FFN, "ffn_down.weight", ffn_down, KS_DIM_FFN, KS_DIM_HIDDEN),
    [KS_ROLE_FFN_GATE_BIAS] = VECTOR(KS_PART_FFN_GATE_BIAS, "ffn_gate.bias", bias_gate, KS_DIM_FFN),
    [KS_ROLE_FFN_UP_BIAS] = VECTOR(KS_PART_FFN_BIAS, "ffn_up.bias", bias_up, KS_DIM_FFN),
    [KS_ROLE_FFN_DOWN_BIAS] = VECTOR(KS_PART_FFN_BIAS, "ffn_down.bias", bias_down, KS_DIM_HIDDEN),
    [KS_ROLE_POST_FFN_NORM] =
        VECTOR(KS_PART_POST_FFN_NORM, "post_ffw_norm.weight", post_ffn_norm, KS_DIM_HIDDEN),

    [KS_ROLE_ATTN_SINKS] = VECTOR(KS_PART_SINKS, "attn_sinks.weight", sinks, KS_DIM_HEADS),

    [KS_ROLE_LAYER_SCALE] =
        VECTOR(KS_PART_LAYER_SCALE, "layer_output_scale.weight", layer_scale, KS_DIM_ONE),
    [KS_ROLE_ROUTER_GAIN] =
        VECTOR(KS_PART_DENSE_AND_EXPERTS, "ffn_gate_inp.scale", router_gain, KS_DIM_HIDDEN),
    [KS_ROLE_WEIGHT_GAINS] =
        VECTOR(KS_PART_WEIGHT_GAINS, "ffn_down_exps.scale", weight_gains, KS_DIM_EXPERTS),
    [KS_ROLE_POST_DENSE_NORM] =
        VECTOR(KS_PART_DENSE_AND_EXPERTS, "post_ffw_norm_1.weight", post_dense_norm, KS_DIM_HIDDEN),
    [KS_ROLE_EXPERTS_NORM] =
        VECTOR(KS_PART_DENSE_AND_EXPERTS, "pre_ffw_norm_2.weight", experts_norm, KS_DIM_HIDDEN),
    [KS_ROLE_POST_EXPERTS_NORM] = VECTOR(KS_PART_DENSE_AND_EXPERTS, "post_ffw_norm_2.weight",
                                         post_experts_norm, KS_DIM_HIDDEN),

    [KS_ROLE_ROUTER] =
        MATRIX(KS_PART_EXPERTS, "ffn_gate_inp.weight", router, KS_DIM_HIDDEN, KS_DIM_EXPERTS),
    [KS_ROLE_GATE_EXPERTS] = STACK(KS_PART_EXPERTS, "ffn_gate_exps.weight", gate_experts,
                                   KS_DIM_HIDDEN, KS_DIM_FFN_STACK),
    [KS_ROLE_UP_EXPERTS] =
        STACK(KS_PART_EXPERTS, "ffn_up_exps.weight", up_experts, KS_DIM_HIDDEN, KS_DIM_FFN_STACK),
    [KS_ROLE_GATE_UP_EXPERTS] = STACK(KS_PART_EXPERTS_GATE_UP, "ffn_gate_up_exps.weight",
                                      gate_up_experts, KS_DIM_HIDDEN, KS_DIM_GATE_UP_STACK),
    [KS_ROLE_DOWN_EXPERTS] = STACK(KS_PART_EXPERTS, "ffn_down_exps.weight", down_experts,
                                   KS_DIM_EXPERT_FFN, KS_DIM_HIDDEN_STACK),
    [KS_ROLE_ROUTER_BIAS] =
        VECTOR(KS_PART_EXPERT_BIAS, "ffn_gate_inp.bias", bias_router, KS_DIM_EXPERTS),
    [KS_ROLE_GATE_EXPERTS_BIAS] = VECTORS(KS_PART_EXPERT_BIAS, "ffn_gate_exps.bias",
                                          bias_gate_experts, KS_DIM_EXPERT_FFN, KS_DIM_EXPERTS),
    [KS_ROLE_UP_EXPERTS_BIAS] = VECTORS(KS_PART_EXPERT_BIAS, "ffn_up_exps.bias", bias_up_experts,
                                        KS_DIM_EXPERT_FFN, KS_DIM_EXPERTS),
    [KS_ROLE_DOWN_EXPERTS_BIAS] = VECTORS(KS_PART_EXPERT_BIAS, "ffn_down_exps.bias",
                                          bias_down_experts, KS_DIM_HIDDEN, KS_DIM_EXPERTS),
    [KS_ROLE_EXPERT_PREFERENCE] =
        VECTOR(KS_PART_EXPERT_PREFERENCE, "exp_probs_b.bias", preference, KS_DIM_EXPERTS),
    [KS_ROLE_SHARED_GATE] = MATRIX(KS_PART_SHARED_EXPERT, "ffn_gate_shexp.weight", shared_gate,
                                   KS_DIM_HIDDEN, KS_DIM_SHARED_FFN),
    [KS_ROLE_SHARED_UP] = MATRIX(KS_PART_SHARED_EXPERT, "ffn_up_shexp.weight", shared_up,
                                 KS_DIM_HIDDEN, KS_DIM_SHARED_FFN),
    [KS_ROLE_SHARED_DOWN] = MATRIX(KS_PART_SHARED_EXPERT, "ffn_down_shexp.weight", shared_down,
                                   KS_DIM_SHARED_FFN, KS_DIM_HIDDEN),
    [KS_ROLE_SHARED_ROUTER] = MATRIX(KS_PART_SHARED_ROUTER, "ffn_gate_inp_shexp.weight",
                                     shared_router, KS_DIM_HIDDEN, KS_DIM_ONE),

    [KS_ROLE_CONV_IN] =
        MATRIX(KS_PART_CONV, "shortconv.in_proj.weight", conv_in, KS_DIM_HIDDEN, KS_DIM_CONV_IN),
    [KS_ROLE_CONV_TAPS] =
        VECTORS(KS_PART_CONV, "shortconv.conv.weight", taps, KS_DIM_TAPS, KS_DIM_HIDDEN),
    [KS_ROLE_CONV_OUT] =
        MATRIX(KS_PART_CONV, "shortconv.out_proj.weight", conv_out, KS_DIM_HIDDEN, KS_DIM_HIDDEN),

    /* Files name it as attention's: see the architectures' aliases. */
    [KS_ROLE_DELTA_QKV] =
        MATRIX(KS_PART_DELTA, "ssm_qkv.weight", delta_qkv, KS_DIM_HIDDEN, KS_DIM_DELTA_CHANNELS),
    [KS_ROLE_DELTA_TAPS] =
        VECTORS(KS_PART_DELTA, "ssm_conv1d.weight", taps, KS_DIM_TAPS, KS_DIM_DELTA_CHANNELS),
    [KS_ROLE_DELTA_GATE] =
        MATRIX(KS_PART_DELTA, "attn_gate.weight", delta_gate, KS_DIM_HIDDEN, KS_DIM_DELTA_INNER),
    [KS_ROLE_DELTA_ALPHA] =
        MATRIX(KS_PART_DELTA, "ssm_alpha.weight", delta_alpha, KS_DIM_HIDDEN, KS_DIM_DELTA_HEADS),
    [KS_ROLE_DELTA_BETA] =
        MATRIX(KS_PART_DELTA, "ssm_beta.weight", delta_beta, KS_DIM_HIDDEN, KS_DIM_DELTA_HEADS),
    [KS_ROLE_DELTA_RATE] = VECTOR(KS_PART_DELTA, "ssm_a", delta_rate, KS_DIM_DELTA_HEADS),
    [KS_ROLE_DELTA_BIAS] = VECTOR(KS_PART_DELTA, "ssm_dt.bias", delta_bias, KS_DIM_DELTA_HEADS),
    [KS_ROLE_DELTA_NORM] = VECTOR(KS_PART_DELTA, "ssm_norm.weight", delta_norm, KS_DIM_DELTA_V),
    [KS_ROLE_DELTA_OUT] =
        MATRIX(KS_PART_DELTA, "ssm_out.weight", delta_out, KS_DIM_DELTA_INNER, KS_DIM_HIDDEN),
};

const struct ks_role_info *ks_role_info(enum ks_role role)
{
    return &roles[role];
}

/* "blk.12.rest": true with the layer and the rest, where the number is written as files write it.
 */
static bool split_layer(const char *tensor, uint32_t *layer, const char **rest)
{
    if (strncmp(tensor, "blk.", 4) != 0 || tensor[4] < '0' || tensor[4] > '9')
        return false;
    if (tensor[4] == '0' && tensor[5] != '.')
        return false;
    char *end;
    unsigned long n = strtoul(tensor + 4, &end, 10);
    if (*end != '.' || end - (tensor + 4) > 9)
        return false;
    *layer = (uint32_t)n;
    *rest = end + 1;
    return true;
}

static enum ks_role role_named(const char *name, bool per_layer)
{
    for (int i = 0; i < KS_ROLE_COUNT; i++) {
        if (roles[i].per_layer == per_layer && strcmp(roles[i].name, name) == 0)
            return (enum ks_role)i;
    }
    return KS_ROLE_COUNT;
}

enum ks_role ks_role_of(const struct ks_arch *arch, const char *tensor, uint32_t *layer)
{
    const char *name = tensor;
    *layer = 0;
    bool per_layer = split_layer(tensor, layer, &name);
    for (const struct ks_alias *a = arch ? arch->aliases : NULL; a && a->name; a++) {
        if (roles[a->role].per_layer == per_layer && strcmp(a->name, name) == 0)
            return a->role;
    }
    return role_named(name, per_layer);
}

void ks_role_name(const struct ks_arch *arch, enum ks_role role, uint32_t layer, char *text,
                  size_t size)
{
    const char *name = roles[role].name;
    for (const struct ks_alias *a = arch ? arch->aliases : NULL; a && a->name; a++) {
        if (a->role == role)
            name = a->name;
    }
    if (roles[role].per_layer)
        snprintf(text, size, "blk.%u.%s", layer, name);
    else
        snprintf(text, size, "%s", name);
}

#include "engine/model/arch/arch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF_NET(text, field, c, r)                                                                  \
    {                                                                                              \
        .name = (text), .per_layer = false, .cols = (c), .rows = (r),                              \
        .slot = offsetof(struct ks_net, field)                                                     \
    }
#define OF_LAYER(text, field, c, r)                                                                \
    {                                                                                              \
        .name = (text), .per_layer = true, .cols = (c), .rows = (r),                               \
        .slot = offsetof(struct ks_net_layer, field)                                               \
    }

static const struct ks_role_info roles[KS_ROLE_COUNT] = {
    [KS_ROLE_TOKEN_EMBD] = OF_NET("token_embd.weight", token_embd, KS_DIM_HIDDEN, KS_DIM_VOCAB),
    [KS_ROLE_OUTPUT_NORM] = OF_NET("output_norm.weight", output_norm, KS_DIM_HIDDEN, KS_DIM_ONE),
    [KS_ROLE_OUTPUT] = OF_NET("output.weight", head, KS_DIM_HIDDEN, KS_DIM_VOCAB),
    [KS_ROLE_ROPE_FREQS] = OF_NET("rope_freqs.weight", rope_factors, KS_DIM_ROPE, KS_DIM_ONE),
    [KS_ROLE_ATTN_NORM] = OF_LAYER("attn_norm.weight", attn_norm, KS_DIM_HIDDEN, KS_DIM_ONE),
    [KS_ROLE_ATTN_Q] = OF_LAYER("attn_q.weight", attn_q, KS_DIM_HIDDEN, KS_DIM_Q),
    [KS_ROLE_ATTN_K] = OF_LAYER("attn_k.weight", attn_k, KS_DIM_HIDDEN, KS_DIM_K),
    [KS_ROLE_ATTN_V] = OF_LAYER("attn_v.weight", attn_v, KS_DIM_HIDDEN, KS_DIM_V),
    [KS_ROLE_ATTN_OUTPUT] = OF_LAYER("attn_output.weight", attn_output, KS_DIM_ATTN, KS_DIM_HIDDEN),
    [KS_ROLE_ATTN_Q_BIAS] = OF_LAYER("attn_q.bias", bias_q, KS_DIM_Q, KS_DIM_ONE),
    [KS_ROLE_ATTN_K_BIAS] = OF_LAYER("attn_k.bias", bias_k, KS_DIM_K, KS_DIM_ONE),
    [KS_ROLE_ATTN_V_BIAS] = OF_LAYER("attn_v.bias", bias_v, KS_DIM_V, KS_DIM_ONE),
    [KS_ROLE_ATTN_OUTPUT_BIAS] = OF_LAYER("attn_output.bias", bias_o, KS_DIM_HIDDEN, KS_DIM_ONE),
    [KS_ROLE_FFN_NORM] = OF_LAYER("ffn_norm.weight", ffn_norm, KS_DIM_HIDDEN, KS_DIM_ONE),
    [KS_ROLE_FFN_GATE] = OF_LAYER("ffn_gate.weight", ffn_gate, KS_DIM_HIDDEN, KS_DIM_FFN),
    [KS_ROLE_FFN_UP] = OF_LAYER("ffn_up.weight", ffn_up, KS_DIM_HIDDEN, KS_DIM_FFN),
    [KS_ROLE_FFN_DOWN] = OF_LAYER("ffn_down.weight", ffn_down, KS_DIM_FFN, KS_DIM_HIDDEN),
    [KS_ROLE_FFN_GATE_BIAS] = OF_LAYER("ffn_gate.bias", bias_gate, KS_DIM_FFN, KS_DIM_ONE),
    [KS_ROLE_FFN_UP_BIAS] = OF_LAYER("ffn_up.bias", bias_up, KS_DIM_FFN, KS_DIM_ONE),
    [KS_ROLE_FFN_DOWN_BIAS] = OF_LAYER("ffn_down.bias", bias_down, KS_DIM_HIDDEN, KS_DIM_ONE),
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

enum ks_role ks_role_of(const char *tensor, uint32_t *layer)
{
    const char *name = tensor;
    *layer = 0;
    bool per_layer = split_layer(tensor, layer, &name);
    for (int i = 0; i < KS_ROLE_COUNT; i++) {
        if (roles[i].per_layer == per_layer && strcmp(roles[i].name, name) == 0)
            return (enum ks_role)i;
    }
    return KS_ROLE_COUNT;
}

void ks_role_name(enum ks_role role, uint32_t layer, char *text, size_t size)
{
    if (roles[role].per_layer)
        snprintf(text, size, "blk.%u.%s", layer, roles[role].name);
    else
        snprintf(text, size, "%s", roles[role].name);
}

uint64_t ks_dim_size(enum ks_dim dim, const struct ks_hparams *h)
{
    switch (dim) {
    case KS_DIM_ONE:
        return 1;
    case KS_DIM_HIDDEN:
        return h->hidden;
    case KS_DIM_VOCAB:
        return h->vocab;
    case KS_DIM_FFN:
        return h->ffn;
    case KS_DIM_Q:
        return (uint64_t)h->heads * h->head_dim;
    case KS_DIM_K:
        return (uint64_t)h->kv_heads * h->head_dim;
    case KS_DIM_V:
        return (uint64_t)h->kv_heads * h->head_dim_v;
    case KS_DIM_ATTN:
        return (uint64_t)h->heads * h->head_dim_v;
    case KS_DIM_ROPE:
        return h->rope_dims / 2;
    }
    return 0;
}

const char *ks_dim_name(enum ks_dim dim)
{
    static const char *const names[] = {
        [KS_DIM_ONE] = "1",
        [KS_DIM_HIDDEN] = "embedding_length",
        [KS_DIM_VOCAB] = "vocabulary",
        [KS_DIM_FFN] = "feed_forward_length",
        [KS_DIM_Q] = "head_count x key_length",
        [KS_DIM_K] = "head_count_kv x key_length",
        [KS_DIM_V] = "head_count_kv x value_length",
        [KS_DIM_ATTN] = "head_count x value_length",
        [KS_DIM_ROPE] = "half of rope.dimension_count",
    };
    return names[dim];
}

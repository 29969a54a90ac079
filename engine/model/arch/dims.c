/* How large the dimensions of tensors are in a model, and what they are called. */
#include "engine/model/arch/arch.h"

/* The dimensions of experts, convolutions and delta nets. */
static uint64_t sparse_dim_size(enum ks_dim dim, const struct ks_hparams *h)
{
    switch (dim) {
    case KS_DIM_EXPERTS:
        return h->experts;
    case KS_DIM_EXPERT_FFN:
        return h->expert_ffn;
    case KS_DIM_FFN_STACK:
        return (uint64_t)h->experts * h->expert_ffn;
    case KS_DIM_GATE_UP_STACK:
        return 2 * (uint64_t)h->experts * h->expert_ffn;
    case KS_DIM_HIDDEN_STACK:
        return (uint64_t)h->experts * h->hidden;
    case KS_DIM_SHARED_FFN:
        return h->shared_ffn;
    case KS_DIM_TAPS:
        return h->conv_taps;
    case KS_DIM_CONV_IN:
        return 3 * (uint64_t)h->hidden;
    case KS_DIM_DELTA_CHANNELS:
        return 2 * (uint64_t)h->delta_k_heads * h->delta_dim + h->delta_inner;
    case KS_DIM_DELTA_HEADS:
        return h->delta_v_heads;
    case KS_DIM_DELTA_INNER:
        return h->delta_inner;
    case KS_DIM_DELTA_V:
        return h->delta_v_heads ? h->delta_inner / h->delta_v_heads : 0;
    default:
        return 0;
    }
}

uint64_t ks_dim_size(enum ks_dim dim, const struct ks_hparams *h, uint32_t layer)
{
    const struct ks_layer_traits *l = &h->layer[layer];
    const uint64_t q = (uint64_t)l->heads * l->head_dim, k = (uint64_t)l->kv_heads * l->head_dim;
    const uint64_t v = (uint64_t)l->kv_heads * l->head_dim_v;
    const bool whole_row = h->design.qk_norm == KS_QK_NORM_ROW;
    const bool own = h->design.qk_norm == KS_QK_NORM_OWN;
    switch (dim) {
    case KS_DIM_ONE:
        return 1;
    case KS_DIM_HIDDEN:
        return h->hidden;
    case KS_DIM_VOCAB:
        return h->vocab;
    case KS_DIM_FFN:
        return l->ffn;
    case KS_DIM_GATE_UP:
        return 2 * (uint64_t)l->ffn;
    case KS_DIM_Q:
        return q;
    case KS_DIM_K:
        return k;
    case KS_DIM_V:
        return v;
    case KS_DIM_QKV:
        return q + k + v;
    case KS_DIM_ATTN:
        return (uint64_t)l->heads * l->head_dim_v;
    case KS_DIM_Q_NORM:
        return whole_row ? q : l->head_dim;
    case KS_DIM_Q_NORMS:
        return own ? l->heads : 1;
    case KS_DIM_K_NORM:
        return whole_row ? k : l->head_dim;
    case KS_DIM_K_NORMS:
        return own ? l->kv_heads : 1;
    case KS_DIM_ROPE:
        return h->rope[0].dims / 2;
    case KS_DIM_HEADS:
        return l->heads;
    case KS_DIM_Q_GATED:
        return h->design.gated_attention ? 2 * q : q;
    default:
        return sparse_dim_size(dim, h);
    }
}

const char *ks_dim_name(enum ks_dim dim)
{
    static const char *const names[] = {
        [KS_DIM_ONE] = "1",
        [KS_DIM_HIDDEN] = "embedding_length",
        [KS_DIM_VOCAB] = "vocabulary",
        [KS_DIM_FFN] = "feed_forward_length",
        [KS_DIM_GATE_UP] = "twice feed_forward_length",
        [KS_DIM_Q] = "head_count x key_length",
        [KS_DIM_K] = "head_count_kv x key_length",
        [KS_DIM_V] = "head_count_kv x value_length",
        [KS_DIM_QKV] = "(head_count + head_count_kv) x key_length + head_count_kv x value_length",
        [KS_DIM_ATTN] = "head_count x value_length",
        [KS_DIM_Q_NORM] = "key_length, or times head_count",
        [KS_DIM_Q_NORMS] = "1, or head_count",
        [KS_DIM_K_NORM] = "key_length, or times head_count_kv",
        [KS_DIM_K_NORMS] = "1, or head_count_kv",
        [KS_DIM_ROPE] = "half of rope.dimension_count",
        [KS_DIM_HEADS] = "head_count",
        [KS_DIM_Q_GATED] = "head_count x key_length, or twice that",
        [KS_DIM_EXPERTS] = "expert_count",
        [KS_DIM_EXPERT_FFN] = "expert_feed_forward_length",
        [KS_DIM_FFN_STACK] = "expert_count x expert_feed_forward_length",
        [KS_DIM_GATE_UP_STACK] = "2 x expert_count x expert_feed_forward_length",
        [KS_DIM_HIDDEN_STACK] = "expert_count x embedding_length",
        [KS_DIM_SHARED_FFN] = "expert_shared_feed_forward_length",
        [KS_DIM_TAPS] = "length of the convolution",
        [KS_DIM_CONV_IN] = "3 x embedding_length",
        [KS_DIM_DELTA_CHANNELS] = "2 x ssm.group_count x ssm.state_size + ssm.inner_size",
        [KS_DIM_DELTA_HEADS] = "ssm.time_step_rank",
        [KS_DIM_DELTA_INNER] = "ssm.inner_size",
        [KS_DIM_DELTA_V] = "ssm.inner_size / ssm.time_step_rank",
    };
    return names[dim];
}

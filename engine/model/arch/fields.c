/*
 * Numbers of the metadata. Each is one row of `fields`: its key behind the architecture's name, its
 * place, whether a file must have it, and the range in which the rest of the program can rely on
 * products not overflowing.
 */
#include <math.h>
#include <string.h>

#include "engine/kernels/recur.h"
#include "engine/model/arch/arch.h"

#define WHOLE(text, field, need, low, high)                                                        \
    {                                                                                              \
        .key = (text), .slot = offsetof(struct ks_hparams, field), .required = (need),             \
        .min = (low), .max = (high)                                                                \
    }
/* One number for all layers, or an array of one for each; 0 in it: the layer has none. */
#define EACH(text, field, need, low, high)                                                         \
    {                                                                                              \
        .key = (text), .slot = offsetof(struct ks_hparams, field), .required = (need),             \
        .each = true, .layer_slot = offsetof(struct ks_layer_traits, field), .min = (low),         \
        .max = (high)                                                                              \
    }
#define REAL(text, field, need, low, high)                                                         \
    {                                                                                              \
        .key = (text), .slot = offsetof(struct ks_hparams, field), .real = true,                   \
        .required = (need), .min = (low), .max = (high)                                            \
    }

struct field {
    const char *key;
    size_t slot; /* of a uint32_t, or of a float where real */
    bool real, required;
    bool each;
    size_t layer_slot;       /* of a uint32_t */
    double min, max;         /* both allowed */
    enum ks_key_set key_set; /* which architectures have it */
};

/* A real number of the architectures that have the set. */
#define REAL_OF(set, text, field, need, low, high)                                                 \
    {                                                                                              \
        .key_set = (set), .key = (text), .slot = offsetof(struct ks_hparams, field), .real = true, \
        .required = (need), .min = (low), .max = (high)                                            \
    }
#define WHOLE_OF(set, text, field, need, low, high)                                                \
    {                                                                                              \
        .key_set = (set), .key = (text), .slot = offsetof(struct ks_hparams, field),               \
        .required = (need), .min = (low), .max = (high)                                            \
    }

#define MAX_CONTEXT (1 << 28)

static const struct field fields[] = {
    WHOLE("block_count", layers, true, 1, KS_MAX_LAYERS),
    WHOLE("context_length", context, true, 1, MAX_CONTEXT),
    WHOLE("embedding_length", hidden, true, 1, 1 << 20),
    EACH("feed_forward_length", ffn, false, 1, 1 << 22),
    EACH("attention.head_count", heads, true, 1, 4096),
    EACH("attention.head_count_kv", kv_heads, false, 1, 4096),
    WHOLE("attention.key_length", head_dim, false, 1, 4096),
    WHOLE("attention.value_length", head_dim_v, false, 1, 4096),
    WHOLE("rope.dimension_count", rope[0].dims, false, 2, 4096),
    WHOLE("rope.scaling.original_context_length", rope[0].original_context, false, 1, MAX_CONTEXT),
    REAL_OF(KS_KEYS_RMS_NORM, "attention.layer_norm_rms_epsilon", norm_eps, true, 0, 1),
    REAL_OF(KS_KEYS_LAYER_NORM, "attention.layer_norm_epsilon", norm_eps, true, 0, 1),
    REAL("rope.freq_base", rope[0].base, false, 1, 1e12),
    REAL("rope.scale_linear", rope[0].factor, false, 0, 1e6), /* the factor's name in old files */
    REAL("rope.scaling.factor", rope[0].factor, false, 0, 1e6),
    REAL("rope.scaling.attn_factor", rope[0].attn_factor, false, 1e-6, 1e6),
    REAL("rope.scaling.yarn_beta_fast", rope[0].yarn_beta_fast, false, 1e-6, 1e6),
    REAL("rope.scaling.yarn_beta_slow", rope[0].yarn_beta_slow, false, 1e-6, 1e6),
    REAL("rope.scaling.yarn_log_multiplier", rope[0].yarn_log_multiplier, false, 0, 1e6),
    WHOLE_OF(KS_KEYS_WINDOW, "attention.sliding_window", window, false, 0, MAX_CONTEXT),
    REAL_OF(KS_KEYS_WINDOW, "rope.freq_base_swa", rope[1].base, false, 1, 1e12),
    REAL_OF(KS_KEYS_SCORE_CAP, "attn_logit_softcapping", attn_softcap, false, 0, 1e6),
    REAL_OF(KS_KEYS_LOGIT_CAP, "final_logit_softcapping", final_softcap, false, 0, 1e6),
    REAL_OF(KS_KEYS_SCALES, "attention.scale", attention_scale, false, 0, 1e6),
    REAL_OF(KS_KEYS_SCALES, "embedding_scale", embedding_scale, false, 0, 1e6),
    REAL_OF(KS_KEYS_SCALES, "residual_scale", residual_scale, false, 0, 1e6),
    REAL_OF(KS_KEYS_LOGIT_SCALE, "logit_scale", logit_scale, false, 0, 1e6),
    REAL_OF(KS_KEYS_TEMPERATURE, "attention.temperature_scale", temperature_scale, false, 0, 1e6),
    WHOLE_OF(KS_KEYS_LOCAL_HEADS, "attention.key_length_swa", local_head_dim, false, 1, 4096),
    WHOLE_OF(KS_KEYS_LOCAL_HEADS, "attention.value_length_swa", local_head_dim_v, false, 1, 4096),
    WHOLE_OF(KS_KEYS_LOCAL_HEADS, "rope.dimension_count_swa", rope[1].dims, false, 2, 4096),
    WHOLE_OF(KS_KEYS_SPARE, "nextn_predict_layers", spare_layers, false, 0, KS_MAX_LAYERS),
    WHOLE_OF(KS_KEYS_EXPERTS, "expert_count", experts, false, 0, 4096),
    WHOLE_OF(KS_KEYS_EXPERTS, "expert_used_count", experts_used, false, 0, 4096),
    WHOLE_OF(KS_KEYS_EXPERTS, "expert_feed_forward_length", expert_ffn, false, 1, 1 << 22),
    WHOLE_OF(KS_KEYS_EXPERTS, "expert_shared_feed_forward_length", shared_ffn, false, 0, 1 << 22),
    REAL_OF(KS_KEYS_EXPERTS, "expert_weights_scale", expert_scale, false, 0, 1e6),
    WHOLE_OF(KS_KEYS_EXPERTS, "leading_dense_block_count", leading_dense, false, 0, KS_MAX_LAYERS),
    WHOLE_OF(KS_KEYS_CONV, "shortconv.l_cache", conv_taps, true, 1, 1024),
    WHOLE_OF(KS_KEYS_DELTA, "ssm.conv_kernel", conv_taps, true, 1, 1024),
    WHOLE_OF(KS_KEYS_DELTA, "ssm.state_size", delta_dim, true, 1, KS_DELTA_MOST_K),
    WHOLE_OF(KS_KEYS_DELTA, "ssm.group_count", delta_k_heads, true, 1, 4096),
    WHOLE_OF(KS_KEYS_DELTA, "ssm.time_step_rank", delta_v_heads, true, 1, 4096),
    WHOLE_OF(KS_KEYS_DELTA, "ssm.inner_size", delta_inner, true, 1, 1 << 22),
    WHOLE_OF(KS_KEYS_DELTA, "full_attention_interval", attention_period, false, 1, KS_MAX_LAYERS),
};

#define N_FIELDS (sizeof fields / sizeof *fields)

struct reader {
    const struct ks_gguf *gguf;
    const char *file;
    struct ks_hparams *h;
};

static int read_real(const struct reader *r, const struct field *f, const char *key,
                     struct ks_error *err)
{
    float value;
    int found = ks_gguf_get_f32(r->gguf, key, &value, err);
    if (found <= 0)
        return found;
    if (!isfinite(value) || (double)value < f->min || (double)value > f->max)
        return ks_fail(err, KS_BAD_INPUT, "%s: %s is %g, not a number in %g..%g", r->file, key,
                       (double)value, f->min, f->max);
    memcpy((char *)r->h + f->slot, &value, sizeof value);
    return 1;
}

static void set_layer(const struct reader *r, const struct field *f, uint32_t layer, uint32_t value)
{
    memcpy((char *)&r->h->layer[layer] + f->layer_slot, &value, sizeof value);
}

static int read_whole(const struct reader *r, const struct field *f, const char *key,
                      struct ks_error *err)
{
    uint32_t value;
    int found = ks_gguf_get_u32(r->gguf, key, &value, err);
    if (found <= 0)
        return found;
    if (value < f->min || value > f->max)
        return ks_fail(err, KS_BAD_INPUT, "%s: %s is %u, not in %.0f..%.0f", r->file, key, value,
                       f->min, f->max);
    memcpy((char *)r->h + f->slot, &value, sizeof value);
    for (uint32_t l = 0; f->each && l < r->h->layers; l++)
        set_layer(r, f, l, value);
    return 1;
}

/* A whole number of an array; those that do not fit are beyond every range. */
static uint64_t whole_item(const struct ks_gguf_value *array, uint64_t i)
{
    const struct ks_gguf_value item = ks_gguf_array_item(array, i);
    switch (item.type) {
    case KS_GGUF_U8:
    case KS_GGUF_U16:
    case KS_GGUF_U32:
    case KS_GGUF_U64:
        return item.u;
    case KS_GGUF_I8:
    case KS_GGUF_I16:
    case KS_GGUF_I32:
    case KS_GGUF_I64:
        return item.i < 0 ? UINT64_MAX : (uint64_t)item.i;
    default:
        return UINT64_MAX;
    }
}

static int read_each(const struct reader *r, const struct field *f, const struct ks_gguf_value *v,
                     struct ks_error *err)
{
    uint32_t greatest = 0;
    if (v->array.count < r->h->layers)
        return ks_fail(err, KS_BAD_INPUT, "%s: %s has %llu numbers for %u layers", r->file, v->key,
                       (unsigned long long)v->array.count, r->h->layers);
    for (uint32_t l = 0; l < r->h->layers; l++) {
        uint64_t value = whole_item(v, l);
        if (value > 0 && ((double)value < f->min || (double)value > f->max))
            return ks_fail(err, KS_BAD_INPUT,
                           "%s: %s: the number of layer %u is not a whole one in %.0f..%.0f",
                           r->file, v->key, l, f->min, f->max);
        set_layer(r, f, l, (uint32_t)value);
        greatest = value > greatest ? (uint32_t)value : greatest;
    }
    if (greatest == 0)
        return ks_fail(err, KS_BAD_INPUT, "%s: %s is 0 in every layer", r->file, v->key);
    memcpy((char *)r->h + f->slot, &greatest, sizeof greatest);
    return 1;
}

static int read_field(const struct reader *r, const struct field *f, struct ks_error *err)
{
    char key[KS_ARCH_KEY_SIZE];
    ks_arch_key(r->h, f->key, key);
    const struct ks_gguf_value *v = f->each ? ks_gguf_find(r->gguf, key) : NULL;
    int found = f->real                         ? read_real(r, f, key, err)
                : v && v->type == KS_GGUF_ARRAY ? read_each(r, f, v, err)
                                                : read_whole(r, f, key, err);
    if (found == 0 && f->required)
        return ks_fail(err, KS_BAD_INPUT, "%s: metadata key %s is missing", r->file, key);
    return found < 0 ? -1 : 0;
}

bool ks_fields_have(const struct ks_arch *arch, const char *key)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (strcmp(fields[i].key, key) == 0 && ks_arch_has_keys(arch, fields[i].key_set))
            return true;
    }
    return false;
}

int ks_fields_read(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                   struct ks_hparams *h, struct ks_error *err)
{
    const struct reader r = {.gguf = g, .file = file, .h = h};
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (ks_arch_has_keys(arch, fields[i].key_set) && read_field(&r, &fields[i], err))
            return -1;
    }
    return 0;
}

void ks_fields_glance(const struct ks_gguf *g, struct ks_hparams *h)
{
    const struct reader r = {.gguf = g, .file = "", .h = h};
    struct ks_error ignored;
    for (size_t i = 0; i < N_FIELDS; i++)
        read_field(&r, &fields[i], &ignored);
}

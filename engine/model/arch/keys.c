/*
 * Keys that nothing reads. Under the architecture's name each is an option of the computation, or
 * may be one; so what isn't known is refused where it says anything. A key of another architecture
 * is as unknown as one that nobody has heard of.
 */
#include <stdio.h>
#include <string.h>

#include "engine/model/arch/arch.h"

/* Keys that are read elsewhere than by fields.c, and those that change no logit. */
static const struct {
    const char *key;
    enum ks_key_set key_set;
} others[] = {
    {"rope.scaling.type", KS_KEYS_ALL},
    {"vocab_size", KS_KEYS_ALL},
    {"attention.sliding_window_pattern", KS_KEYS_WINDOW},
    {"attention.causal", KS_KEYS_ALL},
    {"expert_count", KS_KEYS_ALL},
    {"expert_gating_func", KS_KEYS_EXPERTS},
    {"expert_weights_norm", KS_KEYS_EXPERTS},
    {"rope.dimension_sections", KS_KEYS_DELTA}, /* alike for text, whose positions are numbers */
    {"rope.scaling.finetuned", KS_KEYS_ALL},    /* history */
    {"tensor_data_layout", KS_KEYS_ALL},        /* history, of the conversion */
    {"pooling_type", KS_KEYS_ALL},              /* of embeddings */
    {"use_parallel_residual", KS_KEYS_ALL},     /* said by the tensors there are */
};

static bool is_known(const struct ks_arch *arch, const char *option)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(others[i].key, option) == 0)
            return ks_arch_has_keys(arch, others[i].key_set);
    }
    return ks_fields_have(arch, option);
}

/* 0, false, "" and an empty array say that something is not there. */
static bool says_something(const struct ks_gguf_value *v)
{
    switch (v->type) {
    case KS_GGUF_STRING:
        return v->s.len > 0;
    case KS_GGUF_ARRAY:
        return v->array.count > 0;
    case KS_GGUF_F32:
    case KS_GGUF_F64:
        return v->f != 0;
    default:
        return v->u != 0;
    }
}

static int check_causal(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                        struct ks_error *err)
{
    char key[256];
    bool causal = true;
    snprintf(key, sizeof key, "%s.attention.causal", arch->name);
    if (ks_gguf_get_bool(g, key, &causal, err) < 0)
        return -1;
    return causal ? 0
                  : ks_fail(err, KS_UNSUPPORTED, "%s: %s is false: there is no next token to score",
                            file, key);
}

int ks_keys_check(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                  struct ks_error *err)
{
    size_t prefix = strlen(arch->name);
    for (size_t i = 0; i < ks_gguf_n_values(g); i++) {
        const struct ks_gguf_value *v = ks_gguf_value(g, i);
        if (strncmp(v->key, arch->name, prefix) != 0 || v->key[prefix] != '.' ||
            is_known(arch, v->key + prefix + 1) || !says_something(v))
            continue;
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: metadata key %s is none that this program knows of architecture %s; "
                       "what it changes would be missed",
                       file, v->key, arch->name);
    }
    return check_causal(g, file, arch, err);
}

#include "engine/model/arch/arch.h"

#include <stdio.h>
#include <string.h>

#define BIT KS_PART_BIT

const struct ks_arch *ks_arch_find(const char *name)
{
    const struct ks_arch *arch;
    for (size_t i = 0; (arch = ks_arch_at(i)); i++) {
        if (strcmp(arch->name, name) == 0)
            return arch;
    }
    return NULL;
}

void ks_arch_list(char *text, size_t size)
{
    const struct ks_arch *arch;
    size_t at = 0;
    for (size_t i = 0; (arch = ks_arch_at(i)) && at < size; i++) {
        int n = snprintf(text + at, size - at, "%s%s", i ? ", " : "", arch->name);
        at += n < 0 ? 0 : (size_t)n;
    }
}

const char *ks_arch_key(const struct ks_hparams *h, const char *suffix, char key[KS_ARCH_KEY_SIZE])
{
    snprintf(key, KS_ARCH_KEY_SIZE, "%.31s.%s", h->architecture, suffix);
    return key;
}

/* What a mixer and an MLP consist of; they bring their parts to the layers that have them. */
static const struct ks_parts mixers[] = {
    [KS_MIXER_ATTENTION] = {BIT(KS_PART_ATTN) | BIT(KS_PART_ATTN_V), BIT(KS_PART_ATTN_QKV)},
    [KS_MIXER_SHORTCONV] = {BIT(KS_PART_CONV), 0},
    [KS_MIXER_DELTA] = {BIT(KS_PART_DELTA), 0},
};
static const struct ks_parts mlps[] = {
    [KS_MLP_GATED] = {BIT(KS_PART_FFN) | BIT(KS_PART_FFN_GATE), BIT(KS_PART_FFN_GATE_UP)},
    [KS_MLP_PLAIN] = {BIT(KS_PART_FFN), 0},
    [KS_MLP_EXPERTS] = {BIT(KS_PART_EXPERTS), BIT(KS_PART_EXPERTS_GATE_UP)},
};

struct ks_parts ks_arch_parts(const struct ks_arch *arch, const struct ks_layer_traits *layer)
{
    struct ks_parts parts = {arch->required, arch->optional | BIT(KS_PART_OUTPUT)};
    if (layer) {
        parts.required |= mixers[layer->mixer].required | mlps[layer->mlp].required;
        parts.optional |= mixers[layer->mixer].optional | mlps[layer->mlp].optional;
        parts.required &= ~(arch->optional & BIT(KS_PART_ATTN_V));
        if (layer->mixer == KS_MIXER_ATTENTION)
            parts.required |= arch->attention;
        if (layer->mlp == KS_MLP_EXPERTS) {
            parts.required |= arch->experts;
            if (arch->design.dense_and_experts)
                parts.required |= mlps[arch->mlp].required;
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

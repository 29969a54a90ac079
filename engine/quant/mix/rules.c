/*
 * Which type llama-quantize gives a tensor: the presets' tables with what cuts across them.
 */
#include "engine/quant/mix/rules.h"

#include <string.h>

/* ------------------------------------------------------------------ tensors */

bool ks_mix_quantizable(const struct ks_mix_tensor *t)
{
    static const char *const kept[] = {
        "_norm.weight", "ffn_gate_inp.weight",   "position_embd.weight", "token_types.weight",
        "ssm_conv1d",   "shortconv.conv.weight", "per_layer_model_proj", "altup",
        "laurel",
    };
    bool matrix = false;
    for (uint32_t i = 1; i < t->n_dims; i++)
        matrix |= t->dims[i] > 1;
    size_t len = strlen(t->name);
    if (!matrix || len < 6 || strcmp(t->name + len - 6, "weight") != 0)
        return false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strstr(t->name, kept[i]))
            return false;
    return true;
}

int32_t ks_mix_layer(const char *name)
{
    if (strncmp(name, "blk.", 4) != 0)
        return -1;
    int32_t layer = 0;
    const char *digit = name + 4;
    for (; *digit >= '0' && *digit <= '9' && layer < 100000; digit++)
        layer = 10 * layer + (*digit - '0');
    return digit > name + 4 && *digit == '.' ? layer : -1;
}

static enum ks_role role_of(const char *name)
{
    static const struct {
        const char *part;
        enum ks_role role;
    } parts[] = {
        {"attn_qkv.weight", KS_ROLE_V}, {"attn_kv_b.weight", KS_ROLE_V},
        {"attn_v.weight", KS_ROLE_V},   {"attn_k.weight", KS_ROLE_K},
        {"attn_q.weight", KS_ROLE_Q},   {"attn_output.weight", KS_ROLE_ATTN_OUTPUT},
        {"ffn_up", KS_ROLE_UP},         {"ffn_gate", KS_ROLE_GATE},
        {"ffn_down", KS_ROLE_DOWN},
    };
    if (strcmp(name, "output.weight") == 0)
        return KS_ROLE_HEAD;
    if (strcmp(name, "token_embd.weight") == 0 || strcmp(name, "per_layer_token_embd.weight") == 0)
        return KS_ROLE_EMBEDDING;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i].part))
            return parts[i].role;
    return KS_ROLE_OTHER;
}

void ks_mix_count_all(const struct ks_mix_tensor *tensors, size_t n, struct ks_mix_counts *c)
{
    *c = (struct ks_mix_counts){0};
    for (size_t i = 0; i < n; i++)
        c->all_attn_v += role_of(tensors[i].name) == KS_ROLE_V;
}

/* ------------------------------------------------------------------ rules */

struct place {
    uint32_t i, n;
    uint32_t gqa, experts;
    bool has_importance;
};

static bool wants_more(uint32_t i, uint32_t n)
{
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

static bool holds(unsigned when, const struct place *at)
{
    uint32_t i = at->i, n = at->n;
    return (!(when & KS_IF_GQA4) || at->gqa >= 4) && (!(when & KS_IF_FIRST2) || i < 2) &&
           (!(when & KS_IF_FIRST4) || i < 4) && (!(when & KS_IF_EIGHTH) || i < n / 8) &&
           (!(when & KS_IF_SIXTEEN) || i < n / 16) && (!(when & KS_IF_MORE) || wants_more(i, n)) &&
           (!(when & KS_IF_MIDDLE) || (i >= n / 8 && i < 7 * n / 8)) &&
           (!(when & KS_IF_GIVEN) || at->has_importance) &&
           (!(when & KS_IF_MISSING) || !at->has_importance) &&
           (!(when & KS_IF_MIX8) || at->experts == 8) &&
           (!(when & KS_IF_NOT8) || at->experts != 8) && (!(when & KS_IF_MIX4) || at->experts >= 4);
}

static enum ks_type by_table(const struct ks_preset *p, enum ks_role role, const struct place *at)
{
    for (const struct ks_rule *r = p->rules; r->role != KS_ROLE_END; r++)
        if (r->role == (int)role && holds(r->when, at))
            return r->type;
    return p->base;
}

static enum ks_type head_type(const struct ks_preset *p, uint64_t cols)
{
    const struct ks_type_info *base = ks_type_info(p->base);
    if (p->base == KS_MXFP4 || p->base == KS_Q8_0 || cols % base->block_elems != 0)
        return KS_Q8_0;
    return p->traits & KS_PRESET_HEAD_Q5 ? KS_Q5_K : KS_Q6_K;
}

/* Shapes known by the name 70B, where eight heads share small value matrices. */
static bool is_70b(const struct ks_mix_model *m)
{
    if (m->layers != 80)
        return false;
    return (strcmp(m->architecture, "llama") == 0 && m->heads != m->kv_heads) ||
           strcmp(m->architecture, "qwen2") == 0;
}

/* Takes the tensor's place among its kind and moves the count on. Experts of a layer may be several
 * tensors: there the layer in the name is the place. */
static void find_place(const struct ks_preset *p, const struct ks_mix_model *model,
                       const char *name, enum ks_role role, struct ks_mix_counts *c,
                       struct place *at)
{
    uint32_t *count = role == KS_ROLE_V      ? &c->attn_v
                      : role == KS_ROLE_DOWN ? &c->ffn_down
                      : role == KS_ROLE_GATE ? &c->ffn_gate
                      : role == KS_ROLE_UP   ? &c->ffn_up
                                             : NULL;
    if (!count)
        return;
    at->i = (*count)++;
    at->n = role == KS_ROLE_V ? c->all_attn_v : model->layers;
    int32_t layer = ks_mix_layer(name);
    if (role != KS_ROLE_V && model->experts > 1 && !(p->traits & KS_PRESET_LOW) && layer >= 0)
        at->i = (uint32_t)layer;
}

enum ks_type ks_mix_rule(const struct ks_preset *p, const struct ks_mix_model *model,
                         const struct ks_mix_tensor *t, bool has_importance,
                         struct ks_mix_counts *c)
{
    struct place at = {
        .gqa = model->kv_heads ? model->heads / model->kv_heads : 0,
        .experts = model->experts,
        .has_importance = has_importance,
    };
    enum ks_role role = role_of(t->name);
    find_place(p, model, t->name, role, c, &at);
    if (ks_type_info(p->base)->block_elems == 1)
        return p->base;
    if (role == KS_ROLE_HEAD || (role == KS_ROLE_EMBEDDING && model->tied))
        return head_type(p, t->dims[0]);
    if (p->base == KS_MXFP4)
        return t->n_dims > 2 && t->dims[2] > 1 ? KS_MXFP4 : KS_Q8_0;
    bool low = p->traits & KS_PRESET_LOW;
    if (!low && model->experts == 8 && (role == KS_ROLE_V || role == KS_ROLE_K))
        return KS_Q8_0;
    enum ks_type type = by_table(p, role, &at);
    bool coarse = type == KS_Q3_K || type == KS_Q4_K;
    return !low && coarse && role == KS_ROLE_V && is_70b(model) ? KS_Q5_K : type;
}

/* ------------------------------------------------------------------ shapes */

static enum ks_type next_best(enum ks_type type)
{
    switch (type) {
    case KS_IQ1_S:
    case KS_IQ1_M:
    case KS_IQ2_XXS:
    case KS_IQ2_XS:
    case KS_IQ2_S:
    case KS_IQ3_XXS:
    case KS_IQ3_S:
    case KS_IQ4_XS:
        return KS_IQ4_NL;
    case KS_Q2_K:
    case KS_Q3_K:
    case KS_TQ1_0:
    case KS_TQ2_0:
        return KS_Q4_0;
    case KS_Q4_K:
        return KS_Q5_0;
    case KS_Q5_K:
        return KS_Q5_1;
    case KS_Q6_K:
        return KS_Q8_0;
    default:
        return type;
    }
}

bool ks_mix_fit(enum ks_type *type, uint64_t cols)
{
    if (cols % ks_type_info(*type)->block_elems == 0)
        return true;
    enum ks_type other = next_best(*type);
    if (other == *type)
        return false;
    *type = cols % ks_type_info(other)->block_elems == 0 ? other : KS_F16;
    return true;
}

bool ks_mix_needs_importance(const struct ks_preset *p, const char *name, enum ks_type type)
{
    enum ks_role role = role_of(name);
    if (ks_type_info((uint32_t)type)->weighing == KS_MUST_BE_WEIGHED)
        return true;
    if (role == KS_ROLE_HEAD || role == KS_ROLE_EMBEDDING)
        return false;
    switch (type) {
    case KS_IQ1_M:
    case KS_IQ2_S:
    case KS_IQ3_XXS:
        return true;
    case KS_Q2_K:
        return p && p->traits & KS_PRESET_WEIGHED_Q2;
    default:
        return false;
    }
}

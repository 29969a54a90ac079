/* What an architecture comes to in one model, as lines for people. */
#include "engine/model/object.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/model/arch/arch.h"

/* A line being written; what does not fit is cut. */
struct line {
    char *text;
    size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->text + l->len, l->size - l->len, format, args);
    va_end(args);
    if (n > 0)
        l->len += (size_t)n < l->size - l->len ? (size_t)n : l->size - l->len - 1;
}

/* How a layer mixes positions. */
static void name_mixer(const struct ks_layer_traits *t, char text[64])
{
    switch (t->mixer) {
    case KS_MIXER_ATTENTION:
        if (t->window)
            snprintf(text, 64, "the last %u positions", t->window);
        else
            snprintf(text, 64, "all positions");
        return;
    case KS_MIXER_SHORTCONV:
        snprintf(text, 64, "short convolution");
        return;
    case KS_MIXER_DELTA:
        snprintf(text, 64, "gated delta net");
        return;
    }
}

static void name_heads(const struct ks_layer_traits *t, char text[64])
{
    snprintf(text, 64, "heads of %u", t->head_dim);
}

static void name_rope(const struct ks_layer_traits *t, char text[64])
{
    snprintf(text, 64, "%s",
             t->mixer != KS_MIXER_ATTENTION ? ""
             : t->rope == KS_NO_ROPE        ? "none"
             : t->rope == 0                 ? "rope"
                                            : "own");
}

static void name_mlp(const struct ks_layer_traits *t, char text[64])
{
    snprintf(text, 64, "%s", t->mlp == KS_MLP_EXPERTS ? "experts" : "dense");
}

static void add_range(struct line *l, const char *before, uint32_t first, uint32_t last)
{
    if (first == last)
        add(l, "%s%u", before, first);
    else
        add(l, "%s%u-%u", before, first, last);
}

static bool is_named(const struct ks_hparams *h, uint32_t layer, const char *name,
                     void (*name_layer)(const struct ks_layer_traits *t, char text[64]))
{
    char text[64];
    if (layer >= h->layers)
        return false;
    name_layer(&h->layer[layer], text);
    return strcmp(text, name) == 0;
}

/* The layers that a name is given to: "layers 0-4, 6", "layer 3". */
static void add_layers(struct line *l, const struct ks_hparams *h, const char *name,
                       void (*name_layer)(const struct ks_layer_traits *t, char text[64]))
{
    uint32_t ranges = 0, first = 0, named = 0;
    for (uint32_t i = 0; i < h->layers; i++)
        named += is_named(h, i, name, name_layer);
    add(l, named == 1 ? "layer " : "layers ");
    for (uint32_t i = 0; i < h->layers; i++) {
        if (!is_named(h, i, name, name_layer))
            continue;
        if (i == 0 || !is_named(h, i - 1, name, name_layer))
            first = i;
        if (!is_named(h, i + 1, name, name_layer))
            add_range(l, ranges++ ? ", " : "", first, i);
    }
}

/* "all positions", or with the layers of each where they differ. */
static void group_layers(struct line *l, const struct ks_hparams *h,
                         void (*name_layer)(const struct ks_layer_traits *t, char text[64]))
{
    for (uint32_t i = 0; i < h->layers; i++) {
        char name[64], other[64];
        uint32_t seen = 0, same = 0;
        name_layer(&h->layer[i], name);
        for (uint32_t j = 0; j < h->layers; j++) {
            name_layer(&h->layer[j], other);
            same += strcmp(name, other) == 0;
            seen += j < i && strcmp(name, other) == 0;
        }
        if (seen)
            continue;
        add(l, "%s%s", l->len ? "; " : "", name);
        if (same == h->layers)
            return;
        add(l, " (");
        add_layers(l, h, name, name_layer);
        add(l, ")");
    }
}

static bool has_role(const struct ks_model *m, enum ks_role role)
{
    const struct ks_arch *arch = ks_arch_find(m->hparams.architecture);
    for (size_t i = 0; i < m->n_tensors; i++) {
        uint32_t layer;
        if (ks_role_of(arch, ks_model_tensor_name(m, i), &layer) == role)
            return true;
    }
    return false;
}

static void tell_attention(const struct ks_model *m, struct line *l)
{
    const struct ks_hparams *h = &m->hparams;
    group_layers(l, h, name_mixer);
    if (h->local_head_dim)
        group_layers(l, h, name_heads);
    if (h->design.gated_attention)
        add(l, "; gated");
    if (has_role(m, KS_ROLE_ATTN_SINKS))
        add(l, "; a sink beside each head's scores");
    if (h->attn_softcap > 0)
        add(l, "; scores capped at %g", (double)h->attn_softcap);
    if (h->temperature_scale != 0)
        add(l, "; queries grow by %g ln past %u", (double)h->temperature_scale,
            h->rope[0].original_context);
}

static void tell_rope_of(const struct ks_rope *r, struct line *l)
{
    static const char *const scalings[] = {
        [KS_ROPE_SCALING_NONE] = "",
        [KS_ROPE_SCALING_LINEAR] = "linear",
        [KS_ROPE_SCALING_YARN] = "YaRN",
        [KS_ROPE_SCALING_LONG] = "long",
    };
    add(l, "base %.9g over %u dimensions", (double)r->base, r->dims);
    if (r->scaling != KS_ROPE_SCALING_NONE)
        add(l, ", %s scaling", scalings[r->scaling]);
    if (r->factor != 1)
        add(l, " by %g", (double)r->factor);
    if (r->scaling > KS_ROPE_SCALING_LINEAR)
        add(l, " from %u positions", r->original_context);
}

static void tell_rope(const struct ks_model *m, struct line *l)
{
    const struct ks_hparams *h = &m->hparams;
    bool any[KS_ROPES + 1] = {false};
    for (uint32_t i = 0; i < h->layers; i++)
        any[h->layer[i].rope] |= h->layer[i].mixer == KS_MIXER_ATTENTION;
    if (any[0]) {
        tell_rope_of(&h->rope[0], l);
        add(l, ", %s", h->rope[0].pairing == KS_ROPE_ADJACENT ? "adjacent pairs" : "halves paired");
        if (has_role(m, KS_ROLE_ROPE_FREQS))
            add(l, ", frequencies divided by rope_freqs");
        if (has_role(m, KS_ROLE_ROPE_LONG))
            add(l, ", frequencies divided by factors, others beyond %u positions",
                h->rope[0].original_context);
    }
    if (any[1]) {
        add(l, "%swith a window ", any[0] ? "; " : "");
        tell_rope_of(&h->rope[1], l);
    }
    if (any[KS_NO_ROPE]) {
        add(l, "%snone in ", l->len ? "; " : "");
        add_layers(l, h, "none", name_rope);
    }
}

static void tell_norm(const struct ks_model *m, struct line *l)
{
    static const char *const of_qk[] = {
        [KS_QK_NORM_HEAD] = ", of q and k by head",
        [KS_QK_NORM_ROW] = ", of q and k as a whole",
        [KS_QK_NORM_OWN] = ", of q and k by head, each its own",
    };
    const struct ks_hparams *h = &m->hparams;
    bool shared = h->design.order == KS_ORDER_PARALLEL ||
                  (h->design.order == KS_ORDER_BY_NORM && !has_role(m, KS_ROLE_FFN_NORM));
    add(l, "%s, epsilon %g", h->design.norm == KS_NORM_RMS ? "RMS" : "LayerNorm",
        (double)h->norm_eps);
    if (shared)
        add(l, ", one before attention and MLP side by side");
    else if (h->design.bare_norm || has_role(m, KS_ROLE_ATTN_NORM))
        add(l, ", before the blocks");
    if (has_role(m, KS_ROLE_POST_ATTN_NORM))
        add(l, ", behind the blocks");
    if (has_role(m, KS_ROLE_ATTN_Q_NORM))
        add(l, "%s", of_qk[h->design.qk_norm]);
    if (h->design.norm_v)
        add(l, ", of v by head without a gain");
}

static void tell_mlp(const struct ks_model *m, struct line *l)
{
    const struct ks_hparams *h = &m->hparams;
    static const char *const activations[] = {
        [KS_ACTIVATION_SILU] = "SiLU",
        [KS_ACTIVATION_CLAMPED_SILU] = "clamped SiLU",
        [KS_ACTIVATION_GELU] = "GELU",
        [KS_ACTIVATION_RELU2] = "squared ReLU",
    };
    bool plain = h->layer[0].mlp == KS_MLP_PLAIN;
    add(l, "%s%s", activations[h->design.activation], plain ? "" : " gate");
    if (h->experts == 0)
        return;
    add(l, "; %u of %u experts of %u each", h->experts_used, h->experts, h->expert_ffn);
    if (h->leading_dense) {
        add(l, " (");
        add_layers(l, h, "experts", name_mlp);
        add(l, ")");
    }
    if (has_role(m, KS_ROLE_SHARED_UP))
        add(l, "; a shared expert of %u", h->shared_ffn);
    if (h->design.dense_and_experts)
        add(l, "; a dense MLP of %u beside them", h->ffn);
}

static void tell_scales(const struct ks_model *m, struct line *l)
{
    const struct ks_hparams *h = &m->hparams;
    const struct {
        const char *of;
        float by;
    } scales[] = {
        {"embedding", h->embedding_scale},
        {"residual", h->residual_scale},
        {"scores", h->attention_scale},
        {"logits", h->logit_scale},
    };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (scales[i].by != 1)
            add(l, "%s%s by %g", l->len ? ", " : "", scales[i].of, (double)scales[i].by);
    }
    if (h->final_softcap > 0)
        add(l, "%slogits capped at %g", l->len ? ", " : "", (double)h->final_softcap);
}

bool ks_model_trait(const struct ks_model *m, size_t i, const char **name, char *text, size_t size)
{
    static const struct {
        const char *name;
        void (*tell)(const struct ks_model *m, struct line *l);
    } traits[] = {
        {"attention", tell_attention}, {"rope", tell_rope}, {"norm", tell_norm}, {"mlp", tell_mlp},
        {"scales", tell_scales},
    };
    if (i >= sizeof traits / sizeof *traits || m->refusal.code != KS_OK || size == 0)
        return false;
    struct line line = {.text = text, .size = size};
    text[0] = '\0';
    *name = traits[i].name;
    traits[i].tell(m, &line);
    return true;
}

/*
 * Hyperparameters: the numbers that the metadata gives, and what depends on other numbers
 * (defaults, divisibility, the layers, the vocabulary).
 */
#include "engine/model/arch/arch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the metadata says nothing. What defaults to another hyperparameter stays 0 until then. */
static const struct ks_rope default_rope = {
    .base = 10000,
    .factor = 1,
    .attn_factor = 1,
    .yarn_beta_fast = 32,
    .yarn_beta_slow = 1,
};

struct reader {
    const struct ks_gguf *gguf;
    const char *file;
    struct ks_hparams *h;
};

/* Adapters, projectors and importance matrices are GGUF files too. */
static int check_kind(const struct reader *r, struct ks_error *err)
{
    static const char wanted[] = "model";
    struct ks_str kind = {.bytes = wanted, .len = strlen(wanted)};
    if (ks_gguf_get_str(r->gguf, "general.type", &kind, err) < 0)
        return -1;
    if (kind.len == strlen(wanted) && memcmp(kind.bytes, wanted, kind.len) == 0)
        return 0;
    return ks_fail(err, KS_UNSUPPORTED, "%s: general.type is \"%.*s\": this file is no model",
                   r->file, kind.len > 64 ? 64 : (int)kind.len, kind.bytes);
}

static int read_architecture(const struct reader *r, struct ks_error *err)
{
    struct ks_str name;
    int found = ks_gguf_get_str(r->gguf, "general.architecture", &name, err);
    if (found < 0)
        return -1;
    if (found == 0)
        return ks_fail(err, KS_BAD_INPUT, "%s: metadata key general.architecture is missing",
                       r->file);
    snprintf(r->h->architecture, sizeof r->h->architecture, "%.*s",
             name.len > 31 ? 31 : (int)name.len, name.bytes);
    return 0;
}

static int check_architecture(const struct reader *r, const struct ks_arch **arch,
                              struct ks_error *err)
{
    struct ks_str name = {0};
    if (ks_gguf_get_str(r->gguf, "general.architecture", &name, err) < 0)
        return -1;
    *arch = ks_arch_find(r->h->architecture);
    if (*arch && strlen((*arch)->name) == name.len)
        return 0;
    if (*arch)
        return ks_fail(err, KS_BAD_INPUT, "%s: general.architecture holds a byte 0 behind \"%s\"",
                       r->file, (*arch)->name);
    char known[512];
    ks_arch_list(known, sizeof known);
    return ks_fail(err, KS_UNSUPPORTED,
                   "%s: general.architecture is \"%s\", which this program cannot compute; it "
                   "knows %s",
                   r->file, r->h->architecture, known);
}

/* The layers that are computed, and those behind them. */
static int part_layers(const struct reader *r, struct ks_error *err)
{
    struct ks_hparams *h = r->h;
    if (h->spare_layers >= h->layers)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %s.nextn_predict_layers (%u) leaves none of %s.block_count (%u)",
                       r->file, h->architecture, h->spare_layers, h->architecture, h->layers);
    h->layers -= h->spare_layers;
    for (uint32_t i = 0; i < h->spare_layers; i++)
        h->layer[h->layers + i] = (struct ks_layer_traits){0};
    return 0;
}

static int check_heads_of(const struct reader *r, struct ks_layer_traits *l, struct ks_error *err)
{
    const struct ks_hparams *h = r->h;
    l->head_dim = h->head_dim;
    l->head_dim_v = h->head_dim_v;
    if (l->kv_heads == 0 && h->kv_heads == 0)
        l->kv_heads = l->heads;
    if (h->ffn == 0 && l->mlp != KS_MLP_EXPERTS)
        return ks_fail(err, KS_BAD_INPUT, "%s: metadata key %s.feed_forward_length is missing",
                       r->file, h->architecture);
    if (l->heads == 0 || (l->ffn == 0 && l->mlp != KS_MLP_EXPERTS))
        return ks_fail(err, KS_BAD_INPUT, "%s: layer %td has no %s", r->file, l - h->layer,
                       l->heads ? "feed_forward_length" : "attention.head_count");
    if (l->mixer != KS_MIXER_ATTENTION)
        return 0;
    if (l->kv_heads == 0 || l->heads % l->kv_heads != 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %s.attention.head_count (%u) is no multiple of "
                       "%s.attention.head_count_kv (%u)",
                       r->file, h->architecture, l->heads, h->architecture, l->kv_heads);
    return 0;
}

static int check_heads(const struct reader *r, struct ks_error *err)
{
    struct ks_hparams *h = r->h;
    if (h->head_dim == 0 && h->hidden % h->heads != 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %s.embedding_length (%u) is no multiple of %s.attention.head_count "
                       "(%u), and %s.attention.key_length is missing",
                       r->file, h->architecture, h->hidden, h->architecture, h->heads,
                       h->architecture);
    if (h->head_dim == 0)
        h->head_dim = h->hidden / h->heads;
    if (h->head_dim_v == 0)
        h->head_dim_v = h->head_dim;
    for (uint32_t i = 0; i < h->layers; i++) {
        if (check_heads_of(r, &h->layer[i], err))
            return -1;
    }
    if (h->kv_heads == 0)
        h->kv_heads = h->heads;
    return 0;
}

static int read_rope_type(const struct reader *r, struct ks_error *err)
{
    static const char *const names[] = {
        [KS_ROPE_SCALING_NONE] = "none",
        [KS_ROPE_SCALING_LINEAR] = "linear",
        [KS_ROPE_SCALING_YARN] = "yarn",
        [KS_ROPE_SCALING_LONG] = "longrope",
    };
    char key[KS_ARCH_KEY_SIZE];
    struct ks_str type;
    /* A factor without a type means linear: the type is the younger key. */
    r->h->rope[0].scaling = KS_ROPE_SCALING_LINEAR;
    int found = ks_gguf_get_str(r->gguf, ks_arch_key(r->h, "rope.scaling.type", key), &type, err);
    if (found <= 0)
        return found;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == type.len && memcmp(names[i], type.bytes, type.len) == 0) {
            r->h->rope[0].scaling = (enum ks_rope_scaling)i;
            return 0;
        }
    }
    return ks_fail(err, KS_UNSUPPORTED,
                   "%s: %s is \"%.*s\"; this program knows none, linear, yarn, longrope", r->file,
                   key, type.len > 64 ? 64 : (int)type.len, type.bytes);
}

static int check_rope(const struct reader *r, const struct ks_arch *arch, struct ks_error *err)
{
    struct ks_hparams *h = r->h;
    struct ks_rope *rope = &h->rope[0];
    rope->pairing = arch->rope_pairing;
    if (rope->dims == 0)
        rope->dims = h->head_dim;
    if (rope->dims % 2 != 0 || rope->dims > h->head_dim)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %s.rope.dimension_count is %u, not an even number up to the head's %u "
                       "dimensions",
                       r->file, h->architecture, rope->dims, h->head_dim);
    if (read_rope_type(r, err))
        return -1;
    if (rope->factor == 0) /* some files write 0 for none */
        rope->factor = 1;
    if (rope->factor == 1 && rope->scaling != KS_ROPE_SCALING_LONG)
        rope->scaling = KS_ROPE_SCALING_NONE;
    if (rope->scaling == KS_ROPE_SCALING_NONE)
        rope->factor = 1;
    if (rope->original_context == 0)
        rope->original_context = h->context;
    return 0;
}

/* What has a default that the architecture or another number gives. */
static void set_scales(const struct ks_arch *arch, struct ks_hparams *h)
{
    bool by_width = arch->scale_by_width_at && arch->scale_by_width_at == h->layers;
    double width = by_width ? (double)h->hidden / h->heads : (double)h->head_dim;
    if (h->attention_scale == 0)
        h->attention_scale = arch->attention_scale;
    if (h->attention_scale == 0)
        h->attention_scale = (float)(1.0 / sqrt(width));
    if (arch->embedding_by_width)
        h->embedding_scale = sqrtf((float)h->hidden);
    if (arch->divides_logits && h->logit_scale > 0)
        h->logit_scale = 1 / h->logit_scale;
    if (h->logit_scale == 0)
        h->logit_scale = 1;
}

static int check_delta(const struct reader *r, struct ks_error *err)
{
    const struct ks_hparams *h = r->h;
    if (h->delta_inner == 0)
        return 0;
    if (h->delta_v_heads % h->delta_k_heads != 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %s.ssm.time_step_rank (%u) is no multiple of %s.ssm.group_count (%u)",
                       r->file, h->architecture, h->delta_v_heads, h->architecture,
                       h->delta_k_heads);
    if (h->delta_inner % h->delta_v_heads != 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %s.ssm.inner_size (%u) is no multiple of %s.ssm.time_step_rank (%u)",
                       r->file, h->architecture, h->delta_inner, h->architecture, h->delta_v_heads);
    return 0;
}

/* Granite's files have a use of their own for a key that is history elsewhere. */
static int read_rope_switch(const struct reader *r, const struct ks_arch *arch,
                            struct ks_error *err)
{
    char key[KS_ARCH_KEY_SIZE];
    bool on = true;
    if (!ks_arch_has_keys(arch, KS_KEYS_ROPE_SWITCH))
        return 0;
    if (ks_gguf_get_bool(r->gguf, ks_arch_key(r->h, "rope.scaling.finetuned", key), &on, err) < 0)
        return -1;
    for (uint32_t i = 0; !on && i < r->h->layers; i++)
        r->h->layer[i].rope = KS_NO_ROPE;
    return 0;
}

/* Three places tell the vocabulary's size; they must agree. */
static int check_vocab(const struct reader *r, struct ks_error *err)
{
    const struct ks_gguf_tensor *table = ks_gguf_find_tensor(r->gguf, "token_embd.weight");
    if (!table)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor token_embd.weight is missing", r->file);
    if (table->dims[1] > INT32_MAX)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: tensor token_embd.weight has %llu rows, more than "
                       "token ids can count",
                       r->file, (unsigned long long)table->dims[1]);
    r->h->vocab = (uint32_t)table->dims[1];

    const struct ks_gguf_value *tokens = ks_gguf_find(r->gguf, "tokenizer.ggml.tokens");
    if (tokens && tokens->type == KS_GGUF_ARRAY && tokens->array.count != r->h->vocab)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: tokenizer.ggml.tokens has %llu tokens, but token_embd.weight %u rows",
                       r->file, (unsigned long long)tokens->array.count, r->h->vocab);
    char key[KS_ARCH_KEY_SIZE];
    uint32_t said = r->h->vocab;
    if (ks_gguf_get_u32(r->gguf, ks_arch_key(r->h, "vocab_size", key), &said, err) < 0)
        return -1;
    if (said != r->h->vocab)
        return ks_fail(err, KS_BAD_INPUT, "%s: %s is %u, but token_embd.weight has %u rows",
                       r->file, key, said, r->h->vocab);
    return 0;
}

int ks_hparams_read(const struct ks_gguf *g, const char *file, struct ks_hparams *out,
                    struct ks_error *err)
{
    struct ks_hparams h = {.rope = {default_rope}, .embedding_scale = 1, .residual_scale = 1};
    const struct reader r = {.gguf = g, .file = file, .h = &h};
    const struct ks_arch *arch;
    if (check_kind(&r, err) || read_architecture(&r, err) || check_architecture(&r, &arch, err))
        return -1;
    h.design = arch->design;
    h.window = arch->window;
    h.attn_softcap = arch->attn_softcap;
    h.final_softcap = arch->final_softcap;
    if (ks_fields_read(g, file, arch, &h, err) || part_layers(&r, err) ||
        ks_experts_read(g, file, arch, &h, err))
        return -1;
    ks_arch_layers(arch, &h);
    if (check_heads(&r, err) || check_rope(&r, arch, err) || check_delta(&r, err) ||
        check_vocab(&r, err) || read_rope_switch(&r, arch, err) ||
        ks_windows_read(g, file, arch, &h, err))
        return -1;
    set_scales(arch, &h);
    if (ks_keys_check(g, file, arch, err))
        return -1;
    *out = h;
    return 0;
}

void ks_hparams_glance(const struct ks_gguf *g, struct ks_hparams *out)
{
    *out = (struct ks_hparams){0};
    const struct reader r = {.gguf = g, .file = "", .h = out};
    struct ks_error ignored;
    if (read_architecture(&r, &ignored))
        return;
    ks_fields_glance(g, out);
    if (out->kv_heads == 0)
        out->kv_heads = out->heads;
    if (out->head_dim == 0 && out->heads)
        out->head_dim = out->hidden / out->heads;
    const struct ks_gguf_value *tokens = ks_gguf_find(g, "tokenizer.ggml.tokens");
    if (tokens && tokens->type == KS_GGUF_ARRAY && tokens->array.count <= INT32_MAX)
        out->vocab = (uint32_t)tokens->array.count;
}

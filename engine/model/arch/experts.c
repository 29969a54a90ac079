/* What the metadata says of a mixture of experts. */

#include "engine/model/arch/arch.h"

struct reader {
    const struct ks_gguf *gguf;
    const char *file;
    struct ks_hparams *h;
};

/* Counts that fit each other, and defaults. */
static int check_counts(const struct reader *r, const struct ks_arch *arch, struct ks_error *err)
{
    struct ks_hparams *h = r->h;
    char key[KS_ARCH_KEY_SIZE];
    if (h->experts == 0)
        return arch->mlp == KS_MLP_EXPERTS
                   ? ks_fail(err, KS_BAD_INPUT, "%s: metadata key %s is missing or 0", r->file,
                             ks_arch_key(r->h, "expert_count", key))
                   : 0;
    if (h->experts_used == 0 || h->experts_used > h->experts)
        return ks_fail(err, KS_BAD_INPUT, "%s: %s is %u, not in 1..%u (%s.expert_count)", r->file,
                       ks_arch_key(r->h, "expert_used_count", key), h->experts_used, h->experts,
                       h->architecture);
    if (h->expert_ffn == 0)
        h->expert_ffn = h->ffn;
    if (!((arch->experts | arch->optional) & KS_PART_BIT(KS_PART_SHARED_EXPERT)))
        h->shared_ffn = 0;
    else if (h->shared_ffn == 0 && arch->experts & KS_PART_BIT(KS_PART_SHARED_EXPERT))
        h->shared_ffn = h->ffn;
    if (h->expert_ffn == 0)
        return ks_fail(err, KS_BAD_INPUT, "%s: metadata key %s is missing", r->file,
                       ks_arch_key(r->h, "expert_feed_forward_length", key));
    return 0;
}

/* How files number gatings. */
static int check_gating(const struct reader *r, struct ks_error *err)
{
    static const uint32_t numbers[] = {
        [KS_GATING_SOFTMAX] = 1, [KS_GATING_SIGMOID] = 2, [KS_GATING_CHOSEN] = 3};
    char key[KS_ARCH_KEY_SIZE];
    uint32_t said = numbers[r->h->design.gating];
    if (ks_gguf_get_u32(r->gguf, ks_arch_key(r->h, "expert_gating_func", key), &said, err) < 0)
        return -1;
    if (said == 0 || said == numbers[r->h->design.gating]) /* 0: not said */
        return 0;
    return ks_fail(err, KS_UNSUPPORTED, "%s: %s is %u; this program computes %u alone for %s",
                   r->file, key, said, numbers[r->h->design.gating], r->h->architecture);
}

static int check_normalizing(const struct reader *r, struct ks_error *err)
{
    char key[KS_ARCH_KEY_SIZE];
    const struct ks_gguf_value *v =
        ks_gguf_find(r->gguf, ks_arch_key(r->h, "expert_weights_norm", key));
    if (!v || (v->type == KS_GGUF_BOOL && (v->u != 0) == (r->h->design.normalize_experts != 0)))
        return 0;
    return ks_fail(err, KS_UNSUPPORTED, "%s: %s is not %s, as this program computes %s", r->file,
                   key, r->h->design.normalize_experts ? "true" : "false", r->h->architecture);
}

int ks_experts_read(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                    struct ks_hparams *h, struct ks_error *err)
{
    const struct reader r = {.gguf = g, .file = file, .h = h};
    char key[KS_ARCH_KEY_SIZE];
    uint32_t experts = 0;
    if (!ks_arch_has_keys(arch, KS_KEYS_EXPERTS)) {
        if (ks_gguf_get_u32(g, ks_arch_key(r.h, "expert_count", key), &experts, err) < 0)
            return -1;
        if (experts == 0)
            return 0;
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: %s is %u: mixtures of experts are not computed for this architecture",
                       file, key, experts);
    }
    if (check_counts(&r, arch, err))
        return -1;
    if (h->experts == 0)
        return 0;
    if (h->expert_scale == 0) /* not said */
        h->expert_scale = 1;
    return check_gating(&r, err) || check_normalizing(&r, err) ? -1 : 0;
}

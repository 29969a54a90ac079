/* Which layers see a window alone, and how they rotate. */

#include "engine/model/arch/arch.h"

/* The pattern that a file gives: a period, or for each layer whether it has a window. */
static int read_pattern(const struct ks_gguf *g, const char *file, const struct ks_hparams *h,
                        uint32_t *period, const struct ks_gguf_value **flags, struct ks_error *err)
{
    char key[KS_ARCH_KEY_SIZE];
    ks_arch_key(h, "attention.sliding_window_pattern", key);
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    if (!v || v->type != KS_GGUF_ARRAY)
        return ks_gguf_get_u32(g, key, period, err) < 0 ? -1 : 0;
    if (v->array.type != KS_GGUF_BOOL || v->array.count < h->layers)
        return ks_fail(err, KS_BAD_INPUT, "%s: %s is no array of %u booleans, one a layer", file,
                       key, h->layers);
    *flags = v;
    return 0;
}

/* The rope of windowed layers, where it is their own. */
static void set_local_rope(const struct ks_arch *arch, struct ks_hparams *h)
{
    float base = h->rope[1].base;
    uint32_t dims = h->rope[1].dims;
    h->rope[1] = h->rope[0];
    if (dims > 0 || h->local_head_dim > 0)
        h->rope[1].dims = dims > 0 ? dims : h->local_head_dim;
    if (base > 0 || arch->local_base > 0)
        h->rope[1].base = base > 0 ? base : arch->local_base;
    h->rope[1].scaling = KS_ROPE_SCALING_NONE;
    h->rope[1].factor = h->rope[1].attn_factor = 1;
}

/* The heads of a windowed layer, where they are of a width of their own. */
static void set_local_heads(const struct ks_hparams *h, struct ks_layer_traits *l)
{
    if (h->local_head_dim == 0)
        return;
    l->head_dim = h->local_head_dim;
    l->head_dim_v = h->local_head_dim_v ? h->local_head_dim_v : h->local_head_dim;
}

static int check_local_rope(const char *file, const struct ks_hparams *h, struct ks_error *err)
{
    uint32_t dims = h->rope[1].dims, width = h->local_head_dim ? h->local_head_dim : h->head_dim;
    if (dims % 2 == 0 && dims <= width)
        return 0;
    return ks_fail(err, KS_BAD_INPUT,
                   "%s: %s.rope.dimension_count_swa is %u, not an even number up to the head's %u "
                   "dimensions",
                   file, h->architecture, dims, width);
}

int ks_windows_read(const struct ks_gguf *g, const char *file, const struct ks_arch *arch,
                    struct ks_hparams *h, struct ks_error *err)
{
    uint32_t period = arch->window_period;
    const struct ks_gguf_value *flags = NULL;
    if (!(arch->keys & KS_PART_BIT(KS_KEYS_WINDOW)) || h->window == 0)
        return 0;
    if (read_pattern(g, file, h, &period, &flags, err))
        return -1;
    if (arch->local_rope == KS_LOCAL_ROPE_OWN)
        set_local_rope(arch, h);
    if (check_local_rope(file, h, err))
        return -1;
    for (uint32_t i = 0; i < h->layers; i++) {
        struct ks_layer_traits *l = &h->layer[i];
        bool local =
            flags ? ks_gguf_array_item(flags, i).u != 0 : period == 0 || i % period < period - 1;
        l->window = local ? h->window : 0;
        if (local)
            set_local_heads(h, l);
        if (local && arch->local_rope == KS_LOCAL_ROPE_OWN && l->rope != KS_NO_ROPE)
            l->rope = 1;
        if (!local && arch->local_rope == KS_LOCAL_ROPE_ONLY)
            l->rope = KS_NO_ROPE;
    }
    return 0;
}

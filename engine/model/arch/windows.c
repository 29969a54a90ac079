/* Which layers see a window alone, and how they rotate. */
#include <stdio.h>

#include "engine/model/arch/arch.h"

/* The pattern that a file gives: a period, or for each layer whether it has a window. */
static int read_pattern(const struct ks_gguf *g, const char *file, const struct ks_hparams *h,
                        uint32_t *period, const struct ks_gguf_value **flags, struct ks_error *err)
{
    char key[256];
    snprintf(key, sizeof key, "%.31s.attention.sliding_window_pattern", h->architecture);
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
    h->rope[1] = h->rope[0];
    if (base > 0 || arch->local_base > 0)
        h->rope[1].base = base > 0 ? base : arch->local_base;
    h->rope[1].scaling = KS_ROPE_SCALING_NONE;
    h->rope[1].factor = h->rope[1].attn_factor = 1;
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
    for (uint32_t i = 0; i < h->layers; i++) {
        struct ks_layer_traits *l = &h->layer[i];
        bool local =
            flags ? ks_gguf_array_item(flags, i).u != 0 : period == 0 || i % period < period - 1;
        l->window = local ? h->window : 0;
        if (local && arch->local_rope == KS_LOCAL_ROPE_OWN && l->rope != KS_NO_ROPE)
            l->rope = 1;
        if (!local && arch->local_rope == KS_LOCAL_ROPE_ONLY)
            l->rope = KS_NO_ROPE;
    }
    return 0;
}

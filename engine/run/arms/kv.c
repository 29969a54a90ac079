#include "engine/run/arms/kv.h"

#include <stdio.h>

#include "engine/base/nearest.h"
#include "engine/quant/round.h"

const char *ks_kv_type_name(size_t i)
{
    enum ks_type type;
    return ks_round_type(i, &type) ? ks_type_info((uint32_t)type)->name : NULL;
}

enum { MOST_TYPES = 16 };

static int fail_unknown_type(const char *part, const char *name, struct ks_error *err)
{
    const char *names[MOST_TYPES];
    char list[128] = "";
    size_t n = 0;
    for (; n < MOST_TYPES && ks_kv_type_name(n); n++) {
        names[n] = ks_kv_type_name(n);
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", n ? " " : "", names[n]);
    }
    const char *near = ks_nearest_word(name, names, n);
    if (near)
        return ks_fail(err, KS_BAD_INPUT, "kv: %s cannot be kept as \"%s\", did you mean %s? (%s)",
                       part, name, near, list);
    return ks_fail(err, KS_BAD_INPUT, "kv: %s cannot be kept as \"%s\", but as %s", part, name,
                   list);
}

static int find_type(const char *part, const char *name, enum ks_type *out, struct ks_error *err)
{
    const struct ks_type_info *found = name ? ks_type_named(name) : ks_type_info(KS_F32);
    enum ks_type type;
    for (size_t i = 0; found && ks_round_type(i, &type); i++) {
        if (type != found->type)
            continue;
        *out = type;
        return 0;
    }
    return fail_unknown_type(part, name, err);
}

static int check_head(const char *part, enum ks_type type, uint32_t head, size_t layer,
                      struct ks_error *err)
{
    const struct ks_type_info *info = ks_type_info((uint32_t)type);
    if (head % info->block_elems == 0)
        return 0;
    return ks_fail(err, KS_BAD_INPUT,
                   "kv: %s cannot be kept as %s: its blocks of %u do not divide a head of %u "
                   "(layer %zu); F16 and BF16 go with every head",
                   part, info->name, info->block_elems, head, layer);
}

static int check_model(const struct ks_rounding *r, const struct ks_model *m, struct ks_error *err)
{
    const struct ks_hparams *h = ks_model_hparams(m);
    size_t attending = 0;
    for (size_t i = 0; i < h->layers; i++) {
        const struct ks_layer_traits *l = &h->layer[i];
        if (l->mixer != KS_MIXER_ATTENTION)
            continue;
        attending++;
        if (check_head("keys", r->keys, l->head_dim, i, err) ||
            check_head("values", r->values, l->head_dim_v, i, err))
            return -1;
    }
    return attending ? 0
                     : ks_fail(err, KS_BAD_INPUT,
                               "kv: %s (%s) has no layer with attention, so there are no keys and "
                               "values to keep",
                               ks_model_info(m)->shown, h->architecture);
}

int ks_kv_resolve(const struct ks_arm_spec *spec, const struct ks_model *m, struct ks_rounding *out,
                  struct ks_error *err)
{
    struct ks_rounding found = {0};
    if (find_type("keys", spec->kv_keys, &found.keys, err) ||
        find_type("values", spec->kv_values, &found.values, err) || check_model(&found, m, err))
        return -1;
    *out = found;
    return 0;
}

int ks_kv_describe(const struct ks_rounding *r, struct ks_buf *out, struct ks_error *err)
{
    const char *keys = ks_type_info((uint32_t)r->keys)->name;
    const char *values = ks_type_info((uint32_t)r->values)->name;
    return r->keys == r->values ? ks_buf_printf(out, err, "%s", keys)
                                : ks_buf_printf(out, err, "%s/%s", keys, values);
}

bool ks_kv_rounds(const struct ks_rounding *r)
{
    return r->keys != KS_F32 || r->values != KS_F32;
}

struct ks_hash ks_kv_hash(const struct ks_rounding *r)
{
    const uint32_t what[] = {'k', (uint32_t)r->keys, 'v', (uint32_t)r->values};
    return ks_hash_bytes(what, sizeof what);
}

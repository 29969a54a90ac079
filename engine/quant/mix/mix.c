#include "engine/quant/mix/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/engine.h"
#include "engine/quant/mix/overrides.h"
#include "engine/quant/mix/rules.h"

static const char *type_name(enum ks_type type)
{
    return ks_type_info((uint32_t)type)->name;
}

/* ------------------------------------------------------------------ names for help and errors */

const char *ks_preset_name(size_t i)
{
    const struct ks_preset *p = ks_preset_get(i);
    return p ? p->name : NULL;
}

const char *ks_preset_named(const char *name)
{
    const struct ks_preset *p = ks_preset_find(name);
    return p ? p->name : NULL;
}

const char *ks_type_name(size_t i)
{
    for (uint32_t k = 0; ks_type_at(k); k++)
        if (ks_type_at(k)->quantizes && i-- == 0)
            return ks_type_at(k)->name;
    return NULL;
}

static int fail_unknown_preset(const char *name, struct ks_error *err)
{
    const char *names[64];
    size_t n = 0;
    for (; n < sizeof names / sizeof *names && ks_preset_name(n); n++)
        names[n] = ks_preset_name(n);
    const char *near = ks_nearest_word(name, names, n);
    if (near)
        return ks_fail(err, KS_BAD_INPUT, "unknown preset `%s`; did you mean `%s`?", name, near);
    char list[512] = "";
    size_t len = 0;
    for (size_t i = 0; ks_preset_name(i) && len < sizeof list; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "",
                                ks_preset_name(i));
    return ks_fail(err, KS_BAD_INPUT, "unknown preset `%s`; there are %s", name, list);
}

uint32_t ks_mix_file_type(const char *preset, enum ks_type most)
{
    enum { NVFP4 = 39, GUESSED = 1024 }; /* a type without a preset; neither */
    const struct ks_preset *p = ks_preset_find(preset ? preset : type_name(most));
    for (size_t i = 0; !p && ks_preset_get(i); i++)
        if (ks_preset_get(i)->base == most)
            p = ks_preset_get(i);
    return p ? p->file_type : most == KS_NVFP4 ? NVFP4 : GUESSED;
}

/* ------------------------------------------------------------------ resolution */

/* The rules count layers in the order of layers, which a file may not keep. */
struct turn {
    int32_t layer;
    const struct ks_mix_tensor *tensor;
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return strcmp(x->tensor->name, y->tensor->name);
}

static struct turn *order_turns(const struct ks_mix_tensor *tensors, size_t n, struct ks_error *err)
{
    struct turn *turns = calloc(n + 1, sizeof *turns);
    if (!turns) {
        ks_fail_memory(err, (n + 1) * sizeof *turns, "the order of tensors");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        turns[i] = (struct turn){ks_mix_layer(tensors[i].name), &tensors[i]};
    qsort(turns, n, sizeof *turns, compare_turns);
    return turns;
}

struct resolution {
    const struct ks_mix *mix;
    const struct ks_mix_model *model;
    const struct ks_preset *preset; /* or NULL */
    struct ks_overrides overrides;
    struct ks_mix_counts counts;
};

static int fit_shape(enum ks_type *type, const struct ks_mix_tensor *t, struct ks_error *err)
{
    enum ks_type wanted = *type;
    if (ks_mix_fit(type, t->dims[0]))
        return 0;
    return ks_fail(
        err, KS_BAD_INPUT,
        "tensor %s: %llu columns are no multiple of %u, as %s needs, and no other type is "
        "laid down in its place; override it with F16",
        t->name, (unsigned long long)t->dims[0],
        (unsigned)ks_type_info((uint32_t)wanted)->block_elems, type_name(wanted));
}

static int resolve_one(struct resolution *r, const struct ks_mix_tensor *t, enum ks_type *type,
                       struct ks_error *err)
{
    const struct ks_override *override = NULL;
    if (ks_overrides_find(&r->overrides, t, &override, err) != 0)
        return -1;
    enum ks_type chosen;
    if (!ks_mix_quantizable(t) || (!override && !r->preset)) {
        *type = t->type;
        return 0;
    }
    if (override)
        chosen = override->type;
    else if (r->mix->pure)
        chosen = r->preset->base;
    else
        chosen = ks_mix_rule(r->preset, r->model, t, r->mix->has_importance, &r->counts);
    if (fit_shape(&chosen, t, err) != 0)
        return -1;
    *type = chosen;
    return 0;
}

static int resolve_all(struct resolution *r, const struct ks_mix_tensor *tensors, size_t n,
                       enum ks_type *types, struct ks_error *err)
{
    struct turn *turns = order_turns(tensors, n, err);
    if (!turns)
        return -1;
    ks_mix_count_all(tensors, n, &r->counts);
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++)
        failed = resolve_one(r, turns[i].tensor, &types[turns[i].tensor - tensors], err);
    free(turns);
    return failed;
}

int ks_mix_assign(const struct ks_mix *mix, const struct ks_mix_model *model,
                  const struct ks_mix_tensor *tensors, size_t n, enum ks_type *types,
                  void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    struct resolution r = {.mix = mix, .model = model};
    if (mix->preset) {
        r.preset = ks_preset_find(mix->preset);
        if (!r.preset)
            return fail_unknown_preset(mix->preset, err);
    }
    int failed = ks_overrides_init(&r.overrides, mix, tensors, n, err);
    if (!failed)
        failed = resolve_all(&r, tensors, n, types, err);
    if (!failed)
        failed = ks_overrides_check(&r.overrides, model, warn, ctx, err);
    ks_overrides_finish(&r.overrides);
    return failed;
}

/* ------------------------------------------------------------------ what can be made here */

static int check_makeable(const struct ks_preset *p, const struct ks_mix *mix,
                          const struct ks_mix_tensor *t, bool weighed, enum ks_type type,
                          struct ks_error *err)
{
    if (type == t->type)
        return 0;
    if (!ks_type_info((uint32_t)type)->quantizes)
        return ks_fail(err, KS_UNSUPPORTED,
                       "tensor %s would be %s%s%s, a type this program can't quantize to; choose "
                       "another preset or override the tensor",
                       t->name, type_name(type), p ? " under " : "", p ? p->name : "");
    if (!weighed && ks_mix_needs_importance(p, t->name, type))
        return ks_fail(err, KS_BAD_INPUT,
                       "tensor %s would be %s%s%s, which needs an importance matrix%s; %s another "
                       "preset or override the tensor",
                       t->name, type_name(type), p ? " under " : "", p ? p->name : "",
                       mix->has_importance ? ", and the one given has no weights for it" : "",
                       mix->has_importance ? "choose" : "give one (imatrix), choose");
    return 0;
}

int ks_mix_resolve(const struct ks_mix *mix, const struct ks_mix_model *model,
                   const struct ks_mix_tensor *tensors, size_t n, enum ks_type *types,
                   void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    enum ks_type *chosen = calloc(n + 1, sizeof *chosen);
    if (!chosen)
        return ks_fail_memory(err, (n + 1) * sizeof *chosen, "tensor types");
    int failed = ks_mix_assign(mix, model, tensors, n, chosen, warn, ctx, err);
    const struct ks_preset *p = mix->preset ? ks_preset_find(mix->preset) : NULL;
    for (size_t i = 0; i < n && !failed; i++) {
        bool weighed = mix->has_importance && (!mix->weighed || mix->weighed[i]);
        failed = check_makeable(p, mix, &tensors[i], weighed, chosen[i], err);
    }
    if (!failed)
        memcpy(types, chosen, n * sizeof *types);
    free(chosen);
    return failed;
}

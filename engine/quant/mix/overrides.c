#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/quant/mix/overrides.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/quant/mix/rules.h"

/* Tensor names are short; an expression that needs more steps than this on one backtracks without
 * end. */
enum { MATCH_STEPS = 1000000 };

static int fail_unknown_type(const struct ks_mix_override *spec, struct ks_error *err)
{
    const char *names[64];
    size_t n = 0;
    for (uint32_t i = 0; ks_type_at(i) && n < sizeof names / sizeof *names; i++)
        names[n++] = ks_type_at(i)->name;
    const struct ks_preset *p = ks_preset_find(spec->type);
    if (p)
        return ks_fail(err, KS_BAD_INPUT,
                       "override `%s`: `%s` is a preset; an override takes a tensor type, as `%s`",
                       spec->regex, spec->type, ks_type_info((uint32_t)p->base)->name);
    const char *near = ks_nearest_word(spec->type, names, n);
    if (near)
        return ks_fail(err, KS_BAD_INPUT,
                       "override `%s`: unknown tensor type `%s`; did you mean `%s`?", spec->regex,
                       spec->type, near);
    return ks_fail(err, KS_BAD_INPUT,
                   "override `%s`: unknown tensor type `%s`; types are named like Q4_K, Q8_0, F16",
                   spec->regex, spec->type);
}

static int compile(const struct ks_mix_override *spec, struct ks_override *o, struct ks_error *err)
{
    const struct ks_type_info *type = ks_type_named(spec->type);
    if (!type)
        return fail_unknown_type(spec, err);
    int code = 0;
    PCRE2_SIZE at = 0;
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)spec->regex, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
    if (!compiled) {
        char why[128] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
        return ks_fail(err, KS_BAD_INPUT,
                       "override `%s`: not a regular expression, at offset %zu: %s", spec->regex,
                       (size_t)at, why);
    }
    *o = (struct ks_override){.regex = spec->regex, .type = type->type, .code = compiled};
    return 0;
}

int ks_overrides_init(struct ks_overrides *o, const struct ks_mix *mix,
                      const struct ks_mix_tensor *tensors, size_t n, struct ks_error *err)
{
    size_t longest = sizeof "output.weight";
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(tensors[i].name) + 1;
        longest = size > longest ? size : longest;
    }
    o->ordered = mix->ordered;
    o->lowered = malloc(longest);
    o->items = calloc(mix->n_overrides + 1, sizeof *o->items);
    o->match_data = pcre2_match_data_create(1, NULL);
    o->limits = pcre2_match_context_create(NULL);
    if (!o->lowered || !o->items || !o->match_data || !o->limits)
        return ks_fail_memory(err, mix->n_overrides * sizeof *o->items + longest, "overrides");
    pcre2_set_match_limit(o->limits, MATCH_STEPS);
    for (; o->n < mix->n_overrides; o->n++)
        if (compile(&mix->overrides[o->n], &o->items[o->n], err) != 0)
            return -1;
    return 0;
}

void ks_overrides_finish(struct ks_overrides *o)
{
    for (size_t i = 0; i < o->n; i++)
        pcre2_code_free(o->items[i].code);
    pcre2_match_data_free(o->match_data);
    pcre2_match_context_free(o->limits);
    free(o->items);
    free(o->lowered);
    *o = (struct ks_overrides){0};
}

/* 1: matches, 0: does not, -1 with *err. */
static int matches(struct ks_overrides *o, const struct ks_override *item, const char *name,
                   struct ks_error *err)
{
    size_t len = strlen(name);
    for (size_t i = 0; i <= len; i++)
        o->lowered[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    int code = pcre2_match(item->code, (PCRE2_SPTR)o->lowered, len, 0, 0, o->match_data, o->limits);
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return code >= 0;
    char why[128] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return ks_fail(err, KS_BAD_INPUT,
                   "override `%s`: gave up on tensor %s (%s); write a simpler expression",
                   item->regex, name, why);
}

static int note_match(struct ks_overrides *o, struct ks_override *item,
                      const struct ks_mix_tensor *t, struct ks_error *err)
{
    if (!ks_mix_quantizable(t)) {
        item->kept = item->kept ? item->kept : t->name;
        return 0;
    }
    item->matched = item->matched ? item->matched : t->name;
    if (!item->output && strstr(t->name, "attn_output.weight")) {
        item->output = t->name;
        int head = matches(o, item, "output.weight", err);
        if (head < 0)
            return -1;
        item->head = head > 0;
    }
    return 0;
}

int ks_overrides_find(struct ks_overrides *o, const struct ks_mix_tensor *t,
                      const struct ks_override **found, struct ks_error *err)
{
    struct ks_override *first = NULL;
    for (size_t i = 0; i < o->n; i++) {
        int hit = matches(o, &o->items[i], t->name, err);
        if (hit < 0 || (hit && note_match(o, &o->items[i], t, err) != 0))
            return -1;
        if (!hit || !ks_mix_quantizable(t))
            continue;
        if (first && !o->ordered)
            return ks_fail(err, KS_BAD_INPUT,
                           "overrides `%s` and `%s` both match tensor %s; write them as a list of "
                           "{regex, type} pairs, where the first match wins",
                           first->regex, o->items[i].regex, t->name);
        first = first ? first : &o->items[i];
    }
    if (first)
        first->used = true;
    *found = first;
    return 0;
}

static int fail_unmatched(const struct ks_override *item, struct ks_error *err)
{
    if (item->kept)
        return ks_fail(
            err, KS_BAD_INPUT,
            "override `%s`: matches only tensors that are never quantized, as %s; it has "
            "no effect, remove it or match a weight matrix",
            item->regex, item->kept);
    return ks_fail(err, KS_BAD_INPUT,
                   "override `%s`: matches no tensor of the model; names look like "
                   "blk.0.attn_q.weight and token_embd.weight, in lower case",
                   item->regex);
}

static void warn_of(const struct ks_override *item, bool tied,
                    void (*warn)(void *ctx, const char *text), void *ctx)
{
    char text[512];
    if (!item->used) {
        snprintf(text, sizeof text,
                 "override `%s`: an earlier pattern takes every tensor it matches, as %s",
                 item->regex, item->matched);
        warn(ctx, text);
    }
    if (!item->head || !item->output)
        return;
    if (tied)
        snprintf(text, sizeof text,
                 "override `%s`: matches %s, and no output.weight since this model's head is "
                 "token_embd.weight",
                 item->regex, item->output);
    else
        snprintf(text, sizeof text,
                 "override `%s`: matches %s as well as output.weight; `^output\\.weight$` is the "
                 "head alone",
                 item->regex, item->output);
    warn(ctx, text);
}

int ks_overrides_check(const struct ks_overrides *o, const struct ks_mix_model *model,
                       void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    for (size_t i = 0; i < o->n; i++)
        if (!o->items[i].matched)
            return fail_unmatched(&o->items[i], err);
    for (size_t i = 0; warn && i < o->n; i++)
        warn_of(&o->items[i], model->tied, warn, ctx);
    return 0;
}

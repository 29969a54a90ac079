/*
 * Overrides at work: compiled expressions, which tensors they meet, and what is wrong with that.
 *
 * Private to engine/quant. One owner; patterns and names belong to the caller and outlive it.
 */
#ifndef KS_ENGINE_QUANT_MIX_OVERRIDES_H
#define KS_ENGINE_QUANT_MIX_OVERRIDES_H

#include "engine/quant/mix/mix.h"

struct ks_override {
    const char *regex;
    enum ks_type type;
    void *code;          /* compiled */
    const char *matched; /* the first tensor it matches that can be quantized, NULL: none so far */
    const char *kept;    /* the first it matches that can't be */
    const char *output;  /* the first attention output it matches */
    bool head;           /* matches output.weight, in the model or not */
    bool used;           /* gave some tensor its type */
};

struct ks_overrides {
    struct ks_override *items;
    size_t n;
    bool ordered;
    void *match_data, *limits;
    char *lowered; /* room for the longest name */
};

/* Zero-initialize. Compiles mix's overrides for these tensors; errors name the override. */
int ks_overrides_init(struct ks_overrides *o, const struct ks_mix *mix,
                      const struct ks_mix_tensor *tensors, size_t n, struct ks_error *err);
void ks_overrides_finish(struct ks_overrides *o);

/* *found = the override that t gets its type from, or NULL. */
int ks_overrides_find(struct ks_overrides *o, const struct ks_mix_tensor *t,
                      const struct ks_override **found, struct ks_error *err);

/* After all tensors were asked for: refuses patterns that match nothing, warns of odd ones. */
int ks_overrides_check(const struct ks_overrides *o, const struct ks_mix_model *model,
                       void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err);

#endif

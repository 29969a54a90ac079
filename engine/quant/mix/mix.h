/*
 * Mixes: which type each tensor gets under a preset ("Q4_K_M") and overrides. The rules are those
 * of llama-quantize, so that an arm named Q4_K_M is what people download under that name.
 *
 * Pure functions over the caller's arrays; any thread.
 */
#ifndef KS_ENGINE_QUANT_MIX_MIX_H
#define KS_ENGINE_QUANT_MIX_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/quant/type.h"

/* What the rules need to know of a tensor, in the order of the file. */
struct ks_mix_tensor {
    const char *name;
    enum ks_type type; /* as stored in the reference */
    uint32_t n_dims;
    uint64_t dims[4]; /* dims[0] = columns, the contiguous one */
};

/* What they need to know of the model. */
struct ks_mix_model {
    const char *architecture;
    uint32_t layers, heads, kv_heads, experts;
    bool tied; /* no output.weight: token_embd.weight is the head */
};

/* One override: a PCRE2 expression, unanchored, on the lowercased tensor name. */
struct ks_mix_override {
    const char *regex;
    const char *type; /* a type's name in any case; not a preset's */
};

struct ks_mix {
    const char *preset; /* NULL: overrides alone, everything else stays as it is */
    const struct ks_mix_override *overrides;
    size_t n_overrides;
    bool ordered;        /* the first match wins; else two that match one tensor are an error */
    bool pure;           /* the preset's base type everywhere, head and embedding too */
    bool has_importance; /* an importance matrix is given; the rules ask no more than that */
    const bool *weighed; /* (n) the tensors that it has weights for; NULL: all of them */
};

/* general.file_type, by which a file tells its preset; without one (NULL), the type that most of
 * its weights have. */
uint32_t ks_mix_file_type(const char *preset, enum ks_type most);

/* A matrix that presets and overrides may change: no vector, norm, router or small convolution. */
bool ks_mix_quantizable(const struct ks_mix_tensor *t);

/*
 * Fills types[n] with each tensor's type under the mix: the stored type where nothing applies.
 * Errors: an unknown preset or type (with the nearest known name); a regex that does not compile
 * (with the offset), takes too many steps or matches no quantizable tensor; two keyed patterns on
 * one tensor; a type that needs an importance matrix without one, or that this program can't
 * quantize to; a shape with no fallback. Each names the tensor or pattern.
 * warn: NULL, or a callback for what is legal and likely unmeant (an `output` pattern that also
 * hits attn_output, a pattern all of whose tensors an earlier one takes); the text is valid during
 * the call. types is untouched on failure.
 */
int ks_mix_resolve(const struct ks_mix *mix, const struct ks_mix_model *model,
                   const struct ks_mix_tensor *tensors, size_t n, enum ks_type *types,
                   void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err);

#endif

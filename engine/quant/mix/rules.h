/*
 * The presets' rules apart from what this program can make: which type llama-quantize gives each
 * tensor. Private to engine/quant and its tests.
 *
 * Pure functions; any thread.
 */
#ifndef KS_ENGINE_QUANT_MIX_RULES_H
#define KS_ENGINE_QUANT_MIX_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/quant/mix/mix.h"
#include "engine/quant/mix/presets.h"

/* N of "blk.N.", -1 where the name has none. */
int32_t ks_mix_layer(const char *name);

/* The tensors whose kind has rules by position; each counts those seen that no override took. */
struct ks_mix_counts {
    uint32_t attn_v, ffn_down, ffn_gate, ffn_up;
    uint32_t all_attn_v; /* in the model, overridden or not */
};

void ks_mix_count_all(const struct ks_mix_tensor *tensors, size_t n, struct ks_mix_counts *c);

/* The type the preset gives t before its shape is looked at. Ask for the tensors in the order of
 * layers; advances the counts. */
enum ks_type ks_mix_rule(const struct ks_preset *p, const struct ks_mix_model *model,
                         const struct ks_mix_tensor *t, bool has_importance,
                         struct ks_mix_counts *c);

/* Replaces a type whose block doesn't divide the columns; false where no other is laid down. */
bool ks_mix_fit(enum ks_type *type, uint64_t cols);

/* Whether a tensor may have this type only with an importance matrix. */
bool ks_mix_needs_importance(const struct ks_preset *p, const char *name, enum ks_type type);

/* ks_mix_resolve without the question whether this program can make the types. */
int ks_mix_assign(const struct ks_mix *mix, const struct ks_mix_model *model,
                  const struct ks_mix_tensor *tensors, size_t n, enum ks_type *types,
                  void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err);

#endif

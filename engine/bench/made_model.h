/*
 * A model made up on the spot: a vocabulary of any width and weights that mean nothing, to measure
 * what no model at hand has. Private to engine/bench.
 */
#ifndef KS_ENGINE_BENCH_MADE_MODEL_H
#define KS_ENGINE_BENCH_MADE_MODEL_H

#include <stdint.h>

#include "engine/base/error.h"

struct made_model {
    uint32_t vocab, layers, hidden, ffn, heads, kv_heads, context;
};

/* Writes it into an empty file, the caller's, as a GGUF of the llama architecture, matrices in Q4_0,
 * the head tied. Its byte-level vocabulary knows the letters a to z. */
int made_model_write(const struct made_model *m, int fd, struct ks_error *err);

#endif

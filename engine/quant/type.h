/*
 * Tensor types of GGUF: what a block of each holds, and which of them this program can decode and
 * quantize. The numbers are those stored in GGUF files.
 *
 * The table is constant; any thread.
 */
#ifndef KS_ENGINE_QUANT_TYPE_H
#define KS_ENGINE_QUANT_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"

enum ks_type {
    KS_F32 = 0,
    KS_F16 = 1,
    KS_Q4_0 = 2,
    KS_Q4_1 = 3,
    KS_Q5_0 = 6,
    KS_Q5_1 = 7,
    KS_Q8_0 = 8,
    KS_Q2_K = 10,
    KS_Q3_K = 11,
    KS_Q4_K = 12,
    KS_Q5_K = 13,
    KS_Q6_K = 14,
    KS_IQ2_XXS = 16,
    KS_IQ2_XS = 17,
    KS_IQ3_XXS = 18,
    KS_IQ1_S = 19,
    KS_IQ4_NL = 20,
    KS_IQ3_S = 21,
    KS_IQ2_S = 22,
    KS_IQ4_XS = 23,
    KS_I8 = 24, /* integers and F64 are never weights, but files may carry such a table */
    KS_I16 = 25,
    KS_I32 = 26,
    KS_I64 = 27,
    KS_F64 = 28,
    KS_IQ1_M = 29,
    KS_BF16 = 30,
    KS_TQ1_0 = 34,
    KS_TQ2_0 = 35,
    KS_MXFP4 = 39,
    KS_NVFP4 = 40,
    KS_Q1_0 = 41,
};

/* What encoding to a type makes of the column weights of an importance matrix. */
enum ks_weighing {
    KS_UNWEIGHED,       /* nothing */
    KS_WEIGHED,         /* searches by them, or without */
    KS_MUST_BE_WEIGHED, /* without them its search finds nothing of use */
};

struct ks_type_info {
    enum ks_type type;
    const char *name;     /* "Q4_K", as users write it */
    uint32_t block_elems; /* elements in a block; a row is a whole number of blocks */
    uint32_t block_bytes;
    bool decodes;   /* ks_decode_row knows it */
    bool quantizes; /* ks_encode_rows knows it */
    enum ks_weighing weighing;
};

/* NULL for a number that is no known type (a fork's, or a broken file). */
const struct ks_type_info *ks_type_info(uint32_t type);

/* What a number stands for that is no type of ours but known elsewhere, for messages: "IQ4_K of
 * ik_llama.cpp"; NULL where nothing is known. */
const char *ks_type_foreign(uint32_t type);

/* The i-th known type in the order of the table, NULL past the end; for lists in help and tests. */
const struct ks_type_info *ks_type_at(uint32_t i);

/* Finds a type by name in any case ("q4_k"). NULL if there is none. */
const struct ks_type_info *ks_type_named(const char *name);

/* *bytes = the size of a row of cols elements; false if cols is no whole number of blocks or the
 * size overflows. */
bool ks_type_row_bytes(enum ks_type type, uint64_t cols, uint64_t *bytes);

/* A row-major matrix of quantized rows: element (r, c) belongs to output r and input c, so a
 * product is y(tokens, rows) = x(tokens, cols) * W^T. A view: it owns nothing. */
struct ks_matrix {
    enum ks_type type;
    uint64_t rows, cols; /* a vector has rows == 1 */
    const uint8_t *data; /* rows * row bytes; 32-byte aligned or better */
};

#endif

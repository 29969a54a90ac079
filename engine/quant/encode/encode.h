/*
 * Encoding (quantizing) rows with each format's own reference algorithm, so that the bytes are
 * those of the ecosystem's quantizer: the order of operations is part of the format's practice and
 * is kept, one rounding an operation.
 *
 *   ks_encoders   the owner of what encoding needs beside the weights: the grid types search
 *                 codebooks, which are prepared when a type is first asked for. Any thread.
 *   ks_encoder    one type's; immutable, lives as long as its owner. Any thread.
 *
 * Rows are independent of each other, so a caller may split them over threads as it likes.
 */
#ifndef KS_ENGINE_QUANT_ENCODE_ENCODE_H
#define KS_ENGINE_QUANT_ENCODE_ENCODE_H

#include <stddef.h>

#include "engine/quant/type.h"

/* Grows when the bytes of any type change: what was encoded by another version is made anew. */
enum { KS_ENCODING_VERSION = 1 };

struct ks_encoders;
struct ks_encoder;

struct ks_encoders *ks_encoders_create(struct ks_error *err); /* NULL when out of memory */
void ks_encoders_destroy(struct ks_encoders *e);              /* accepts NULL */

/* The encoder of a type whose `quantizes` is true; NULL when out of memory. */
const struct ks_encoder *ks_encoders_get(struct ks_encoders *e, enum ks_type type,
                                         struct ks_error *err);

/*
 * src: (rows, cols) f32, finite, cols a whole number of blocks.
 * importance: cols column weights >= 0 of an importance matrix, or NULL where the type can do
 * without (ks_type_info's weighing).
 * dst: rows * row bytes of the type.
 */
void ks_encode_rows(const struct ks_encoder *encoder, const float *src, size_t rows, size_t cols,
                    const float *importance, void *dst);

#endif

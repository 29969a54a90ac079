/*
 * Encoding (quantizing) rows with each format's own reference algorithm, so that the bytes are
 * those of the ecosystem's quantizer: the order of operations is part of the format's practice and
 * is kept, one rounding an operation.
 *
 * Pure functions; any thread. Rows are independent of each other, so a caller may split them over
 * threads as it likes.
 */
#ifndef KS_ENGINE_QUANT_ENCODE_ENCODE_H
#define KS_ENGINE_QUANT_ENCODE_ENCODE_H

#include <stddef.h>

#include "engine/quant/type.h"

/* Grows when the bytes of any type change: what was encoded by another version is made anew. */
enum { KS_ENCODING_VERSION = 1 };

/*
 * src: (rows, cols) f32, finite, cols a whole number of blocks; the type's `quantizes` true.
 * importance: cols column weights of an importance matrix, or NULL.
 * dst: rows * row bytes of the type.
 */
void ks_encode_rows(enum ks_type type, const float *src, size_t rows, size_t cols,
                    const float *importance, void *dst);

#endif

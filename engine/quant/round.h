/*
 * Rounding: what a row of f32 comes back as from a type that it is kept in. The values are those of
 * the type's own encoder (without importance) and decoder, to the bit.
 *
 * Pure; any thread.
 */
#ifndef KS_ENGINE_QUANT_ROUND_H
#define KS_ENGINE_QUANT_ROUND_H

#include <stddef.h>

#include "engine/quant/type.h"

/* The types that rows can be rounded to, F32 (which leaves them as they are) first; KS_F32 again
 * past the end, with false. */
bool ks_round_type(size_t i, enum ks_type *type);

/*
 * x(n), in place; n a whole number of the type's blocks. Encoders take finite values alone: a block
 * that holds another one is NaN throughout, so that what went wrong before stays to be seen. F16
 * and BF16 keep NaN and infinities, and what is beyond their range becomes infinite.
 */
void ks_round_row(enum ks_type type, float *x, size_t n);

#endif

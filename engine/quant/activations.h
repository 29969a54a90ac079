/*
 * Rounding of activations as llama.cpp's CPU kernels do it: a product there takes whole numbers of
 * 8 bits with a scale for each block of the row, or halves, by what the weights are.
 *
 *   weights                             a row becomes
 *   F32                                 itself
 *   F16, BF16                           F16, BF16
 *   blocks of 32 or 64: Q4_0 .. Q8_0,   Q8_0: blocks of 32, scale d = max |x| / 127 kept as F16,
 *   IQ4_NL, MXFP4, NVFP4                levels x / d to the nearest, halves away from 0
 *   blocks of 256: Q2_K .. Q6_K, IQ1_S  Q8_K: blocks of 256, levels -127 / m * x to the nearest,
 *   .. IQ4_XS, TQ1_0, TQ2_0             halves to even, at most 127, where m is the first x of the
 *                                       largest magnitude; scale 1 / (-127 / m) in F32
 *
 * Before Q4_1 and Q5_1 the kernels take Q8_1, which has Q8_0's scale and levels; the sum of a block
 * that it keeps beside them, for what the weights' offset multiplies, they round to F16 by itself,
 * which is not done here. Some of their vector paths round levels that are halves to even, and
 * multiply by 127 / max |x|, where the format's reference, and this, divides by d.
 *
 * Only the activations are theirs: the product behind it is ours, one f32 chain over the rounded
 * values, where theirs sums whole numbers within a block.
 *
 * Pure functions; any thread.
 */
#ifndef KS_ENGINE_QUANT_ACTIVATIONS_H
#define KS_ENGINE_QUANT_ACTIVATIONS_H

#include <stddef.h>

#include "engine/quant/type.h"

/* out(n) = what is left of x(n) before a product with weights of that type, which decodes; n is a
 * whole number of its blocks. out may be x. A block that holds what is no finite number is NaN
 * throughout, as in round.h. */
void ks_activations_round_row(enum ks_type weights, const float *x, size_t n, float *out);

#endif

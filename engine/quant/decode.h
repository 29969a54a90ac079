/*
 * Decoding (dequantizing) rows: the scalar definition of every type. Vector decoders elsewhere are
 * tested against this one bit for bit. No contraction: where a format says d * q - m it is one
 * rounding for the product and one for the difference.
 *
 * Pure functions; any thread.
 */
#ifndef KS_ENGINE_QUANT_DECODE_H
#define KS_ENGINE_QUANT_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/quant/type.h"

/* src: one row of n elements in `type` (n a whole number of blocks, the type's `decodes` true);
 * dst: n f32. */
void ks_decode_row(enum ks_type type, const void *src, float *dst, size_t n);

/* IEEE half and bfloat16 to f32, exact for all 65,536 patterns. */
float ks_f16_to_f32(uint16_t bits);
float ks_bf16_to_f32(uint16_t bits);
/* Of n halves in file order, at any address. */
void ks_f16_to_f32_row(const uint8_t *src, float *dst, size_t n);

/* f32 to half and bfloat16, round to nearest, ties to even; NaN stays NaN. */
uint16_t ks_f32_to_f16(float value);
uint16_t ks_f32_to_bf16(float value);
void ks_f32_to_f16_row(const float *src, uint8_t *dst, size_t n);

#endif

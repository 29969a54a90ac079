/*
 * The K types' rows for decode.c, with ks_decode_row's contract. Private to engine/quant.
 */
#ifndef KS_ENGINE_QUANT_DECODE_K_H
#define KS_ENGINE_QUANT_DECODE_K_H

#include <stddef.h>
#include <stdint.h>

void ks_decode_q2_k(const uint8_t *src, float *dst, size_t n);
void ks_decode_q3_k(const uint8_t *src, float *dst, size_t n);
void ks_decode_q4_k(const uint8_t *src, float *dst, size_t n);
void ks_decode_q5_k(const uint8_t *src, float *dst, size_t n);
void ks_decode_q6_k(const uint8_t *src, float *dst, size_t n);

#endif

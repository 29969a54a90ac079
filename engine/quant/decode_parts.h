/*
 * What the files of decoding share: the rows of 256-element blocks, with ks_decode_row's contract.
 * Private to engine/quant.
 */
#ifndef KS_ENGINE_QUANT_DECODE_PARTS_H
#define KS_ENGINE_QUANT_DECODE_PARTS_H

#include "engine/base/bytes.h"
#include "engine/quant/decode.h"

/* A block's scale. */
static inline float half_at(const uint8_t bytes[2])
{
    return ks_f16_to_f32(ks_le16(bytes));
}

typedef void ks_row_decoder(const uint8_t *src, float *dst, size_t n);

ks_row_decoder ks_decode_q2_k, ks_decode_q3_k, ks_decode_q4_k, ks_decode_q5_k, ks_decode_q6_k;
ks_row_decoder ks_decode_tq1_0, ks_decode_tq2_0;
ks_row_decoder ks_decode_iq1_s, ks_decode_iq1_m;
ks_row_decoder ks_decode_iq2_xxs, ks_decode_iq2_xs, ks_decode_iq2_s;
ks_row_decoder ks_decode_iq3_xxs, ks_decode_iq3_s;

#endif

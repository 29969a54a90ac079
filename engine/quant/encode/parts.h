/*
 * What the encoders of the format families share. Private to engine/quant.
 *
 * A row encoder takes cols f32, their importance (cols, or NULL where the type can do without) and
 * writes the row's blocks; a grid encoder takes the type's codebook too.
 */
#ifndef KS_ENGINE_QUANT_ENCODE_PARTS_H
#define KS_ENGINE_QUANT_ENCODE_PARTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/quant/decode.h"
#include "engine/quant/encode/codebook.h"
#include "engine/quant/encode/search.h"

typedef void row_encoder(const float *x, size_t cols, const float *importance, uint8_t *out);

row_encoder ks_encode_q8_0, ks_encode_q4_0, ks_encode_q4_1, ks_encode_q5_0, ks_encode_q5_1;
row_encoder ks_encode_q2_k, ks_encode_q3_k, ks_encode_q4_k, ks_encode_q5_k, ks_encode_q6_k;
row_encoder ks_encode_iq4_nl, ks_encode_iq4_xs;
row_encoder ks_encode_mxfp4, ks_encode_nvfp4, ks_encode_tq1_0, ks_encode_tq2_0;

typedef void grid_encoder(const struct ks_codebook *book, const float *x, size_t cols,
                          const float *importance, uint8_t *out);

grid_encoder ks_encode_iq1_s, ks_encode_iq1_m, ks_encode_iq2_xxs, ks_encode_iq2_xs, ks_encode_iq2_s;
grid_encoder ks_encode_iq3_xxs, ks_encode_iq3_s;

static inline void put_u16(uint8_t out[2], uint16_t value)
{
    memcpy(out, &value, sizeof value);
}

static inline void put_u32(uint8_t out[4], uint32_t value)
{
    memcpy(out, &value, sizeof value);
}

/* The scale as the block stores it; the bytes' new end. */
static inline uint8_t *put_half(uint8_t *out, float value)
{
    uint16_t bits = ks_f32_to_f16(value);
    memcpy(out, &bits, sizeof bits);
    return out + sizeof bits;
}

static inline float as_stored(float value)
{
    return ks_f16_to_f32(ks_f32_to_f16(value));
}

/* Lays LANES consecutive groups of n side by side. */
static inline void gather_groups(const float *x, int n, lanes *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (lanes){x[i], x[n + i], x[2 * n + i], x[3 * n + i]};
}

/* Whole levels plus a bias, back in the order of the elements. */
static inline void scatter_levels(const lanes *level, int n, int bias, uint8_t *out)
{
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < n; i++)
            out[lane * n + i] = (uint8_t)((int)level[i][lane] + bias);
}

/* Encoders take finite values alone. */
static inline bool all_finite(const float *x, size_t n)
{
    unsigned odd = 0;
    for (size_t i = 0; i < n; i++)
        odd += !(fabsf(x[i]) < INFINITY); /* a sum, which is quicker than leaving early */
    return odd == 0;
}

static inline float largest_magnitude(const float *x, int n)
{
    float size = 0;
    for (int i = 0; i < n; i++) {
        float a = x[i] < 0 ? -x[i] : x[i];
        size = a > size ? a : size;
    }
    return size;
}

static inline float inverse_or_zero(float v)
{
    return v != 0 ? 1.0f / v : 0.0f;
}

float ks_sum_of_squares(const float *x, size_t n); /* one chain, in order */

/* An importance matrix's weight of an element's error: large where the column matters and where the
 * element stands out from its surroundings of mean square `spread`. */
void ks_importance_weights(int n, const lanes *x, const lanes *importance, float spread, lanes *w);

#endif

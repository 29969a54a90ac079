/*
 * The IQ types' codebooks, and where a block of them keeps which point. Eight elements at a time,
 * an octet, are one point of eight digits or two of four; a type's digits stand for a few
 * magnitudes, signs and scales are kept beside them.
 *
 * Tables are made from sets.txt at build time. Constant; any thread. Private to engine/quant and
 * the vector kernels.
 */
#ifndef KS_ENGINE_QUANT_GRID_GRID_H
#define KS_ENGINE_QUANT_GRID_GRID_H

#include "engine/base/bytes.h"
#include "engine/quant/blocks.h"

/* A point's digits: of the IQ1 and IQ2 sets digit k (0..7), 0..2, in bits 2 k; of the IQ3 sets
 * digit k (0..3), 0..7, in bits 3 k. */
extern const uint16_t ks_grid_iq1[2048];
extern const uint16_t ks_grid_iq2_xxs[256], ks_grid_iq2_xs[512], ks_grid_iq2_s[1024];
extern const uint16_t ks_grid_iq3_xxs[256], ks_grid_iq3_s[512];

/* What the digits stand for; 8 entries each, so that 3 bits of any kind stay inside. */
extern const float ks_iq1_values[8], ks_iq2_values[8], ks_iq3_xxs_values[8], ks_iq3_s_values[8];

/* The eighth of each point beside IQ1's is added to every digit's value, or taken from it. */
#define KS_IQ1_SHIFT 0.125f

/* Eight elements: element k has the value of digit k (fields of 2 or 3 bits), is negative where
 * bit k of signs is set, and is multiplied by what the type makes of scale. */
struct ks_octet {
    uint32_t digits;
    uint8_t signs; /* IQ1: 1 where the shift is downwards, no signs */
    uint8_t scale;
};

/* Seven signs are stored; the eighth makes the number of negative elements even. */
static inline uint8_t ks_even_signs(uint32_t seven)
{
    uint32_t odd = seven ^ seven >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return (uint8_t)(seven | (odd & 1) << 7);
}

/* Octet i (0..31) of a block. */

static inline struct ks_octet ks_iq2_xxs_octet(const struct ks_block_iq2_xxs *b, unsigned i)
{
    uint32_t word = ks_le32(b->groups[i / 4].signs_scale);
    return (struct ks_octet){
        .digits = ks_grid_iq2_xxs[b->groups[i / 4].points[i % 4]],
        .signs = ks_even_signs(word >> (7 * (i % 4)) & 127),
        .scale = (uint8_t)(word >> 28),
    };
}

static inline struct ks_octet ks_iq2_xs_octet(const struct ks_block_iq2_xs *b, unsigned i)
{
    unsigned word = ks_le16(b->qs + 2 * i);
    return (struct ks_octet){
        .digits = ks_grid_iq2_xs[word & 511],
        .signs = ks_even_signs(word >> 9),
        .scale = b->scales[i / 4] >> (4 * (i / 2 % 2)) & 15,
    };
}

static inline struct ks_octet ks_iq2_s_octet(const struct ks_block_iq2_s *b, unsigned i)
{
    unsigned high = (unsigned)b->qh[i / 4] >> (2 * (i % 4)) & 3;
    return (struct ks_octet){
        .digits = ks_grid_iq2_s[b->qs[i] | high << 8],
        .signs = b->signs[i],
        .scale = b->scales[i / 4] >> (4 * (i / 2 % 2)) & 15,
    };
}

static inline struct ks_octet ks_iq3_xxs_octet(const struct ks_block_iq3_xxs *b, unsigned i)
{
    uint32_t word = ks_le32(b->signs_scales + 4 * (i / 4));
    uint32_t low = ks_grid_iq3_xxs[b->qs[2 * i]], high = ks_grid_iq3_xxs[b->qs[2 * i + 1]];
    return (struct ks_octet){
        .digits = low | high << 12,
        .signs = ks_even_signs(word >> (7 * (i % 4)) & 127),
        .scale = (uint8_t)(word >> 28),
    };
}

static inline struct ks_octet ks_iq3_s_octet(const struct ks_block_iq3_s *b, unsigned i)
{
    unsigned two = (unsigned)b->qh[i / 4] >> (2 * (i % 4));
    uint32_t low = ks_grid_iq3_s[b->qs[2 * i] | (two & 1) << 8];
    uint32_t high = ks_grid_iq3_s[b->qs[2 * i + 1] | (two >> 1 & 1) << 8];
    return (struct ks_octet){
        .digits = low | high << 12,
        .signs = b->signs[i],
        .scale = b->scales[i / 8] >> (4 * (i / 4 % 2)) & 15,
    };
}

static inline struct ks_octet ks_iq1_s_octet(const struct ks_block_iq1_s *b, unsigned i)
{
    unsigned word = ks_le16(b->qh + 2 * (i / 4)), high = word >> (3 * (i % 4)) & 7;
    return (struct ks_octet){
        .digits = ks_grid_iq1[b->qs[i] | high << 8],
        .signs = (uint8_t)(word >> 15),
        .scale = word >> 12 & 7,
    };
}

static inline struct ks_octet ks_iq1_m_octet(const struct ks_block_iq1_m *b, unsigned i)
{
    unsigned nibble = (unsigned)b->qh[i / 2] >> (4 * (i % 2));
    unsigned scales = ks_le16(b->scales + 2 * (i / 8));
    return (struct ks_octet){
        .digits = ks_grid_iq1[b->qs[i] | (nibble & 7) << 8],
        .signs = nibble >> 3 & 1,
        .scale = scales >> (3 * (i / 2 % 4)) & 7,
    };
}

/* The half that scales an IQ1_M block: a nibble of each of its four words. */
static inline uint16_t ks_iq1_m_d(const struct ks_block_iq1_m *b)
{
    unsigned d = 0;
    for (unsigned k = 0; k < 4; k++)
        d |= (unsigned)(b->scales[2 * k + 1] >> 4) << (4 * k);
    return (uint16_t)d;
}

/* ------------------------------------------------- what a scale stands for, in the format's order
 */

static inline float ks_iq2_scale(float d, unsigned scale)
{
    return d * (0.5f + (float)scale) * 0.25f;
}

static inline float ks_iq3_xxs_scale(float d, unsigned scale)
{
    return d * (0.5f + (float)scale) * 0.5f;
}

/* IQ1 too */
static inline float ks_iq3_s_scale(float d, unsigned scale)
{
    return d * (float)(2 * scale + 1);
}

#endif

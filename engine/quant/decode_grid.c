/*
 * The types whose elements are points of a codebook, an octet at a time.
 */
#include "engine/quant/decode.h"
#include "engine/quant/decode_parts.h"
#include "engine/quant/grid/grid.h"

enum { OCTETS = 32 };

const float ks_iq1_values[8] = {-1, 0, 1, 0, -1, 0, 1, 0};
const float ks_iq2_values[8] = {8, 25, 43, 0, 8, 25, 43, 0};
const float ks_iq3_xxs_values[8] = {4, 12, 20, 28, 36, 44, 52, 62};
const float ks_iq3_s_values[8] = {1, 3, 5, 7, 9, 11, 13, 15};

/* width: bits a digit */
static void put_signed(struct ks_octet o, unsigned width, const float values[8], float scale,
                       float *dst)
{
    for (unsigned k = 0; k < 8; k++) {
        float v = scale * values[o.digits >> (width * k) & 7];
        dst[k] = o.signs >> k & 1 ? -v : v;
    }
}

static void put_shifted(struct ks_octet o, float scale, float *dst)
{
    float shift = o.signs ? -KS_IQ1_SHIFT : KS_IQ1_SHIFT;
    for (unsigned k = 0; k < 8; k++)
        dst[k] = scale * (ks_iq1_values[o.digits >> (2 * k) & 7] + shift);
}

void ks_decode_iq2_xxs(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq2_xxs *b = (const void *)src;
    for (; n > 0; n -= 256, b++)
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq2_xxs_octet(b, i);
            put_signed(o, 2, ks_iq2_values, ks_iq2_scale(half_at(b->d), o.scale), dst);
        }
}

void ks_decode_iq2_xs(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq2_xs *b = (const void *)src;
    for (; n > 0; n -= 256, b++)
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq2_xs_octet(b, i);
            put_signed(o, 2, ks_iq2_values, ks_iq2_scale(half_at(b->d), o.scale), dst);
        }
}

void ks_decode_iq2_s(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq2_s *b = (const void *)src;
    for (; n > 0; n -= 256, b++)
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq2_s_octet(b, i);
            put_signed(o, 2, ks_iq2_values, ks_iq2_scale(half_at(b->d), o.scale), dst);
        }
}

void ks_decode_iq3_xxs(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq3_xxs *b = (const void *)src;
    for (; n > 0; n -= 256, b++)
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq3_xxs_octet(b, i);
            put_signed(o, 3, ks_iq3_xxs_values, ks_iq3_xxs_scale(half_at(b->d), o.scale), dst);
        }
}

void ks_decode_iq3_s(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq3_s *b = (const void *)src;
    for (; n > 0; n -= 256, b++)
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq3_s_octet(b, i);
            put_signed(o, 3, ks_iq3_s_values, ks_iq3_s_scale(half_at(b->d), o.scale), dst);
        }
}

void ks_decode_iq1_s(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq1_s *b = (const void *)src;
    for (; n > 0; n -= 256, b++)
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq1_s_octet(b, i);
            put_shifted(o, ks_iq3_s_scale(half_at(b->d), o.scale), dst);
        }
}

void ks_decode_iq1_m(const uint8_t *src, float *dst, size_t n)
{
    const struct ks_block_iq1_m *b = (const void *)src;
    for (; n > 0; n -= 256, b++)
        for (unsigned i = 0; i < OCTETS; i++, dst += 8) {
            struct ks_octet o = ks_iq1_m_octet(b, i);
            put_shifted(o, ks_iq3_s_scale(ks_f16_to_f32(ks_iq1_m_d(b)), o.scale), dst);
        }
}

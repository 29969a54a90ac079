/*
 * The rows of IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S: how each fits its blocks and what of the
 * fit its bytes hold, as grid/grid.h reads them.
 */
#include <float.h>

#include "engine/quant/blocks.h"
#include "engine/quant/encode/grid_fit.h"
#include "engine/quant/encode/parts.h"

static const struct grid_format iq2_xxs = {.group = 32,
                                           .even = true,
                                           .searched = true,
                                           .spread = 1,
                                           .zero = 1e-15f,
                                           .tries = 6,
                                           .step = 0.1f,
                                           .stretch = 1,
                                           .refine = REFINE_ALL};

static const struct grid_format iq2_xs = {.group = 16,
                                          .even = true,
                                          .spread = 1,
                                          .zero = 1e-15f,
                                          .tries = 9,
                                          .step = 0.1f,
                                          .stretch = 1,
                                          .refine = REFINE_OFF_GRID};

static const struct grid_format iq2_s = {.group = 16,
                                         .spread = 2,
                                         .plain = 0.25f,
                                         .zero = 1e-8f,
                                         .tries = 9,
                                         .step = 0.1f,
                                         .stretch = 0.9875f,
                                         .refine = REFINE_OFF_GRID};

static const struct grid_format iq3_xxs = {.group = 32,
                                           .even = true,
                                           .spread = 2,
                                           .zero = 1e-8f,
                                           .tries = 15,
                                           .step = 0.2f,
                                           .stretch = 1.0125f,
                                           .refine = REFINE_OFF_GRID};

static const struct grid_format iq3_s = {.group = 32,
                                         .spread = 2,
                                         .zero = FLT_TRUE_MIN,
                                         .tries = 9,
                                         .step = 0.2f,
                                         .stretch = 1.033f,
                                         .refine = REFINE_IF_ANY};

static uint32_t stored_signs(const uint8_t signs[4])
{
    uint32_t word = 0;
    for (int i = 0; i < 4; i++)
        word |= (uint32_t)(signs[i] & 127) << (7 * i);
    return word;
}

/* The low byte of each number; the bits above it, `bits` each, next to each other. */
static void put_points(const uint16_t *point, int n, int bits, uint8_t *low, uint8_t *high)
{
    for (int i = 0; i < n; i++) {
        low[i] = (uint8_t)point[i];
        high[i * bits / 8] |= (uint8_t)(point[i] >> 8 << (i * bits % 8));
    }
}

static void put_nibbles(const uint8_t *value, int n, uint8_t *out)
{
    for (int i = 0; i < n / 2; i++)
        out[i] = (uint8_t)(value[2 * i] | value[2 * i + 1] << 4);
}

void ks_encode_iq2_xxs(const struct ks_codebook *book, const float *x, size_t cols,
                       const float *importance, uint8_t *out)
{
    struct ks_block_iq2_xxs *b = (struct ks_block_iq2_xxs *)out;
    struct grid_fit fit;
    for (size_t i = 0; i < cols; i += GRID_BLOCK, b++) {
        ks_fit_grid(&iq2_xxs, book, x + i, importance + i, &fit);
        put_half(b->d, fit.d);
        for (int g = 0; g < 8; g++) {
            for (int k = 0; k < 4; k++)
                b->groups[g].points[k] = (uint8_t)fit.point[4 * g + k];
            put_u32(b->groups[g].signs_scale,
                    stored_signs(fit.signs + 4 * g) | (uint32_t)fit.scale[g] << 28);
        }
    }
}

void ks_encode_iq2_xs(const struct ks_codebook *book, const float *x, size_t cols,
                      const float *importance, uint8_t *out)
{
    struct ks_block_iq2_xs *b = (struct ks_block_iq2_xs *)out;
    struct grid_fit fit;
    for (size_t i = 0; i < cols; i += GRID_BLOCK, b++) {
        ks_fit_grid(&iq2_xs, book, x + i, importance + i, &fit);
        put_half(b->d, fit.d);
        for (int k = 0; k < GRID_OCTETS; k++) {
            put_u16(b->qs + 2 * k, (uint16_t)(fit.point[k] | (fit.signs[k] & 127) << 9));
        }
        put_nibbles(fit.scale, 16, b->scales);
    }
}

void ks_encode_iq2_s(const struct ks_codebook *book, const float *x, size_t cols,
                     const float *importance, uint8_t *out)
{
    struct ks_block_iq2_s *b = (struct ks_block_iq2_s *)out;
    struct grid_fit fit;
    for (size_t i = 0; i < cols; i += GRID_BLOCK, b++) {
        ks_fit_grid(&iq2_s, book, x + i, importance ? importance + i : NULL, &fit);
        memset(b, 0, sizeof *b);
        put_half(b->d, fit.d);
        put_points(fit.point, GRID_OCTETS, 2, b->qs, b->qh);
        memcpy(b->signs, fit.signs, sizeof b->signs);
        put_nibbles(fit.scale, 16, b->scales);
    }
}

void ks_encode_iq3_xxs(const struct ks_codebook *book, const float *x, size_t cols,
                       const float *importance, uint8_t *out)
{
    struct ks_block_iq3_xxs *b = (struct ks_block_iq3_xxs *)out;
    struct grid_fit fit;
    for (size_t i = 0; i < cols; i += GRID_BLOCK, b++) {
        ks_fit_grid(&iq3_xxs, book, x + i, importance ? importance + i : NULL, &fit);
        put_half(b->d, fit.d);
        for (int k = 0; k < 2 * GRID_OCTETS; k++)
            b->qs[k] = (uint8_t)fit.point[k];
        for (int g = 0; g < 8; g++)
            put_u32(b->signs_scales + 4 * g,
                    stored_signs(fit.signs + 4 * g) | (uint32_t)fit.scale[g] << 28);
    }
}

/*
 * The reference writes points and signs one group behind the other and forgets to step over a group
 * of zeros: what follows one lands a group too early, all but the points' high bits. Files have it
 * so, and an arm is to be what people download.
 */
static void put_groups_as_in_files(const struct grid_fit *fit, struct ks_block_iq3_s *b)
{
    for (int g = 0, at = 0; g < 8; g++) {
        if (fit->zero[g])
            continue;
        put_points(fit->point + 8 * g, 8, 1, b->qs + 8 * at, b->qh + g);
        memcpy(b->signs + 4 * at, fit->signs + 4 * g, 4);
        at++;
    }
}

void ks_encode_iq3_s(const struct ks_codebook *book, const float *x, size_t cols,
                     const float *importance, uint8_t *out)
{
    struct ks_block_iq3_s *b = (struct ks_block_iq3_s *)out;
    struct grid_fit fit;
    for (size_t i = 0; i < cols; i += GRID_BLOCK, b++) {
        ks_fit_grid(&iq3_s, book, x + i, importance ? importance + i : NULL, &fit);
        memset(b, 0, sizeof *b);
        put_half(b->d, fit.d);
        put_groups_as_in_files(&fit, b);
        put_nibbles(fit.scale, 8, b->scales);
    }
}

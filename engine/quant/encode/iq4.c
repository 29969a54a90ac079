/*
 * IQ4_NL and IQ4_XS: 4 bits choose from sixteen values that lie closer around 0. A group of 32 has
 * a scale, found by trying a few that send its extreme element to one end of the values.
 */
#include <math.h>

#include "engine/quant/blocks.h"
#include "engine/quant/encode/parts.h"

enum { GROUP = 32, SUPER = 256, TRIES = 7 };

/* The index of the nearest value, the upper one of two as near. */
static unsigned nearest_index(float v)
{
    unsigned index = 0;
    for (unsigned step = 8; step > 0; step /= 2) {
        const int8_t *upper = ks_iq4_values + index + step;
        if (v + v >= (float)(upper[-1] + upper[0]))
            index += step;
    }
    return index;
}

static float mean_square_twice(const float *x, int n)
{
    return ks_sum_of_squares(x, (size_t)n) * (2.0f / (float)n);
}

static void weigh(const float *x, const float *importance, float spread, float *w)
{
    for (int i = 0; i < GROUP; i++)
        w[i] = importance ? importance[i] * sqrtf(spread + x[i] * x[i]) : x[i] * x[i];
}

/* Keeps what the inverse scale leads to if that explains more. */
static void try_inverse(const float *x, const float *w, float inverse, float *scale, float *best)
{
    float xq = 0, qq = 0;
    for (int i = 0; i < GROUP; i++) {
        float q = (float)ks_iq4_values[nearest_index(inverse * x[i])];
        xq += w[i] * q * x[i];
        qq += w[i] * q * q;
    }
    if (qq > 0 && xq * xq > *best * qq) {
        *scale = xq / qq;
        *best = *scale * xq;
    }
}

static float fit_scale(const float *x, const float *w)
{
    float extreme = 0, scale = 0, best = 0, end = (float)ks_iq4_values[0];
    for (int i = 0; i < GROUP; i++)
        if (fabsf(x[i]) > fabsf(extreme))
            extreme = x[i];
    if (fabsf(extreme) < GROUP_ZERO)
        return 0;
    try_inverse(x, w, 1.0f / (-extreme / end), &scale, &best);
    for (int t = -TRIES; t <= TRIES; t++)
        try_inverse(x, w, (float)(t + ks_iq4_values[0]) / extreme, &scale, &best);
    return scale;
}

/* Byte j holds the elements j and j + 16. */
static void put_indices(const float *x, float inverse, uint8_t qs[16])
{
    for (int j = 0; j < GROUP / 2; j++)
        qs[j] = (uint8_t)(nearest_index(inverse * x[j]) | nearest_index(inverse * x[j + GROUP / 2])
                                                              << 4);
}

void ks_encode_iq4_nl(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    struct ks_block_iq4_nl *b = (struct ks_block_iq4_nl *)out;
    float w[GROUP];
    for (size_t i = 0; i < cols; i += GROUP, b++) {
        weigh(x + i, importance ? importance + i : NULL, mean_square_twice(x + i, GROUP), w);
        float scale = fit_scale(x + i, w);
        put_half(b->d, scale);
        put_indices(x + i, inverse_or_zero(scale), b->qs);
    }
}

/* The scale of the largest magnitude gets the lowest level, -32. */
static void put_super_block(const float *x, const float *scale, struct ks_block_iq4_xs *b)
{
    float extreme = 0;
    for (int g = 0; g < 8; g++)
        if (fabsf(scale[g]) > fabsf(extreme))
            extreme = scale[g];
    float d = -extreme / 32.0f, inverse = inverse_or_zero(d);
    unsigned high = 0;
    memset(b->scales_l, 0, sizeof b->scales_l);
    for (int g = 0; g < 8; g++) {
        float level = nearest_level(inverse * scale[g], -32, 31);
        unsigned stored = (unsigned)((int)level + 32);
        put_indices(x + g * GROUP, inverse_or_zero(d * level), b->qs + 16 * g);
        b->scales_l[g / 2] |= (uint8_t)((stored & 15) << (4 * (g % 2)));
        high |= stored >> 4 << (2 * g);
    }
    put_half(b->d, d);
    put_u16(b->scales_h, (uint16_t)high);
}

void ks_encode_iq4_xs(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    struct ks_block_iq4_xs *b = (struct ks_block_iq4_xs *)out;
    float w[GROUP], scale[SUPER / GROUP];
    for (size_t i = 0; i < cols; i += SUPER, b++) {
        float spread = mean_square_twice(x + i, SUPER);
        for (size_t g = 0; g < SUPER / GROUP; g++) {
            size_t at = i + g * GROUP;
            weigh(x + at, importance ? importance + at : NULL, spread, w);
            scale[g] = fit_scale(x + at, w);
        }
        put_super_block(x + i, scale, b);
    }
}

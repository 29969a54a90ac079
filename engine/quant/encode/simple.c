/*
 * The formats of 32 elements with one scale (Q4_0, Q5_0, Q8_0), or a scale and an offset (Q4_1,
 * Q5_1). Without importance the extremes of a block fix them; with it they are searched for.
 */
#include <math.h>

#include "engine/quant/encode/parts.h"

enum { BLOCK = 32 };

struct simple_format {
    int bits; /* 4 or 5 */
    bool offset;
};

struct simple_block {
    float scale, offset;
    uint8_t level[BLOCK];
};

/* Towards 0. What is out of reach comes from a scale too small to be inverted; the block then
 * decodes to nothing whatever its levels are. */
static int truncated(float v)
{
    v = fabsf(v) < 1024.0f ? v : 0.0f;
    return (int)v;
}

static int at_most(int v, int top)
{
    return v < top ? v : top;
}

/* The element of the largest magnitude gets the level farthest from the middle: level 0. */
static void fit_scale(int bits, const float *x, struct simple_block *b)
{
    float extreme = 0, size = 0;
    for (int i = 0; i < BLOCK; i++) {
        float a = fabsf(x[i]);
        extreme = a > size ? x[i] : extreme;
        size = a > size ? a : size;
    }
    int half = 1 << (bits - 1);
    b->scale = extreme / (float)-half;
    float inverse = inverse_or_zero(b->scale);
    for (int i = 0; i < BLOCK; i++) {
        int level = truncated(x[i] * inverse + ((float)half + 0.5f));
        b->level[i] = (uint8_t)at_most(level, 2 * half - 1);
    }
}

/* The levels span the range from the least to the largest element. */
static void fit_scale_and_offset(int bits, const float *x, struct simple_block *b)
{
    float low = x[0], high = x[0];
    for (int i = 1; i < BLOCK; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    int top = (1 << bits) - 1;
    b->offset = low;
    b->scale = (high - low) / (float)top;
    float inverse = inverse_or_zero(b->scale);
    for (int i = 0; i < BLOCK; i++) {
        int level = truncated((x[i] - low) * inverse + 0.5f);
        b->level[i] = (uint8_t)at_most(level, top);
    }
}

/* d, the offset where there is one, a word of fifth bits where there are any, then nibbles: byte j
 * holds the elements j and j + 16. */
static uint8_t *put_block(const struct simple_format *f, const struct simple_block *b, uint8_t *out)
{
    out = put_half(out, b->scale);
    if (f->offset)
        out = put_half(out, b->offset);
    if (f->bits == 5) {
        uint32_t high = 0;
        for (int i = 0; i < BLOCK; i++)
            high |= (uint32_t)(b->level[i] >> 4) << i;
        memcpy(out, &high, sizeof high);
        out += sizeof high;
    }
    for (int j = 0; j < BLOCK / 2; j++)
        out[j] = (uint8_t)((b->level[j] & 15) | (b->level[j + BLOCK / 2] & 15) << 4);
    return out + BLOCK / 2;
}

/* Fits up to LANES blocks by search; the missing ones are searched as zeros. */
static void search_blocks(const struct simple_format *f, const float *x, const float *importance,
                          size_t n_blocks, float spread, struct simple_block *b)
{
    float values[LANES * BLOCK] = {0}, columns[LANES * BLOCK] = {0};
    memcpy(values, x, n_blocks * BLOCK * sizeof *x);
    memcpy(columns, importance, n_blocks * BLOCK * sizeof *importance);
    lanes group[BLOCK], w[BLOCK];
    gather_groups(values, BLOCK, group);
    gather_groups(columns, BLOCK, w);
    ks_importance_weights(BLOCK, group, w, spread, w);
    uint8_t level[LANES * BLOCK];
    lanes scale, offset = {0};
    if (f->offset) {
        struct affine_search how = {(1 << f->bits) - 1, -0.9f, 0.05f, 36, false};
        struct affine_fit fit;
        ks_search_affine(&how, BLOCK, group, w, &fit);
        scatter_levels(fit.level, BLOCK, 0, level);
        scale = fit.scale;
        offset = -fit.offset;
    } else {
        int half = 1 << (f->bits - 1);
        struct linear_fit fit;
        ks_search_linear(half, BLOCK, group, w, &fit);
        scatter_levels(fit.level, BLOCK, half, level);
        scale = fit.scale;
    }
    for (size_t i = 0; i < n_blocks; i++) {
        b[i].scale = scale[i];
        b[i].offset = offset[i];
        memcpy(b[i].level, level + i * BLOCK, BLOCK);
    }
}

static void encode_plain(const struct simple_format *f, const float *x, size_t cols, uint8_t *out)
{
    struct simple_block b;
    for (size_t i = 0; i < cols; i += BLOCK) {
        if (f->offset)
            fit_scale_and_offset(f->bits, x + i, &b);
        else
            fit_scale(f->bits, x + i, &b);
        out = put_block(f, &b, out);
    }
}

static void encode_searched(const struct simple_format *f, const float *x, size_t cols,
                            const float *importance, uint8_t *out)
{
    float spread = ks_sum_of_squares(x, cols) / (float)cols;
    size_t n = cols / BLOCK;
    struct simple_block b[LANES];
    for (size_t i = 0; i < n; i += LANES) {
        size_t some = n - i < LANES ? n - i : LANES;
        search_blocks(f, x + i * BLOCK, importance + i * BLOCK, some, spread, b);
        for (size_t k = 0; k < some; k++)
            out = put_block(f, &b[k], out);
    }
}

static void encode_simple(struct simple_format f, const float *x, size_t cols,
                          const float *importance, uint8_t *out)
{
    if (importance)
        encode_searched(&f, x, cols, importance, out);
    else
        encode_plain(&f, x, cols, out);
}

void ks_encode_q4_0(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    encode_simple((struct simple_format){4, false}, x, cols, importance, out);
}

void ks_encode_q4_1(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    encode_simple((struct simple_format){4, true}, x, cols, importance, out);
}

void ks_encode_q5_0(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    encode_simple((struct simple_format){5, false}, x, cols, importance, out);
}

void ks_encode_q5_1(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    encode_simple((struct simple_format){5, true}, x, cols, importance, out);
}

/* To the nearest integer, halves away from 0: adding the largest number below a half can't carry
 * what lies under a half over to 1. */
static int8_t rounded(float v)
{
    return (int8_t)truncated(v + copysignf(0x1.fffffep-2f, v));
}

/* 127 levels to either side of 0. Importance has no say: the scale is not searched for. */
void ks_encode_q8_0(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    for (; cols > 0; cols -= BLOCK, x += BLOCK, out += BLOCK) {
        float scale = largest_magnitude(x, BLOCK) / 127.0f, inverse = inverse_or_zero(scale);
        out = put_half(out, scale);
        for (int i = 0; i < BLOCK; i++)
            out[i] = (uint8_t)rounded(x[i] * inverse);
    }
}

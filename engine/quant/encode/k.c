/*
 * The K formats: 256 elements with two levels of scales. Groups of 16 or 32 elements get scales by
 * search, the groups' scales get a scale themselves, and the elements are rounded once more with
 * what the block really stores.
 */
#include <math.h>

#include "engine/quant/blocks.h"
#include "engine/quant/encode/parts.h"

enum { SUPER = 256, GROUPS_MAX = 16 };

/* A block before it is packed. */
struct super_block {
    float d, dmin;                /* as to be stored, in f32 */
    int scale[GROUPS_MAX];        /* of the groups, in units of d */
    int offset[GROUPS_MAX];       /* in units of dmin */
    uint8_t level[SUPER];         /* from 0 */
    float fit[GROUPS_MAX];        /* the searched scales */
    float fit_offset[GROUPS_MAX]; /* and offsets */
    float weight[GROUPS_MAX];     /* sum of the elements' weights; with importance only */
};

/* ------------------------------------------------------------------ formats with offsets */

struct offset_format {
    int group;     /* elements */
    int scale_top; /* of the groups' scales and offsets */
    float spread;  /* times the mean square: how evenly importance weighs elements */
    struct affine_search plain;
};

static const struct offset_format q2_k = {16, 15, 1.0f, {3, -0.5f, 0.1f, 15, true}};
static const struct offset_format q4_k = {32, 63, 2.0f, {15, -1.0f, 0.1f, 20, false}};
static const struct offset_format q5_k = {32, 63, 2.0f, {31, -0.5f, 0.1f, 15, false}};

/* Without importance large elements weigh more: by their magnitude alone where the error is
 * absolute, by that on top of the group's root mean square where it is squared. */
static void plain_weights(const struct offset_format *f, const lanes *x, lanes *w)
{
    lanes base = {0};
    if (!f->plain.absolute) {
        for (int i = 0; i < f->group; i++)
            base += x[i] * x[i];
        for (int lane = 0; lane < LANES; lane++)
            base[lane] = sqrtf(base[lane] / (float)f->group);
    }
    for (int i = 0; i < f->group; i++)
        w[i] = base + lanes_abs(x[i]);
}

static void sum_weights(int n, const lanes *w, float *sums)
{
    lanes sum = {0};
    for (int i = 0; i < n; i++)
        sum += w[i];
    memcpy(sums, &sum, sizeof sum);
}

static void search_groups_with_offset(const struct offset_format *f, const float *x,
                                      const float *importance, struct super_block *b)
{
    float spread = importance ? f->spread * ks_sum_of_squares(x, SUPER) / (float)SUPER : 0;
    struct affine_search how = {f->plain.top, -0.9f, 0.05f, 36, false};
    lanes group[GROUP_MAX], w[GROUP_MAX];
    struct affine_fit fit;
    for (int first = 0; first < SUPER; first += LANES * f->group) {
        int g = first / f->group;
        gather_groups(x + first, f->group, group);
        if (importance) {
            gather_groups(importance + first, f->group, w);
            ks_importance_weights(f->group, group, w, spread, w);
            sum_weights(f->group, w, b->weight + g);
        } else {
            plain_weights(f, group, w);
        }
        ks_search_affine(importance ? &how : &f->plain, f->group, group, w, &fit);
        memcpy(b->fit + g, &fit.scale, sizeof fit.scale);
        memcpy(b->fit_offset + g, &fit.offset, sizeof fit.offset);
        scatter_levels(fit.level, f->group, 0, b->level + first);
    }
}

static float largest(const float *v, int n)
{
    float m = 0;
    for (int i = 0; i < n; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

/* The largest gets the top level. Returns the unit. */
static float level_by_largest(const float *v, int n, int top, int *level)
{
    float m = largest(v, n), inverse = m > 0 ? (float)top / m : 0;
    for (int i = 0; i < n; i++)
        level[i] = (int)nearest_level(inverse * v[i], 0, (float)top);
    return m / (float)top;
}

/* Scales and offsets, side by side in two lanes, each weighed by its group. */
static void level_by_search(const struct offset_format *f, struct super_block *b)
{
    int n = SUPER / f->group;
    lanes v[GROUPS_MAX] = {{0}}, w[GROUPS_MAX] = {{0}};
    for (int i = 0; i < n; i++) {
        v[i] = (lanes){b->fit[i], b->fit_offset[i], 0, 0};
        w[i] = lanes_of(b->weight[i]);
    }
    struct linear_fit fit;
    ks_search_positive(f->scale_top, n, v, w, &fit);
    for (int i = 0; i < n; i++) {
        b->scale[i] = (int)fit.level[i][0];
        b->offset[i] = (int)fit.level[i][1];
    }
    b->d = fit.scale[0];
    b->dmin = fit.scale[1];
}

/* Rounds each element again with its group's stored scale and offset; a group whose scale came to
 * nothing keeps the levels of the search. */
static void round_with_offset(const struct offset_format *f, const float *x, struct super_block *b)
{
    float d = as_stored(b->d), dmin = as_stored(b->dmin), top = (float)f->plain.top;
    for (int g = 0; g < SUPER / f->group; g++) {
        float scale = d * (float)b->scale[g], offset = dmin * (float)b->offset[g];
        if (scale == 0)
            continue;
        for (int i = g * f->group; i < (g + 1) * f->group; i++)
            b->level[i] = (uint8_t)(int)nearest_level((x[i] + offset) / scale, 0, top);
    }
}

static void fit_with_offset(const struct offset_format *f, const float *x, const float *importance,
                            struct super_block *b)
{
    search_groups_with_offset(f, x, importance, b);
    if (importance) {
        level_by_search(f, b);
    } else {
        int n = SUPER / f->group;
        b->d = level_by_largest(b->fit, n, f->scale_top, b->scale);
        b->dmin = level_by_largest(b->fit_offset, n, f->scale_top, b->offset);
    }
    round_with_offset(f, x, b);
}

/* ------------------------------------------------------------------ formats without */

enum { LINEAR_GROUP = 16, LINEAR_GROUPS = SUPER / LINEAR_GROUP };

/* How the groups of Q3_K and Q6_K are fitted. */
enum linear_rule {
    STEPWISE,      /* Q3_K */
    IMPORTANCE,    /* Q6_K with importance */
    SPREAD,        /* Q3_K with importance */
    OWN_MAGNITUDE, /* Q6_K */
};

static void linear_weights(enum linear_rule rule, const float *importance, float spread,
                           const lanes *x, lanes *w)
{
    if (rule == OWN_MAGNITUDE) {
        for (int i = 0; i < LINEAR_GROUP; i++)
            w[i] = x[i] * x[i];
        return;
    }
    gather_groups(importance, LINEAR_GROUP, w);
    if (rule == SPREAD)
        ks_importance_weights(LINEAR_GROUP, x, w, spread, w);
}

static void search_groups(enum linear_rule rule, int half, const float *x, const float *importance,
                          struct super_block *b)
{
    float spread = rule == SPREAD ? 2.0f * ks_sum_of_squares(x, SUPER) / (float)SUPER : 0;
    lanes group[LINEAR_GROUP], w[LINEAR_GROUP];
    struct linear_fit fit;
    for (int first = 0; first < SUPER; first += LANES * LINEAR_GROUP) {
        int g = first / LINEAR_GROUP;
        gather_groups(x + first, LINEAR_GROUP, group);
        if (rule == STEPWISE) {
            ks_search_linear_stepwise(half, LINEAR_GROUP, group, &fit);
        } else {
            linear_weights(rule, importance ? importance + first : NULL, spread, group, w);
            sum_weights(LINEAR_GROUP, w, b->weight + g);
            ks_search_linear(half, LINEAR_GROUP, group, w, &fit);
        }
        memcpy(b->fit + g, &fit.scale, sizeof fit.scale);
        scatter_levels(fit.level, LINEAR_GROUP, half, b->level + first);
    }
}

/* The scale of the largest magnitude with its sign, the first of equals. */
static float extreme_scale(const struct super_block *b)
{
    float extreme = 0;
    for (int g = 0; g < LINEAR_GROUPS; g++)
        if (fabsf(b->fit[g]) > fabsf(extreme))
            extreme = b->fit[g];
    return extreme;
}

/* The extreme scale gets the lowest level, -half. */
static void level_scales_by_extreme(int half, struct super_block *b)
{
    float inverse = (float)-half / extreme_scale(b);
    for (int g = 0; g < LINEAR_GROUPS; g++)
        b->scale[g] = (int)nearest_level(inverse * b->fit[g], (float)-half, (float)(half - 1));
    b->d = 1.0f / inverse;
}

static void level_scales_by_search(int half, struct super_block *b)
{
    lanes v[LINEAR_GROUPS], w[LINEAR_GROUPS];
    for (int g = 0; g < LINEAR_GROUPS; g++) {
        v[g] = (lanes){b->fit[g], 0, 0, 0};
        w[g] = lanes_of(b->weight[g]);
    }
    struct linear_fit fit;
    ks_search_linear(half, LINEAR_GROUPS, v, w, &fit);
    for (int g = 0; g < LINEAR_GROUPS; g++)
        b->scale[g] = (int)fit.level[g][0];
    b->d = fit.scale[0];
}

static void round_linear(int half, const float *x, struct super_block *b)
{
    float d = as_stored(b->d), bottom = (float)-half, top = (float)(half - 1);
    for (int g = 0; g < LINEAR_GROUPS; g++) {
        float scale = d * (float)b->scale[g];
        if (scale == 0)
            continue;
        for (int i = g * LINEAR_GROUP; i < (g + 1) * LINEAR_GROUP; i++)
            b->level[i] = (uint8_t)((int)nearest_level(x[i] / scale, bottom, top) + half);
    }
}

/* ------------------------------------------------------------------ packing */

/* Two bits an element: byte l of a half's 32 takes the elements l, l + 32, l + 64, l + 96. */
static void pack_two_bits(const uint8_t *level, unsigned shift, uint8_t qs[64])
{
    for (int half = 0; half < 2; half++, level += SUPER / 2, qs += 32)
        for (int l = 0; l < 32; l++)
            qs[l] =
                (uint8_t)((level[l] >> shift & 3) | (level[l + 32] >> shift & 3) << 2 |
                          (level[l + 64] >> shift & 3) << 4 | (level[l + 96] >> shift & 3) << 6);
}

static void pack_nibbles(const uint8_t *level, uint8_t qs[128])
{
    for (int pair = 0; pair < 4; pair++, level += 64, qs += 32)
        for (int l = 0; l < 32; l++)
            qs[l] = (uint8_t)((level[l] & 15) | (level[l + 32] & 15) << 4);
}

/* Bit `bit` of element l of each 32-element group g goes to bit g of byte l. */
static void pack_high_bits(const uint8_t *level, unsigned bit, uint8_t out[32])
{
    for (int l = 0; l < 32; l++) {
        unsigned byte = 0;
        for (int g = 0; g < SUPER / 32; g++)
            byte |= (unsigned)(level[32 * g + l] >> bit & 1) << g;
        out[l] = (uint8_t)byte;
    }
}

/* Six bits each of 8 scales and 8 offsets in 12 bytes, as ks_k_scale_min reads them. */
static void pack_six_bits(const struct super_block *b, uint8_t out[12])
{
    for (int g = 0; g < 4; g++) {
        out[g] = (uint8_t)(b->scale[g] | b->scale[g + 4] >> 4 << 6);
        out[g + 4] = (uint8_t)(b->offset[g] | b->offset[g + 4] >> 4 << 6);
        out[g + 8] = (uint8_t)((b->scale[g + 4] & 15) | (b->offset[g + 4] & 15) << 4);
    }
}

/* Six bits each of 16 scales from -32 on, as ks_q3_k_scale reads them. */
static void pack_signed_six_bits(const struct super_block *b, uint8_t out[12])
{
    memset(out, 0, 12);
    for (int g = 0; g < LINEAR_GROUPS; g++) {
        unsigned s = (unsigned)(b->scale[g] + 32);
        out[g % 8] |= (uint8_t)((s & 15) << (g < 8 ? 0 : 4));
        out[8 + g % 4] |= (uint8_t)(s >> 4 << 2 * (g / 4));
    }
}

/* ------------------------------------------------------------------ rows */

void ks_encode_q2_k(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    struct ks_block_q2_k *block = (struct ks_block_q2_k *)out;
    struct super_block b;
    for (size_t i = 0; i < cols; i += SUPER, block++) {
        fit_with_offset(&q2_k, x + i, importance ? importance + i : NULL, &b);
        for (int g = 0; g < 16; g++)
            block->scales[g] = (uint8_t)(b.scale[g] | b.offset[g] << 4);
        pack_two_bits(b.level, 0, block->qs);
        put_half(block->d, b.d);
        put_half(block->dmin, b.dmin);
    }
}

void ks_encode_q4_k(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    struct ks_block_q4_k *block = (struct ks_block_q4_k *)out;
    struct super_block b;
    for (size_t i = 0; i < cols; i += SUPER, block++) {
        fit_with_offset(&q4_k, x + i, importance ? importance + i : NULL, &b);
        put_half(block->d, b.d);
        put_half(block->dmin, b.dmin);
        pack_six_bits(&b, block->scales);
        pack_nibbles(b.level, block->qs);
    }
}

void ks_encode_q5_k(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    struct ks_block_q5_k *block = (struct ks_block_q5_k *)out;
    struct super_block b;
    for (size_t i = 0; i < cols; i += SUPER, block++) {
        fit_with_offset(&q5_k, x + i, importance ? importance + i : NULL, &b);
        put_half(block->d, b.d);
        put_half(block->dmin, b.dmin);
        pack_six_bits(&b, block->scales);
        pack_high_bits(b.level, 4, block->qh);
        pack_nibbles(b.level, block->qs);
    }
}

/* An all-zero block stores the scales -32 with d = 0: its bytes are zeros. */
void ks_encode_q3_k(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    struct ks_block_q3_k *block = (struct ks_block_q3_k *)out;
    struct super_block b;
    for (size_t i = 0; i < cols; i += SUPER, block++) {
        search_groups(importance ? SPREAD : STEPWISE, 4, x + i, importance ? importance + i : NULL,
                      &b);
        if (importance) {
            level_scales_by_search(32, &b);
        } else if (extreme_scale(&b) != 0) {
            level_scales_by_extreme(32, &b);
        } else {
            for (int g = 0; g < LINEAR_GROUPS; g++)
                b.scale[g] = -32;
            b.d = 0;
        }
        round_linear(4, x + i, &b);
        pack_high_bits(b.level, 2, block->hmask);
        pack_two_bits(b.level, 0, block->qs);
        pack_signed_six_bits(&b, block->scales);
        put_half(block->d, b.d);
    }
}

void ks_encode_q6_k(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    struct ks_block_q6_k *block = (struct ks_block_q6_k *)out;
    struct super_block b;
    for (size_t i = 0; i < cols; i += SUPER, block++) {
        search_groups(importance ? IMPORTANCE : OWN_MAGNITUDE, 32, x + i,
                      importance ? importance + i : NULL, &b);
        if (fabsf(extreme_scale(&b)) < GROUP_ZERO) {
            memset(block, 0, sizeof *block);
            continue;
        }
        level_scales_by_extreme(128, &b);
        round_linear(32, x + i, &b);
        pack_two_bits(b.level, 4, block->qh);
        for (int l = 0; l < SUPER / 4; l++) {
            const uint8_t *q = b.level + (l / 32) * 128 + l % 32;
            uint8_t *low = block->ql + (l / 32) * 64 + l % 32;
            low[0] = (uint8_t)((q[0] & 15) | (q[64] & 15) << 4);
            low[32] = (uint8_t)((q[32] & 15) | (q[96] & 15) << 4);
        }
        for (int g = 0; g < LINEAR_GROUPS; g++)
            block->scales[g] = (int8_t)b.scale[g];
        put_half(block->d, b.d);
    }
}

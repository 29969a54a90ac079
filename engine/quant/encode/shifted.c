/*
 * The rows of IQ1_S and IQ1_M: elements are -1, 0 or 1, shifted by an eighth up or down, times a
 * group's scale. With so few values the best of them for a group are found outright: sorted, its
 * elements fall into three runs, and every division into runs is tried with every shift.
 */
#include <float.h>
#include <math.h>

#include "engine/quant/encode/codebook.h"
#include "engine/quant/encode/parts.h"
#include "engine/quant/grid/grid.h"

enum { BLOCK = 256, GROUPS_MAX = 16, OCTETS_MAX = 4 };

struct shifted_format {
    int group;     /* elements that share a scale */
    bool split;    /* IQ1_M: an octet has a shift of its own */
    float zero;    /* a group whose largest magnitude is below counts as zero */
    float stretch; /* of the stored d over the one that was found */
};

static const struct shifted_format iq1_s = {32, false, 1e-12f, 1.125f};
static const struct shifted_format iq1_m = {16, true, 1e-7f, 1.1125f};

/* A group of elements, or what was found for it. Bit o of down: octet o is shifted downwards. */
struct group {
    const float *x;
    float weight[GROUP_MAX];
    uint8_t order[GROUP_MAX]; /* of the elements by size */
    float scale;
    unsigned down;
    uint16_t point[OCTETS_MAX];
};

/* The elements of ranks 0..first-1 are -1, those up to second-1 are 0, the others 1. */
struct division {
    int first, second; /* first < 0: none was found */
    unsigned down;
    float scale, score;
};

static float shift_of(unsigned down, int octet)
{
    return down >> octet & 1 ? -KS_IQ1_SHIFT : KS_IQ1_SHIFT;
}

static void weigh(const struct shifted_format *f, const float *importance, float mean,
                  struct group *g)
{
    for (int i = 0; i < f->group; i++) {
        float square = g->x[i] * g->x[i];
        g->weight[i] = importance ? importance[i] * sqrtf(mean + square) : square;
    }
}

/* Equals keep their order. */
static void sort(const struct shifted_format *f, struct group *g)
{
    for (int i = 0; i < f->group; i++) {
        int at = i;
        for (; at > 0 && g->x[g->order[at - 1]] > g->x[i]; at--)
            g->order[at] = g->order[at - 1];
        g->order[at] = (uint8_t)i;
    }
}

static void consider(struct division *best, int first, int second, unsigned down, float xq,
                     float qq)
{
    if (!(qq > 0 && xq * xq > best->score * qq))
        return;
    *best = (struct division){first, second, down, xq / qq, 0};
    best->score = best->scale * xq;
}

/* IQ1_S: by sums over the runs. */
static void divide_in_common(const struct group *g, struct division *best)
{
    enum { N = 32 };
    float sum_x[N + 1] = {0}, sum_w[N + 1] = {0};
    for (int j = 0; j < N; j++) {
        int i = g->order[j];
        sum_x[j + 1] = sum_x[j] + g->weight[i] * g->x[i];
        sum_w[j + 1] = sum_w[j] + g->weight[i];
    }
    for (int a = 0; a <= N; a++)
        for (int b = a; b <= N; b++)
            for (int down = 0; down < 2; down++) {
                float shift = shift_of((unsigned)down, 0);
                float low = -1 + shift, middle = shift, high = 1 + shift;
                float xq =
                    sum_x[a] * low + (sum_x[b] - sum_x[a]) * middle + (sum_x[N] - sum_x[b]) * high;
                float qq = sum_w[a] * low * low + (sum_w[b] - sum_w[a]) * middle * middle +
                           (sum_w[N] - sum_w[b]) * high * high;
                consider(best, a, b, down ? 15 : 0, xq, qq);
            }
}

/* The shifts of two octets that a lane stands for. */
static const uint8_t downs[LANES] = {0, 2, 1, 3};

struct sums {
    lanes xq, qq;
};

/* What an element adds in each lane if its value is level. */
static void add(struct sums *s, const struct group *g, int i, float level)
{
    for (int lane = 0; lane < LANES; lane++) {
        float q = level + shift_of(downs[lane], i / 8);
        s->xq[lane] += g->weight[i] * q * g->x[i];
        s->qq[lane] += g->weight[i] * q * q;
    }
}

/* IQ1_M: by one sum over the elements in their order for each division, the four pairs of shifts
 * side by side. */
static void divide_apart(const struct group *g, struct division *best)
{
    enum { N = 16 };
    struct sums low = {0};
    for (int a = 0; a <= N; a++) {
        struct sums middle = low;
        for (int b = a; b <= N; b++) {
            struct sums all = middle;
            for (int j = b; j < N; j++)
                add(&all, g, g->order[j], 1);
            for (int lane = 0; lane < LANES; lane++)
                consider(best, a, b, downs[lane], all.xq[lane], all.qq[lane]);
            if (b < N)
                add(&middle, g, g->order[b], 0);
        }
        if (a < N)
            add(&low, g, g->order[a], -1);
    }
}

static bool find_points(const struct shifted_format *f, const struct ks_codebook *book,
                        const uint8_t *level, struct group *g)
{
    bool members = true;
    for (int o = 0; o < f->group / 8; o++) {
        unsigned code = 0;
        for (int k = 0; k < 8; k++)
            code |= (unsigned)level[8 * o + k] << (2 * k);
        int32_t place = book->place[code];
        members &= place >= 0;
        if (place < 0)
            place = ks_codebook_nearest(book, place, g->x + 8 * o, g->weight + 8 * o, g->scale,
                                        shift_of(g->down, o));
        g->point[o] = (uint16_t)place;
    }
    return members;
}

/* Adds to sum w x q and sum w q^2 what the group's points make of them, scaled by a whole number.
 */
static void add_moments(const struct shifted_format *f, const struct ks_codebook *book,
                        const struct group *g, float times, float *xq, float *qq)
{
    for (int i = 0; i < f->group; i++) {
        float value = book->values[8 * g->point[i / 8] + i % 8];
        float q = (value + shift_of(g->down, i / 8)) * times;
        *xq += g->weight[i] * q * g->x[i];
        *qq += g->weight[i] * q * q;
    }
}

/* Levels 0 to 2 of the elements. A scale below 0 means that the runs are the other way round, and
 * the shifts too. */
static void apply(const struct shifted_format *f, const struct division *d, struct group *g,
                  uint8_t *level)
{
    bool mirror = d->scale < 0;
    for (int j = 0; j < f->group; j++) {
        int l = j < d->first ? 0 : j < d->second ? 1 : 2;
        level[g->order[j]] = (uint8_t)(mirror ? 2 - l : l);
    }
    g->scale = fabsf(d->scale);
    g->down = (mirror ? ~d->down : d->down) & ((1u << f->group / 8) - 1);
}

static void fit_group(const struct shifted_format *f, const struct ks_codebook *book,
                      struct group *g)
{
    struct division best = {.first = -1, .score = -FLT_MAX};
    uint8_t level[GROUP_MAX];
    if (largest_magnitude(g->x, f->group) < f->zero)
        return;
    sort(f, g);
    if (f->split)
        divide_apart(g, &best);
    else
        divide_in_common(g, &best);
    if (best.first < 0)
        return;
    apply(f, &best, g, level);
    if (find_points(f, book, level, g))
        return;
    float xq = 0, qq = 0;
    add_moments(f, book, g, 1, &xq, &qq);
    if (xq > 0 && qq > 0)
        g->scale = xq / qq;
}

/* Fits the groups of a block and levels their scales, 0..7. Returns the unit of the scales, 0 where
 * all is zero. */
static float fit_block(const struct shifted_format *f, const struct ks_codebook *book,
                       const float *x, const float *importance, struct group *groups,
                       uint8_t *scale)
{
    float mean = 2 * ks_sum_of_squares(x, BLOCK) / (float)BLOCK, top = 0;
    int n = BLOCK / f->group;
    for (int i = 0; i < n; i++) {
        struct group *g = &groups[i];
        *g = (struct group){.x = x + i * f->group};
        weigh(f, importance ? importance + i * f->group : NULL, mean, g);
        fit_group(f, book, g);
        top = g->scale > top ? g->scale : top;
    }
    float d = top / 15.0f, inverse = 1.0f / d;
    for (int i = 0; i < n; i++)
        scale[i] = (uint8_t)nearest_level(0.5f * (inverse * groups[i].scale - 1.0f), 0, 7);
    return d;
}

void ks_encode_iq1_s(const struct ks_codebook *book, const float *x, size_t cols,
                     const float *importance, uint8_t *out)
{
    struct ks_block_iq1_s *b = (struct ks_block_iq1_s *)out;
    struct group groups[GROUPS_MAX];
    uint8_t scale[GROUPS_MAX];
    for (size_t i = 0; i < cols; i += BLOCK, b++) {
        float d = fit_block(&iq1_s, book, x + i, importance + i, groups, scale);
        memset(b, 0, sizeof *b);
        if (d == 0)
            continue;
        put_half(b->d, d * iq1_s.stretch);
        for (int g = 0; g < 8; g++) {
            unsigned word = (unsigned)scale[g] << 12 | (groups[g].down & 1) << 15;
            for (int k = 0; k < 4; k++) {
                b->qs[4 * g + k] = (uint8_t)groups[g].point[k];
                word |= (unsigned)groups[g].point[k] >> 8 << (3 * k);
            }
            put_u16(b->qh + 2 * g, (uint16_t)word);
        }
    }
}

static void pack_iq1_m(const struct group *groups, const uint8_t *scale, float d,
                       struct ks_block_iq1_m *b)
{
    uint16_t stored = ks_f32_to_f16(d);
    for (int g = 0; g < 16; g++)
        for (int k = 0; k < 2; k++) {
            unsigned high = (unsigned)groups[g].point[k] >> 8 | (groups[g].down >> k & 1) << 3;
            b->qs[2 * g + k] = (uint8_t)groups[g].point[k];
            b->qh[g] |= (uint8_t)(high << (4 * k));
        }
    for (int word = 0; word < 4; word++) {
        unsigned bits = (unsigned)(stored >> (4 * word) & 15) << 12;
        for (int k = 0; k < 4; k++)
            bits |= (unsigned)scale[4 * word + k] << (3 * k);
        put_u16(b->scales + 2 * word, (uint16_t)bits);
    }
}

/* Once all scales are rounded, d is asked for again. */
void ks_encode_iq1_m(const struct ks_codebook *book, const float *x, size_t cols,
                     const float *importance, uint8_t *out)
{
    struct ks_block_iq1_m *b = (struct ks_block_iq1_m *)out;
    struct group groups[GROUPS_MAX];
    uint8_t scale[GROUPS_MAX];
    for (size_t i = 0; i < cols; i += BLOCK, b++) {
        float d = fit_block(&iq1_m, book, x + i, importance ? importance + i : NULL, groups, scale);
        memset(b, 0, sizeof *b);
        if (d == 0)
            continue;
        float xq = 0, qq = 0;
        for (int g = 0; g < 16; g++)
            add_moments(&iq1_m, book, &groups[g], (float)(2 * scale[g] + 1), &xq, &qq);
        pack_iq1_m(groups, scale, (qq > 0 ? xq / qq : d) * iq1_m.stretch, b);
    }
}

/*
 * A group's scale is tried at a few places near the obvious one: each rounds the digits, replaces
 * points that are no members by near ones, and asks which scale suits the outcome best.
 */
#include "engine/quant/encode/grid_fit.h"

#include <math.h>
#include <string.h>

#include "engine/quant/encode/parts.h"

enum { POINTS_MAX = GROUP_MAX / 4, GROUPS_MAX = 16 };

/* A block on its way: magnitudes and weights. Where an octet has an odd number of negative elements
 * and the format wants it even, the least important one is below 0 here. */
struct work {
    const struct grid_format *f;
    const struct ks_codebook *book;
    float x[GRID_BLOCK];
    float weight[GRID_BLOCK];
    float root[GRID_BLOCK]; /* of the weights, by which near members are compared */
    float fit[GROUPS_MAX];  /* the groups' scales */
};

struct points {
    uint16_t number[POINTS_MAX];
    bool member[POINTS_MAX]; /* the rounded digits were one */
};

static void weigh(struct work *w, const float *x, const float *importance)
{
    float mean = w->f->spread * ks_sum_of_squares(x, GRID_BLOCK) / (float)GRID_BLOCK;
    for (int i = 0; i < GRID_BLOCK; i++) {
        float plain = w->f->plain * mean + x[i] * x[i];
        w->weight[i] = importance ? importance[i] * sqrtf(mean + x[i] * x[i]) : plain;
        w->root[i] = sqrtf(w->weight[i]);
    }
}

/* The element of an octet whose sign matters least, the first of equals. */
static int least_important(const float *x, const float *weight)
{
    int least = 0;
    for (int i = 1; i < 8; i++)
        if (weight[i] * x[i] * x[i] < weight[least] * x[least] * x[least])
            least = i;
    return least;
}

static uint8_t fold_signs(bool even, const float *x, const float *weight, float *magnitude)
{
    unsigned signs = 0, odd = 0;
    for (int i = 0; i < 8; i++) {
        bool negative = !(x[i] >= 0);
        magnitude[i] = negative ? -x[i] : x[i];
        signs |= (unsigned)negative << i;
        odd ^= negative;
    }
    if (even && odd) {
        int i = least_important(x, weight);
        magnitude[i] = -magnitude[i];
        signs ^= 1u << i;
    }
    return (uint8_t)signs;
}

static void find_point(const struct work *w, int first, float inverse, float scale, int i,
                       struct points *p)
{
    const struct ks_codebook *book = w->book;
    const float *x = w->x + first + i * (int)book->digits;
    unsigned code = 0;
    for (unsigned k = 0; k < book->digits; k++) {
        float level = nearest_level(0.5f * (inverse * x[k] - 1.0f), 0, (float)book->top);
        code |= (unsigned)level << (book->width * k);
    }
    int32_t place = book->place[code];
    p->member[i] = place >= 0;
    p->number[i] = (uint16_t)(place >= 0 ? place
                                         : ks_codebook_nearest(book, place, x, w->root + (x - w->x),
                                                               scale, 0));
}

/* With q the points' values: the best scale, sum w x q / sum w q^2, and what it explains. */
struct moments {
    float xq, qq;
};

static struct moments moments_of(const struct work *w, int first, const struct points *p)
{
    struct moments m = {0};
    int digits = (int)w->book->digits;
    for (int i = 0; i < w->f->group; i++) {
        float q = w->book->values[p->number[i / digits] * digits + i % digits];
        float weight = w->weight[first + i];
        m.xq += weight * w->x[first + i] * q;
        m.qq += weight * q * q;
    }
    return m;
}

static float refine(const struct work *w, int first, float scale, struct points *p)
{
    int n = w->f->group / (int)w->book->digits;
    bool all = w->f->refine == REFINE_ALL, any = all;
    for (int i = 0; i < n; i++)
        any |= !p->member[i];
    if (!any || !(scale > 0))
        return scale;
    all |= w->f->refine == REFINE_IF_ANY;
    float inverse = 1.0f / scale;
    for (int i = 0; i < n; i++)
        if (all || !p->member[i])
            find_point(w, first, inverse, scale, i, p);
    struct moments m = moments_of(w, first, p);
    return m.qq > 0 ? m.xq / m.qq : scale;
}

/* reach: the magnitude that gets the greatest value, give or take. Returns the scale, whose sign
 * may be wrong. */
static float fit_group(const struct work *w, int first, float reach, struct points *p)
{
    const struct grid_format *f = w->f;
    float greatest = (float)(2 * w->book->top + 1);
    float scale = reach / greatest, best = 0;
    int n = f->group / (int)w->book->digits;
    for (int t = -f->tries; t <= f->tries; t++) {
        struct points tried;
        float inverse = (greatest + (float)t * f->step) / reach, its_scale = 1.0f / inverse;
        for (int i = 0; i < n; i++)
            find_point(w, first, inverse, its_scale, i, &tried);
        struct moments m = moments_of(w, first, &tried);
        if (m.qq > 0 && m.xq * m.xq > best * m.qq) {
            scale = m.xq / m.qq;
            best = scale * m.xq;
            *p = tried;
        }
    }
    return refine(w, first, scale, p);
}

static float largest(const float *x, int n)
{
    float m = x[0];
    for (int i = 1; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

/* Each group's reach; 0 for a group that counts as zero. */
static void find_reaches(const struct work *w, float reach[GROUPS_MAX])
{
    int n = w->f->group;
    for (int g = 0; g < GRID_BLOCK / n; g++) {
        reach[g] = largest(w->x + g * n, n);
        if (reach[g] < w->f->zero)
            reach[g] = 0;
    }
    if (!w->f->searched)
        return;
    for (int g = 0; g < GRID_BLOCK / n; g += LANES) {
        lanes x[GROUP_MAX], weight[GROUP_MAX];
        struct linear_fit fit;
        int levels = (int)w->book->top + 1;
        gather_groups(w->x + g * n, n, x);
        gather_groups(w->weight + g * n, n, weight);
        ks_search_positive(levels + 1, n, x, weight, &fit);
        for (int lane = 0; lane < LANES; lane++)
            if (reach[g + lane] > 0)
                reach[g + lane] = fit.scale[lane] * (float)levels;
    }
}

static void level_scales(const struct work *w, struct grid_fit *fit)
{
    int groups = GRID_BLOCK / w->f->group;
    float top = 0;
    for (int g = 0; g < groups; g++)
        top = w->fit[g] > top ? w->fit[g] : top;
    if (top == 0) {
        memset(fit, 0, sizeof *fit);
        return;
    }
    float d = top / 31.0f, inverse = 1.0f / d;
    for (int g = 0; g < groups; g++)
        fit->scale[g] = (uint8_t)nearest_level(0.5f * (inverse * w->fit[g] - 1.0f), 0, 15);
    fit->d = d * w->f->stretch;
}

static void store_group(struct work *w, int g, float scale, const struct points *p,
                        struct grid_fit *fit)
{
    int octets = w->f->group / 8, points = w->f->group / (int)w->book->digits;
    w->fit[g] = fabsf(scale);
    for (int i = 0; i < octets && scale < 0; i++)
        fit->signs[g * octets + i] = (uint8_t)~fit->signs[g * octets + i];
    memcpy(fit->point + g * points, p->number, (size_t)points * sizeof *p->number);
}

void ks_fit_grid(const struct grid_format *f, const struct ks_codebook *book, const float *x,
                 const float *importance, struct grid_fit *fit)
{
    struct work w = {.f = f, .book = book};
    float reach[GROUPS_MAX];
    weigh(&w, x, importance);
    for (int i = 0; i < GRID_OCTETS; i++)
        fit->signs[i] = fold_signs(f->even, x + 8 * i, w.weight + 8 * i, w.x + 8 * i);
    find_reaches(&w, reach);
    for (int g = 0; g < GRID_BLOCK / f->group; g++) {
        struct points p = {0};
        float scale = 0;
        fit->zero[g] = !(reach[g] > 0);
        if (!fit->zero[g]) {
            for (int i = 0; i < POINTS_MAX; i++)
                p.member[i] = f->refine != REFINE_IF_ANY;
            scale = fit_group(&w, g * f->group, reach[g], &p);
        } else {
            memset(fit->signs + g * f->group / 8, 0, (size_t)f->group / 8);
        }
        store_group(&w, g, scale, &p, fit);
    }
    level_scales(&w, fit);
}

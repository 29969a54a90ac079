#include "engine/quant/encode/search.h"

/* ------------------------------------------------------------------ scale and offset */

/* What one candidate inverse scale leads to. */
struct affine_try {
    lanes scale, offset_down; /* x ~ scale * level + offset_down */
    lane_mask valid;
};

static lanes affine_levels(const struct affine_search *how, lanes inverse, lanes low, lanes x)
{
    return nearest_levels(inverse * (x - low), 0.0f, (float)how->top);
}

/* The weighted regression line of x on the levels; where it would start above 0, the line through
 * the origin, since the formats store only offsets downwards. */
static struct affine_try affine_regress(int n, const lanes *x, const lanes *w, const lanes *level,
                                        lanes sum_w, lanes sum_x)
{
    lanes sum_l = {0}, sum_ll = {0}, sum_lx = {0};
    for (int i = 0; i < n; i++) {
        lanes wl = w[i] * level[i];
        sum_l += wl;
        sum_ll += wl * level[i];
        sum_lx += wl * x[i];
    }
    lanes determinant = sum_w * sum_ll - sum_l * sum_l;
    lanes scale = (sum_w * sum_lx - sum_x * sum_l) / determinant;
    lanes down = (sum_ll * sum_x - sum_l * sum_lx) / determinant;
    lane_mask above = down > 0.0f;
    return (struct affine_try){
        .scale = lanes_select(above, sum_lx / sum_ll, scale),
        .offset_down = lanes_select(above, lanes_of(0.0f), down),
        .valid = determinant > 0.0f,
    };
}

static lanes affine_error(bool absolute, int n, const lanes *x, const lanes *w, const lanes *level,
                          lanes scale, lanes down)
{
    lanes error = {0};
    for (int i = 0; i < n; i++) {
        lanes d = scale * level[i] + down - x[i];
        error += w[i] * (absolute ? lanes_abs(d) : d * d);
    }
    return error;
}

void ks_search_affine(const struct affine_search *how, int n, const lanes *x, const lanes *w,
                      struct affine_fit *fit)
{
    lanes low = x[0], high = x[0], sum_w = w[0], sum_x = w[0] * x[0];
    for (int i = 1; i < n; i++) {
        low = lanes_select(x[i] < low, x[i], low);
        high = lanes_select(x[i] > high, x[i], high);
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }
    low = lanes_select(low > 0.0f, lanes_of(0.0f), low);
    lane_mask flat = high <= low;
    lanes flat_offset = -low;

    /* The levels of the best candidate are remembered as what they were made from. */
    lanes best_inverse = (float)how->top / (high - low), best_low = low;
    lanes level[GROUP_MAX];
    for (int i = 0; i < n; i++)
        level[i] = affine_levels(how, best_inverse, low, x[i]);
    lanes scale = 1.0f / best_inverse;
    lanes best_error = affine_error(how->absolute, n, x, w, level, scale, low);

    for (int s = 0; s <= how->last; s++) {
        float parts = how->first + how->step * (float)s + (float)how->top;
        /* The offset found so far is the start of the range from here on. */
        lanes inverse = parts / (high - low);
        for (int i = 0; i < n; i++)
            level[i] = affine_levels(how, inverse, low, x[i]);
        struct affine_try t = affine_regress(n, x, w, level, sum_w, sum_x);
        lanes error = affine_error(how->absolute, n, x, w, level, t.scale, t.offset_down);
        lane_mask better = t.valid & (error < best_error);
        best_error = lanes_select(better, error, best_error);
        best_inverse = lanes_select(better, inverse, best_inverse);
        best_low = lanes_select(better, low, best_low);
        scale = lanes_select(better, t.scale, scale);
        low = lanes_select(better, t.offset_down, low);
    }
    fit->scale = lanes_select(flat, lanes_of(0.0f), scale);
    fit->offset = lanes_select(flat, flat_offset, -low);
    for (int i = 0; i < n; i++)
        fit->level[i] =
            lanes_select(flat, lanes_of(0.0f), affine_levels(how, best_inverse, best_low, x[i]));
}

/* ------------------------------------------------------------------ scale alone */

/* The element of the largest magnitude with its sign, the first of equals. */
static lanes extreme_element(int n, const lanes *x)
{
    lanes extreme = {0}, size = {0};
    for (int i = 0; i < n; i++) {
        lanes a = lanes_abs(x[i]);
        lane_mask larger = a > size;
        size = lanes_select(larger, a, size);
        extreme = lanes_select(larger, x[i], extreme);
    }
    return extreme;
}

/* sum w x q and sum w q^2: with the scale lx / ll the error is sum w x^2 - lx^2 / ll. */
struct moments {
    lanes lx, ll;
};

static struct moments linear_moments(int half, int n, lanes inverse, const lanes *x, const lanes *w,
                                     const lanes *wx)
{
    struct moments m = {0};
    for (int i = 0; i < n; i++) {
        lanes level = nearest_levels(inverse * x[i], (float)-half, (float)(half - 1));
        m.lx += wx[i] * level;
        m.ll += w[i] * level * level;
    }
    return m;
}

static lanes quotient_or_zero(lanes a, lanes b)
{
    return lanes_select(b != 0.0f, a / b, lanes_of(0.0f));
}

void ks_search_linear(int half, int n, const lanes *x, const lanes *w, struct linear_fit *fit)
{
    lanes extreme = extreme_element(n, x), wx[GROUP_MAX];
    for (int i = 0; i < n; i++)
        wx[i] = w[i] * x[i];
    lanes best_inverse = (float)-half / extreme;
    struct moments m = linear_moments(half, n, best_inverse, x, w, wx);
    lanes scale = quotient_or_zero(m.lx, m.ll), best = scale * m.lx;
    for (int s = -9; s <= 9; s++) {
        if (s == 0)
            continue;
        lanes inverse = -((float)half + 0.1f * (float)s) / extreme;
        m = linear_moments(half, n, inverse, x, w, wx);
        lane_mask better = (m.ll > 0.0f) & (m.lx * m.lx > best * m.ll);
        best_inverse = lanes_select(better, inverse, best_inverse);
        scale = lanes_select(better, m.lx / m.ll, scale);
        best = lanes_select(better, scale * m.lx, best);
    }
    lane_mask zero = lanes_abs(extreme) < GROUP_ZERO;
    fit->scale = lanes_select(zero, lanes_of(0.0f), scale);
    for (int i = 0; i < n; i++) {
        lanes level = nearest_levels(best_inverse * x[i], (float)-half, (float)(half - 1));
        fit->level[i] = lanes_select(zero, lanes_of((float)-half), level);
    }
}

/* A level as the reference keeps it among positive ones: in a byte. */
static lanes as_byte(lanes level)
{
    return lanes_select(level < 0.0f, level + 256.0f, level);
}

/*
 * One round over the elements: each level in turn is set to the one that the scale of all the
 * others asks for, where that explains more. Returns whether any lane changed.
 */
static bool step_levels(bool bytes, float bottom, float top, int n, const lanes *x, const lanes *w,
                        lanes *level, struct moments *m)
{
    lane_mask changed = {0};
    for (int i = 0; i < n; i++) {
        lanes wx = w[i] * x[i];
        struct moments rest = {m->lx - wx * level[i], m->ll - w[i] * level[i] * level[i]};
        lanes asked = nearest_levels(x[i] * rest.ll / rest.lx, bottom, top);
        struct moments now = {rest.lx + wx * asked, rest.ll + w[i] * asked * asked};
        lane_mask better = (rest.lx > 0.0f) & (now.ll > 0.0f) & (asked != level[i]) &
                           (now.lx * now.lx * m->ll > m->lx * m->lx * now.ll);
        if (bytes)
            better &= rest.ll > 0.0f;
        level[i] = lanes_select(better, bytes ? as_byte(asked) : asked, level[i]);
        m->lx = lanes_select(better, now.lx, m->lx);
        m->ll = lanes_select(better, now.ll, m->ll);
        changed |= better;
    }
    return lanes_any(changed);
}

enum { ROUNDS = 5 };

void ks_search_linear_stepwise(int half, int n, const lanes *x, struct linear_fit *fit)
{
    float bottom = (float)-half, top = (float)(half - 1);
    lanes extreme = extreme_element(n, x), inverse = bottom / extreme, w[GROUP_MAX];
    struct moments m = {0};
    for (int i = 0; i < n; i++) {
        w[i] = x[i] * x[i];
        lanes level = nearest_levels(inverse * x[i], bottom, top);
        fit->level[i] = level;
        m.lx += w[i] * x[i] * level;
        m.ll += w[i] * level * level;
    }
    for (int round = 0; round < ROUNDS; round++)
        if (!step_levels(false, bottom, top, n, x, w, fit->level, &m))
            break;
    lane_mask zero = lanes_abs(extreme) < GROUP_ZERO;
    fit->scale = lanes_select(zero | (m.ll <= 0.0f), lanes_of(0.0f), m.lx / m.ll);
    for (int i = 0; i < n; i++)
        fit->level[i] = lanes_select(zero, lanes_of(bottom), fit->level[i]);
}

enum { BYTE_BOTTOM = -256 };

static lanes positive_levels(float top, lanes inverse, lanes x)
{
    return nearest_levels(inverse * x, BYTE_BOTTOM, top);
}

static lanes positive_error(bool bytes, float top, int n, lanes inverse, const lanes *x,
                            const lanes *w)
{
    lanes scale = 1.0f / inverse, error = {0};
    for (int i = 0; i < n; i++) {
        lanes level = positive_levels(top, inverse, x[i]);
        lanes d = x[i] - scale * (bytes ? as_byte(level) : level);
        error += w[i] * d * d;
    }
    return error;
}

static lanes positive_inverse(int top, int n, const lanes *x, const lanes *w, lanes largest)
{
    lanes inverse = (float)top / largest;
    lanes best_error = positive_error(true, (float)top, n, inverse, x, w);
    for (int s = -4; s <= 4; s++) {
        if (s == 0)
            continue;
        lanes candidate = (0.1f * (float)s + (float)top) / largest;
        lanes error = positive_error(false, (float)top, n, candidate, x, w);
        lane_mask better = error < best_error;
        best_error = lanes_select(better, error, best_error);
        inverse = lanes_select(better, candidate, inverse);
    }
    return inverse;
}

void ks_search_positive(int top, int n, const lanes *x, const lanes *w, struct linear_fit *fit)
{
    lanes largest = {0};
    for (int i = 0; i < n; i++)
        largest = lanes_select(x[i] > largest, x[i], largest);
    lanes inverse = positive_inverse(top, n, x, w, largest);
    struct moments m = {0};
    for (int i = 0; i < n; i++) {
        lanes level = positive_levels((float)top, inverse, x[i]);
        fit->level[i] = as_byte(level);
        m.lx += w[i] * x[i] * level;
        m.ll += w[i] * level * level;
    }
    for (int round = 0; round < ROUNDS; round++)
        if (!step_levels(true, BYTE_BOTTOM, (float)top, n, x, w, fit->level, &m))
            break;
    lane_mask zero = largest < GROUP_ZERO;
    fit->scale = lanes_select(zero | (m.ll <= 0.0f), lanes_of(0.0f), m.lx / m.ll);
    for (int i = 0; i < n; i++)
        fit->level[i] = lanes_select(zero, lanes_of(0.0f), fit->level[i]);
}

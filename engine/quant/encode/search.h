/*
 * The searches for scales that the block formats share. A group of n weights x gets integer levels
 * q and one scale (or a scale and an offset), chosen so that the weighted error
 * sum w (decoded - x)^2 is small: rounding with the obvious scale is improved by trying a few
 * others near it.
 *
 * Four independent groups run side by side, one a lane. In a lane every sum is taken in the order
 * of the elements, one rounding an operation, since a tie decided otherwise is another byte in the
 * file. What a lane finds does not depend on its neighbours; unused lanes may hold zeros.
 *
 * Private to engine/quant. Pure; any thread. Any finite input: nothing here converts an unbounded
 * float to an integer.
 */
#ifndef KS_ENGINE_QUANT_ENCODE_SEARCH_H
#define KS_ENGINE_QUANT_ENCODE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    LANES = 4,
    GROUP_MAX = 32 /* elements of the largest group */
};

/* Element i of four groups. Comparisons give a lane_mask of 0 and -1. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_mask __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Below this magnitude a whole group counts as zero. */
#define GROUP_ZERO 1e-15f

static inline lanes lanes_of(float v)
{
    return (lanes){v, v, v, v};
}

static inline lanes lanes_select(lane_mask mask, lanes yes, lanes no)
{
    lane_mask a, b, picked;
    memcpy(&a, &yes, sizeof a);
    memcpy(&b, &no, sizeof b);
    picked = (a & mask) | (b & ~mask);
    lanes out;
    memcpy(&out, &picked, sizeof out);
    return out;
}

static inline lanes lanes_abs(lanes v)
{
    return lanes_select(v < 0.0f, -v, v);
}

static inline bool lanes_any(lane_mask m)
{
    return (m[0] | m[1] | m[2] | m[3]) != 0;
}

/*
 * The integer nearest to v, ties to even, of a value held to bottom..top first (which changes
 * nothing but for what lies outside). Adding 1.5 * 2^23 leaves no bits for a fraction. NaN, the
 * product of an infinite inverse scale and 0, becomes bottom.
 */
static inline float nearest_level(float v, float bottom, float top)
{
    v = v > bottom ? v : bottom;
    v = v < top ? v : top;
    return (v + 12582912.0f) - 12582912.0f;
}

static inline lanes nearest_levels(lanes v, float bottom, float top)
{
    v = lanes_select(v > bottom, v, lanes_of(bottom));
    v = lanes_select(v < top, v, lanes_of(top));
    return (v + 12582912.0f) - 12582912.0f;
}

/* How to search x ~ scale * level - offset with levels 0..top and offset >= 0. */
struct affine_search {
    int top;
    float first, step; /* the range is divided into top + first + i * step parts, ... */
    int last;          /* ... for i = 0..last */
    bool absolute;     /* error |d| in place of d^2 */
};

struct affine_fit {
    lanes scale, offset;
    lanes level[GROUP_MAX]; /* whole numbers */
};

/* x, w: (n) elements and their weights >= 0. */
void ks_search_affine(const struct affine_search *how, int n, const lanes *x, const lanes *w,
                      struct affine_fit *fit);

struct linear_fit {
    lanes scale;
    lanes level[GROUP_MAX]; /* whole numbers, -half..half-1; -half throughout a zero group */
};

/*
 * x ~ scale * level: tries the inverse scales -(half + i / 10) / extreme for i = -9..9, so that the
 * extreme element falls at or near the level -half, and keeps the one whose best scale explains
 * most.
 */
void ks_search_linear(int half, int n, const lanes *x, const lanes *w, struct linear_fit *fit);

/* The same with weights x^2 and another idea: from the obvious levels on, moves one level at a time
 * to what the others' scale asks for, while that gains, at most five rounds. */
void ks_search_linear_stepwise(int half, int n, const lanes *x, struct linear_fit *fit);

/*
 * x >= 0 with levels 0..top, both ideas one after the other: for scales of scales. Few elements may
 * be below 0, as IQ2_XXS has them; their levels are counted as the reference's bytes do, modulo
 * 256, which throws the search off in ways that its files show. Only the scale is of use then.
 */
void ks_search_positive(int top, int n, const lanes *x, const lanes *w, struct linear_fit *fit);

#endif

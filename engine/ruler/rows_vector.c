/*
 * rows_scalar.c with vectors. Compiled once for each vector path, with that path's flags and
 * KS_ROWS as the name of its table.
 */
#include <math.h>

#include "engine/kernels/vec/vec.h"
#include "engine/ruler/rows.h"

/* One bit for each of 16 floats: above (or a NaN), greater, greater or equal. */
#if KS_VF == 16

static inline unsigned above16(const float *p, float most)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(p), _mm512_set1_ps(most), _CMP_NLE_UQ);
}

static inline unsigned greater16(const float *p, float least)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(p), _mm512_set1_ps(least), _CMP_GT_OQ);
}

static inline unsigned not_less16(const float *p, float least)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(p), _mm512_set1_ps(least), _CMP_GE_OQ);
}

#else

static inline unsigned join8(__m256 low, __m256 high)
{
    return (unsigned)_mm256_movemask_ps(low) | (unsigned)_mm256_movemask_ps(high) << 8;
}

static inline unsigned above16(const float *p, float most)
{
    __m256 m = _mm256_set1_ps(most);
    return join8(_mm256_cmp_ps(_mm256_loadu_ps(p), m, _CMP_NLE_UQ),
                 _mm256_cmp_ps(_mm256_loadu_ps(p + 8), m, _CMP_NLE_UQ));
}

static inline unsigned greater16(const float *p, float least)
{
    __m256 m = _mm256_set1_ps(least);
    return join8(_mm256_cmp_ps(_mm256_loadu_ps(p), m, _CMP_GT_OQ),
                 _mm256_cmp_ps(_mm256_loadu_ps(p + 8), m, _CMP_GT_OQ));
}

static inline unsigned not_less16(const float *p, float least)
{
    __m256 m = _mm256_set1_ps(least);
    return join8(_mm256_cmp_ps(_mm256_loadu_ps(p), m, _CMP_GE_OQ),
                 _mm256_cmp_ps(_mm256_loadu_ps(p + 8), m, _CMP_GE_OQ));
}

#endif

static size_t find_above(const float *row, size_t from, size_t n, float most)
{
    size_t i = from;
    for (; i + 64 <= n; i += 64) {
        uint64_t low = above16(row + i, most) | (uint64_t)above16(row + i + 16, most) << 16;
        uint64_t high = above16(row + i + 32, most) | (uint64_t)above16(row + i + 48, most) << 16;
        uint64_t hits = low | high << 32;
        if (hits)
            return i + (size_t)__builtin_ctzll(hits);
    }
    while (i < n && row[i] <= most)
        i++;
    return i;
}

static size_t count_above(const float *row, size_t n, float least, bool or_equal)
{
    size_t i = 0, count = 0;
    for (; i + 16 <= n; i += 16) {
        unsigned hits = or_equal ? not_less16(row + i, least) : greater16(row + i, least);
        count += (size_t)__builtin_popcount(hits);
    }
    for (; i < n; i++)
        count += or_equal ? row[i] >= least : row[i] > least;
    return count;
}

struct reference_lanes {
    ks_f64x16 exp, exp_x;
};

static inline void add_reference(struct reference_lanes *s, ks_f64x16 x)
{
    ks_f64x16 p = ks_f64x16_exp(x);
    s->exp = ks_f64x16_add(s->exp, p);
    s->exp_x =
        ks_f64x16_where_greater(p, ks_f64x16_set(0), ks_f64x16_fma(p, x, s->exp_x), s->exp_x);
}

static struct ks_reference_sums reference(const float *row, size_t n, float max)
{
    struct reference_lanes s = {ks_f64x16_set(0), ks_f64x16_set(0)};
    ks_f64x16 m = ks_f64x16_set((double)max);
    size_t i = 0;
    for (; i + KS_LANES <= n; i += KS_LANES)
        add_reference(&s, ks_f64x16_sub(ks_f64x16_widen(row + i), m));
    if (i < n) /* e^-inf adds 0 and is skipped */
        add_reference(&s, ks_f64x16_sub(ks_f64x16_widen_part(row + i, n - i, -INFINITY), m));
    return (struct ks_reference_sums){ks_f64x16_sum(s.exp), ks_f64x16_sum(s.exp_x)};
}

struct arm_lanes {
    ks_f64x16 exp, forward, reverse;
};

static inline void add_arm(struct arm_lanes *s, ks_f64x16 x, ks_f64x16 y)
{
    ks_f64x16 zero = ks_f64x16_set(0), p = ks_f64x16_exp(x), q = ks_f64x16_exp(y);
    ks_f64x16 d = ks_f64x16_sub(x, y);
    s->exp = ks_f64x16_add(s->exp, q);
    s->forward = ks_f64x16_where_greater(p, zero, ks_f64x16_fma(p, d, s->forward), s->forward);
    s->reverse = ks_f64x16_where_greater(q, zero, ks_f64x16_fma(q, d, s->reverse), s->reverse);
}

static struct ks_arm_sums arm(const float *reference_row, float max_r, const float *arm_row,
                              float max_a, size_t n)
{
    struct arm_lanes s = {ks_f64x16_set(0), ks_f64x16_set(0), ks_f64x16_set(0)};
    ks_f64x16 m_r = ks_f64x16_set((double)max_r), m_a = ks_f64x16_set((double)max_a);
    size_t i = 0;
    for (; i + KS_LANES <= n; i += KS_LANES)
        add_arm(&s, ks_f64x16_sub(ks_f64x16_widen(reference_row + i), m_r),
                ks_f64x16_sub(ks_f64x16_widen(arm_row + i), m_a));
    if (i < n)
        add_arm(&s, ks_f64x16_sub(ks_f64x16_widen_part(reference_row + i, n - i, -INFINITY), m_r),
                ks_f64x16_sub(ks_f64x16_widen_part(arm_row + i, n - i, -INFINITY), m_a));
    return (struct ks_arm_sums){ks_f64x16_sum(s.exp), ks_f64x16_sum(s.forward),
                                ks_f64x16_sum(s.reverse)};
}

const struct ks_rows KS_ROWS = {find_above, count_above, reference, arm};

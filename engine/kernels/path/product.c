/*
 * The product over a packed panel, two vectors of outputs wide. A block of a few rows of x keeps
 * all its chains in registers: each k loads the panel's two vectors and broadcasts one element of
 * each row. Blocks are cut evenly, so that no straggler of one row has to wait for its own chain's
 * latency.
 */
#include "engine/kernels/path/vector.h"
#include "engine/kernels/vec/vec.h"

#if KS_VF == 16
#define TOKENS           14 /* 28 chains, 2 vectors of the panel, 1 broadcast: 31 of 32 registers */
#define FOR_EACH_SIZE(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14)
#else
#define TOKENS           6 /* 12 + 2 + 1 of 16 */
#define FOR_EACH_SIZE(F) F(1) F(2) F(3) F(4) F(5) F(6)
#endif

/* Below, m rows and `vectors` vectors of outputs are constants at each call, so that every loop
 * over them unrolls and sum lives in registers. The last vector may hold fewer outputs than lanes.
 */
KS_INLINE size_t lanes_of(const struct ks_product *p, int v, int vectors)
{
    return v == vectors - 1 ? p->n - (size_t)v * KS_VF : KS_VF;
}

/* Starts the chains. y is fetched while they run, or their end would wait for it. */
KS_INLINE void begin(const struct ks_product *p, int m, int vectors, ks_vf sum[TOKENS][2])
{
    ks_vf zero = ks_vf_set(0.0f);
#pragma GCC unroll 16
    for (int i = 0; i < m; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const float *y = p->y + (size_t)i * p->ldy + v * KS_VF;
            sum[i][v] = p->resume ? ks_vf_load_part(y, lanes_of(p, v, vectors), zero) : zero;
            __builtin_prefetch(y, 1);
        }
    }
}

/* Row i goes on for i steps. */
KS_INLINE void climb(const float *x, size_t ldx, const float *b, int m, int vectors,
                     ks_vf sum[TOKENS][2])
{
#pragma GCC unroll 16
    for (int k = 0; k < m - 1; k++) {
#pragma GCC unroll 16
        for (int i = k + 1; i < m; i++) {
            ks_vf a = ks_vf_set(x[(size_t)i * ldx + (size_t)k]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[i][v] = ks_vf_fma(a, ks_vf_load(b + k * KS_PANEL + v * KS_VF), sum[i][v]);
        }
    }
}

KS_INLINE void finish(const struct ks_product *p, int m, int vectors, ks_vf sum[TOKENS][2])
{
#pragma GCC unroll 16
    for (int i = 0; i < m; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            ks_vf_store_part(p->y + (size_t)i * p->ldy + v * KS_VF, lanes_of(p, v, vectors),
                             sum[i][v]);
    }
}

KS_INLINE void block(const struct ks_product *product, int m, int vectors)
{
    const struct ks_product p = *product; /* a copy, which no store to y can change */
    ks_vf sum[TOKENS][2], w[2];
    const float *x = p.x, *b = p.b;
    size_t ldx = p.ldx, n_k = p.k;
    begin(&p, m, vectors, sum);
    for (size_t k = 0; k < n_k; k++, b += KS_PANEL) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            w[v] = ks_vf_load(b + v * KS_VF);
#pragma GCC unroll 16
        for (int i = 0; i < m; i++) {
            ks_vf a = ks_vf_set(x[(size_t)i * ldx + k]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[i][v] = ks_vf_fma(a, w[v], sum[i][v]);
        }
    }
    if (p.stairs)
        climb(x + n_k, ldx, b, m, vectors, sum);
    finish(&p, m, vectors, sum);
}

#define DEFINE_SIZE(m)                                                                             \
    static void wide_##m(const struct ks_product *p)                                               \
    {                                                                                              \
        block(p, m, 2);                                                                            \
    }                                                                                              \
    static void narrow_##m(const struct ks_product *p)                                             \
    {                                                                                              \
        block(p, m, 1);                                                                            \
    }
FOR_EACH_SIZE(DEFINE_SIZE)

#define ENTRY(m) {narrow_##m, wide_##m},

/* Rows [from, to) come into the second-level cache: the first is full of the panel. */
static void fetch(const struct ks_ahead *ahead, size_t from, size_t to)
{
    for (size_t r = from; r < to; r++)
        for (size_t i = 0; i < ahead->bytes; i += 64)
            _mm_prefetch((const char *)ahead->at + r * ahead->stride + i, _MM_HINT_T1);
}

void KS_PATH(product)(const struct ks_product *p)
{
    static void (*const sizes[][2])(const struct ks_product *) = {FOR_EACH_SIZE(ENTRY)};
    struct ks_product part = *p;
    size_t all = (p->m + TOKENS - 1) / TOKENS;
    for (size_t blocks = all, left = p->m; left > 0; blocks--) {
        size_t m = (left + blocks - 1) / blocks, done = all - blocks;
        fetch(&p->ahead, p->ahead.rows * done / all, p->ahead.rows * (done + 1) / all);
        sizes[m - 1][p->n > KS_VF](&part);
        part.x += m * p->ldx;
        part.y += m * p->ldy;
        part.k += p->stairs ? m : 0;
        left -= m;
    }
}

/*
 * What a path (scalar, AVX2, AVX-512) supplies: operations on tiles and rows, single-threaded. The
 * files cpu.c, matmul.c, rows.c and attend.c split the public operations into them. Private to the
 * kernels.
 */
#ifndef KS_ENGINE_KERNELS_OPS_H
#define KS_ENGINE_KERNELS_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/kernels/cpu.h"

/*
 * y(m, n) = x(m, k) * b(k, PANEL), each output one fma chain over k in order; only the first n of
 * the panel's columns are wanted. b is 64-byte aligned, x and y have leading dimensions in floats.
 * With resume the chains go on from what y holds, else from 0. With stairs row i takes i more
 * steps: k + i in all.
 */
struct ks_product {
    const float *x, *b;
    float *y;
    size_t ldx, ldy;
    size_t m, n, k;
    bool resume, stairs;
    /* What is read next: rows of so many bytes, fetched while this is computed; 0 rows: nothing. */
    struct ks_ahead {
        const uint8_t *at;
        size_t rows, bytes, stride;
    } ahead;
};

/* One position of the delta rule on `columns` of a state's columns; see recur.h. */
#define KS_DELTA_COLUMNS 32
struct ks_delta_step {
    float *state;       /* (dim_k, KS_DELTA_COLUMNS), 64-byte aligned */
    const float *q, *k; /* (dim_k) */
    const float *v;     /* (columns) */
    float *out;         /* (columns) */
    size_t dim_k, columns;
    float decay, beta;
};

struct ks_ops {
    size_t panel; /* outputs side by side: the width of a packed panel */

    /* As ks_decode_row. */
    void (*decode)(enum ks_type type, const void *src, float *dst, size_t n);
    /* KS_LANES columns of a panel(k, PANEL): rows(n_rows, k) transposed, 0 from n_rows on. panel
     * points to the first of them, 64-byte aligned. */
    void (*transpose)(const float *rows, size_t ld, size_t n_rows, size_t k, float *panel);
    void (*product)(const struct ks_product *p);

    void (*rmsnorm)(const float *x, size_t dim, const float *gain, float eps, float *y);
    void (*layernorm)(const float *x, size_t dim, const float *gain, const float *bias, float eps,
                      float *y);
    void (*add)(float *x, const float *y, size_t n);
    void (*scale)(float *x, size_t n, float factor);
    void (*mul)(float *x, const float *y, size_t n);
    void (*add_scaled)(float *x, const float *y, float weight, size_t n); /* x += weight * y */
    void (*add_product)(float *x, const float *a, const float *b,
                        size_t n); /* x += a * b; by fma */
    void (*silu_mul)(float *gate, const float *up, size_t n);
    void (*sigmoid_mul)(float *x, const float *gate, size_t n); /* gate may be x */
    void (*clamped_silu_mul)(float *gate, const float *up, size_t n);
    void (*gelu_mul)(float *gate, const float *up, size_t n);
    void (*gelu)(float *x, size_t n);
    void (*relu2)(float *x, size_t n);
    void (*softcap)(float *x, size_t n, float scale, float cap); /* x = cap * tanh(scale * x) */
    void (*unit)(float *x, size_t dim, float eps, float scale);  /* of ks_unit_heads, one head */
    /* One head of one row; c and s are the row's table entries (half). */
    void (*rotate)(float *x, size_t half, enum ks_rope_pairing pairing, const float *c,
                   const float *s);
    /* row(n) = softmax(scale * row), with *sink, where there is one, among what is summed */
    void (*softmax)(float *row, size_t n, float scale, const float *sink);
    void (*delta)(const struct ks_delta_step *step);

    /* Fused multiply-adds on registers alone, fmas of them a round; what they come to. */
    float (*spin)(size_t rounds);
    size_t fmas;
};

extern const struct ks_ops ks_scalar_ops, ks_avx2_ops, ks_avx512_ops;

/* One worker's memory, 64-byte aligned. */
struct ks_scratch {
    float *panel; /* (KS_BLOCK_K, panel) decoded weights, k-major */
    float *rows;  /* (KS_LANES, KS_DECODE_LD) decoded weights before they are transposed */
};

#define KS_BLOCK_K   2048 /* a panel of that depth leaves room in a second-level cache */
#define KS_DECODE_K  256  /* a whole number of every type's blocks */
#define KS_DECODE_LD (KS_DECODE_K + 16) /* rows apart, lest they fall on the same cache sets */

/* Memory that grows to the largest use and is kept. */
struct ks_growing {
    float *floats; /* 64-byte aligned, contents lost as it grows */
    size_t n;
};
/* At least n floats, or -1 with *err saying what they were for. */
int ks_growing_reserve(struct ks_growing *g, size_t n, const char *what, struct ks_error *err);

struct ks_cpu {
    struct ks_pool *pool;
    enum ks_isa isa;
    const struct ks_ops *ops;
    struct ks_scratch *workers; /* (threads) */
    struct ks_growing attend, spaced, rounded;
};

#endif

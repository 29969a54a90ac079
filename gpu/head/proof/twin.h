/*
 * The definition of what the shaders compute, in scalar C. Private to gpu/ and its tests.
 *
 * Decoding is bit for bit that of the shaders. The products add in the shaders' order, without
 * contraction; a device may contract a product and the sum behind it, so they agree by tolerance.
 *
 * Pure functions; any thread.
 */
#ifndef KS_GPU_HEAD_TWIN_H
#define KS_GPU_HEAD_TWIN_H

#include "gpu/gpu.h"

/* Any NaN for those that are none. */
float ks_gpu_twin_half(uint16_t half);

/* Elements 16 unit .. 16 unit + 15 of a row: the weight is the returned scale times q[i], plus
 * *minimum, which is 0 for layouts without. */
float ks_gpu_twin_stored(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                         uint64_t cols, uint64_t row, uint64_t unit, float q[16], float *minimum);
/* The same as grains.comp takes it apart, to the bit: q are integers, or halves where the layout
 * has floats; cols is a multiple of 32. gpu/head/proof/matrix_twin.c. */
float ks_gpu_twin_grains(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                         uint64_t cols, uint64_t row, uint64_t unit, float q[16], float *minimum);
/* The same with minima added: the weight is the returned scale times q[i]. */
float ks_gpu_twin_unit(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                       uint64_t cols, uint64_t row, uint64_t unit, float q[16]);
/* out(cols): a decoded row. */
void ks_gpu_twin_row(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                     uint64_t cols, uint64_t row, float *out);
/* out(cols): |scale q| + |minimum|, by which errors are measured where the two are multiplied
 * apart. */
void ks_gpu_twin_sizes(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                       uint64_t cols, uint64_t row, float *out);
/* One output of few.comp and many.comp. */
float ks_gpu_twin_few(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                      uint64_t cols, uint64_t row, const float *x);
float ks_gpu_twin_many(const float *weights, uint64_t cols, const float *x);

/*
 * A row of x as split.comp leaves it, and one output of matrix.comp, gpu/head/proof/matrix_twin.c.
 * How a device adds within a block is its own business, so the twin agrees by 2^-20 of sum |x w|,
 * for layouts with minima of sum |x| (|scale q| + |minimum|).
 */
struct ks_gpu_twin_halves {
    uint16_t *high, *low; /* (cols) */
    float *sums;          /* (cols / block), of blocks of the scaled x */
    float back;           /* what undoes the power of two; NaN for a row that is not finite */
};
/* cols: a multiple of block. Fills the caller's arrays. */
void ks_gpu_twin_split(const float *x, uint64_t cols, uint32_t block,
                       struct ks_gpu_twin_halves *out);
float ks_gpu_twin_matrix(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                         uint64_t cols, uint64_t row, const struct ks_gpu_twin_halves *x);

#endif

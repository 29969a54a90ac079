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

/* Elements 16 unit .. 16 unit + 15 of a row: the weight is the returned scale times q[i]. */
float ks_gpu_twin_unit(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                       uint64_t cols, uint64_t row, uint64_t unit, float q[16]);
/* out(cols): a decoded row. */
void ks_gpu_twin_row(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                     uint64_t cols, uint64_t row, float *out);
/* One output of few.comp and many.comp. lanes: a power of two that divides cols / 16, up to 16. */
float ks_gpu_twin_few(enum ks_gpu_layout layout, const void *const parts[KS_GPU_MAX_PARTS],
                      uint64_t cols, uint64_t row, uint32_t lanes, const float *x);
float ks_gpu_twin_many(const float *weights, uint64_t cols, const float *x);

#endif

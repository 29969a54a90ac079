/*
 * The definition of what the ruler's shaders compute, in scalar C. Private to gpu/ and its tests.
 *
 * Without contraction it gives the shaders' bits, with one exception: the shift, which divides, is
 * the device's and is given. (Where logits or differences are denormal, a device may read 0.)
 *
 * Pure functions; any thread.
 */
#ifndef KS_GPU_RULER_TWIN_H
#define KS_GPU_RULER_TWIN_H

#include "gpu/gpu.h"

/* row(n); target < n; 1 <= top <= KS_GPU_MAX_TOP. */
struct ks_gpu_peaks ks_gpu_ruler_twin_peaks(const float *row, size_t n, uint32_t target,
                                            uint32_t top);
/* The peaks are given. */
struct ks_gpu_reference_row ks_gpu_ruler_twin_reference(const float *row, size_t n,
                                                        const struct ks_gpu_peaks *peaks);
/* base: the reference's; peaks: the arm's, whose flags are joined. */
struct ks_gpu_arm_row ks_gpu_ruler_twin_arm(const float *reference, float base, const float *arm,
                                            size_t n, float shift,
                                            const struct ks_gpu_peaks *peaks);

#endif

/*
 * Weights out of a random generator for the self-test and for tests: any bits where any may be,
 * scales of common sizes. Private to gpu/.
 */
#ifndef KS_GPU_HEAD_SAMPLE_H
#define KS_GPU_HEAD_SAMPLE_H

#include "gpu/gpu.h"

/* parts[i]: blocks * part_bytes[i] bytes. *seed goes on (ks_random_next). */
void ks_gpu_sample_fill(enum ks_gpu_layout layout, size_t blocks, uint64_t *seed,
                        uint8_t *const parts[KS_GPU_MAX_PARTS]);

#endif

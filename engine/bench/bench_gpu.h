/*
 * What the GPU's benchmarks share. Private to engine/bench.
 */
#ifndef KS_ENGINE_BENCH_BENCH_GPU_H
#define KS_ENGINE_BENCH_BENCH_GPU_H

#include "engine/bench/bench.h"
#include "engine/quant/type.h"
#include "gpu/gpu.h"

struct bench_gpu {
    struct bench *bench;
    struct ks_gpu *gpu;
    struct ks_gpu_limits limits;
};

/* *seconds of a call: the median of 20 after a warm-up, since an idle device lowers its clock. */
int ks_bench_gpu_time(int (*run)(void *ctx, struct ks_error *err), void *ctx, double *seconds,
                      struct ks_error *err);

/* A window of a run, by every path of many positions: two heads of that shape and the ruler's sums
 * over what they make. m tells the weight's shape and type. */
int ks_bench_gpu_window(struct bench_gpu *d, const struct ks_matrix *m,
                        struct ks_gpu_weight *weight, struct ks_error *err);

#endif

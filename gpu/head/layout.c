#include <assert.h>

#include "gpu/head/head.h"

static const struct ks_gpu_layout_info layouts[KS_GPU_LAYOUTS] = {
    [KS_GPU_F32] = {"f32", 16, {64}},
    [KS_GPU_F16] = {"f16", 16, {32}},
    [KS_GPU_BF16] = {"bf16", 16, {32}},
    [KS_GPU_I8] = {"i8", 32, {32, 2}},
    [KS_GPU_I4] = {"i4", 32, {16, 2}},
    [KS_GPU_U4] = {"u4", 32, {16, 4}},
    [KS_GPU_I5] = {"i5", 32, {16, 2, 4}},
    [KS_GPU_U5] = {"u5", 32, {16, 4, 4}},
    [KS_GPU_LEVELS4] = {"levels4", 32, {16, 2}},
    [KS_GPU_FP4] = {"fp4", 32, {16, 1}},
    [KS_GPU_K2] = {"k2", 256, {84}},
    [KS_GPU_K3] = {"k3", 256, {108, 2}},
    [KS_GPU_K4] = {"k4", 256, {144}},
    [KS_GPU_K5] = {"k5", 256, {176}},
    [KS_GPU_K6] = {"k6", 256, {208, 2}},
    [KS_GPU_LEVELS4_K] = {"levels4_k", 256, {136}},
};

const struct ks_gpu_layout_info *ks_gpu_layout_info(enum ks_gpu_layout layout)
{
    assert(layout < KS_GPU_LAYOUTS);
    return &layouts[layout];
}

struct ks_gpu_grains ks_gpu_grains(enum ks_gpu_layout layout)
{
    switch (layout) {
    case KS_GPU_F32:
        return (struct ks_gpu_grains){0};
    case KS_GPU_F16:
    case KS_GPU_BF16:
        return (struct ks_gpu_grains){32, false, 2};
    case KS_GPU_U4:
    case KS_GPU_U5:
    case KS_GPU_K4:
    case KS_GPU_K5:
        return (struct ks_gpu_grains){32, true, 1};
    case KS_GPU_K2:
        return (struct ks_gpu_grains){16, true, 1};
    case KS_GPU_K3:
    case KS_GPU_K6:
        return (struct ks_gpu_grains){16, false, 1};
    default:
        return (struct ks_gpu_grains){32, false, 1};
    }
}

const char *ks_gpu_path_name(enum ks_gpu_path path)
{
    static const char *const names[KS_GPU_PATHS] = {
        [KS_GPU_FEW] = "few rows",
        [KS_GPU_MANY] = "many rows",
        [KS_GPU_MATRIX] = "matrix cores",
    };
    assert(path < KS_GPU_PATHS);
    return names[path];
}

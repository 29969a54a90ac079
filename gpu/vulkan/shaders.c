/*
 * The SPIR-V that glslc made of gpu/shaders.
 */
#include <assert.h>

#include "engine/base/bytes.h"
#include "gpu/vulkan/device.h"

static const uint32_t few_f32[] =
#include "gpu/shaders/few_f32.inc"
    ;
static const uint32_t packed_f32[] =
#include "gpu/shaders/packed_f32.inc"
    ;
static const uint32_t decode_f32[] =
#include "gpu/shaders/decode_f32.inc"
    ;
static const uint32_t few_f16[] =
#include "gpu/shaders/few_f16.inc"
    ;
static const uint32_t packed_f16[] =
#include "gpu/shaders/packed_f16.inc"
    ;
static const uint32_t decode_f16[] =
#include "gpu/shaders/decode_f16.inc"
    ;
static const uint32_t few_bf16[] =
#include "gpu/shaders/few_bf16.inc"
    ;
static const uint32_t packed_bf16[] =
#include "gpu/shaders/packed_bf16.inc"
    ;
static const uint32_t decode_bf16[] =
#include "gpu/shaders/decode_bf16.inc"
    ;
static const uint32_t few_i8[] =
#include "gpu/shaders/few_i8.inc"
    ;
static const uint32_t packed_i8[] =
#include "gpu/shaders/packed_i8.inc"
    ;
static const uint32_t decode_i8[] =
#include "gpu/shaders/decode_i8.inc"
    ;
static const uint32_t few_i4[] =
#include "gpu/shaders/few_i4.inc"
    ;
static const uint32_t packed_i4[] =
#include "gpu/shaders/packed_i4.inc"
    ;
static const uint32_t decode_i4[] =
#include "gpu/shaders/decode_i4.inc"
    ;
static const uint32_t few_u4[] =
#include "gpu/shaders/few_u4.inc"
    ;
static const uint32_t packed_u4[] =
#include "gpu/shaders/packed_u4.inc"
    ;
static const uint32_t decode_u4[] =
#include "gpu/shaders/decode_u4.inc"
    ;
static const uint32_t few_i5[] =
#include "gpu/shaders/few_i5.inc"
    ;
static const uint32_t packed_i5[] =
#include "gpu/shaders/packed_i5.inc"
    ;
static const uint32_t decode_i5[] =
#include "gpu/shaders/decode_i5.inc"
    ;
static const uint32_t few_u5[] =
#include "gpu/shaders/few_u5.inc"
    ;
static const uint32_t packed_u5[] =
#include "gpu/shaders/packed_u5.inc"
    ;
static const uint32_t decode_u5[] =
#include "gpu/shaders/decode_u5.inc"
    ;
static const uint32_t few_levels4[] =
#include "gpu/shaders/few_levels4.inc"
    ;
static const uint32_t packed_levels4[] =
#include "gpu/shaders/packed_levels4.inc"
    ;
static const uint32_t decode_levels4[] =
#include "gpu/shaders/decode_levels4.inc"
    ;
static const uint32_t few_fp4[] =
#include "gpu/shaders/few_fp4.inc"
    ;
static const uint32_t packed_fp4[] =
#include "gpu/shaders/packed_fp4.inc"
    ;
static const uint32_t decode_fp4[] =
#include "gpu/shaders/decode_fp4.inc"
    ;
static const uint32_t few_k2[] =
#include "gpu/shaders/few_k2.inc"
    ;
static const uint32_t packed_k2[] =
#include "gpu/shaders/packed_k2.inc"
    ;
static const uint32_t decode_k2[] =
#include "gpu/shaders/decode_k2.inc"
    ;
static const uint32_t few_k3[] =
#include "gpu/shaders/few_k3.inc"
    ;
static const uint32_t packed_k3[] =
#include "gpu/shaders/packed_k3.inc"
    ;
static const uint32_t decode_k3[] =
#include "gpu/shaders/decode_k3.inc"
    ;
static const uint32_t few_k4[] =
#include "gpu/shaders/few_k4.inc"
    ;
static const uint32_t packed_k4[] =
#include "gpu/shaders/packed_k4.inc"
    ;
static const uint32_t decode_k4[] =
#include "gpu/shaders/decode_k4.inc"
    ;
static const uint32_t few_k5[] =
#include "gpu/shaders/few_k5.inc"
    ;
static const uint32_t packed_k5[] =
#include "gpu/shaders/packed_k5.inc"
    ;
static const uint32_t decode_k5[] =
#include "gpu/shaders/decode_k5.inc"
    ;
static const uint32_t few_k6[] =
#include "gpu/shaders/few_k6.inc"
    ;
static const uint32_t packed_k6[] =
#include "gpu/shaders/packed_k6.inc"
    ;
static const uint32_t decode_k6[] =
#include "gpu/shaders/decode_k6.inc"
    ;
static const uint32_t few_levels4_k[] =
#include "gpu/shaders/few_levels4_k.inc"
    ;
static const uint32_t packed_levels4_k[] =
#include "gpu/shaders/packed_levels4_k.inc"
    ;
static const uint32_t decode_levels4_k[] =
#include "gpu/shaders/decode_levels4_k.inc"
    ;
static const uint32_t grains_f16[] =
#include "gpu/shaders/grains_f16.inc"
    ;
static const uint32_t grains_bf16[] =
#include "gpu/shaders/grains_bf16.inc"
    ;
static const uint32_t grains_i8[] =
#include "gpu/shaders/grains_i8.inc"
    ;
static const uint32_t grains_i4[] =
#include "gpu/shaders/grains_i4.inc"
    ;
static const uint32_t grains_u4[] =
#include "gpu/shaders/grains_u4.inc"
    ;
static const uint32_t grains_i5[] =
#include "gpu/shaders/grains_i5.inc"
    ;
static const uint32_t grains_u5[] =
#include "gpu/shaders/grains_u5.inc"
    ;
static const uint32_t grains_levels4[] =
#include "gpu/shaders/grains_levels4.inc"
    ;
static const uint32_t grains_fp4[] =
#include "gpu/shaders/grains_fp4.inc"
    ;
static const uint32_t grains_k2[] =
#include "gpu/shaders/grains_k2.inc"
    ;
static const uint32_t grains_k3[] =
#include "gpu/shaders/grains_k3.inc"
    ;
static const uint32_t grains_k4[] =
#include "gpu/shaders/grains_k4.inc"
    ;
static const uint32_t grains_k5[] =
#include "gpu/shaders/grains_k5.inc"
    ;
static const uint32_t grains_k6[] =
#include "gpu/shaders/grains_k6.inc"
    ;
static const uint32_t grains_levels4_k[] =
#include "gpu/shaders/grains_levels4_k.inc"
    ;
static const uint32_t turn[] =
#include "gpu/shaders/turn.inc"
    ;
static const uint32_t aim[] =
#include "gpu/shaders/aim.inc"
    ;
static const uint32_t compare[] =
#include "gpu/shaders/compare.inc"
    ;
static const uint32_t total[] =
#include "gpu/shaders/total.inc"
    ;
static const uint32_t many[] =
#include "gpu/shaders/many.inc"
    ;
static const uint32_t halves[] =
#include "gpu/shaders/halves.inc"
    ;
static const uint32_t limit[] =
#include "gpu/shaders/limit.inc"
    ;
static const uint32_t maxima[] =
#include "gpu/shaders/maxima.inc"
    ;

static const uint32_t split[] =
#include "gpu/shaders/split.inc"
    ;
static const uint32_t lanes[] =
#include "gpu/shaders/matrix/lanes.inc"
    ;
static const uint32_t matrix[] =
#include "gpu/shaders/matrix/matrix.inc"
    ;
static const uint32_t matrix_halves[] =
#include "gpu/shaders/matrix/matrix_halves.inc"
    ;

#define CODE(words)                                                                                \
    {                                                                                              \
        words, sizeof words                                                                        \
    }
#define ALL(name)                                                                                  \
    {                                                                                              \
        CODE(few_##name), CODE(packed_##name), CODE(decode_##name), CODE(grains_##name)            \
    }

static const struct ks_vk_code of_layout[KS_GPU_LAYOUTS][KS_VK_TURN] = {
    [KS_GPU_F32] = {CODE(few_f32), CODE(packed_f32), CODE(decode_f32)},
    [KS_GPU_F16] = ALL(f16),
    [KS_GPU_BF16] = ALL(bf16),
    [KS_GPU_I8] = ALL(i8),
    [KS_GPU_I4] = ALL(i4),
    [KS_GPU_U4] = ALL(u4),
    [KS_GPU_I5] = ALL(i5),
    [KS_GPU_U5] = ALL(u5),
    [KS_GPU_LEVELS4] = ALL(levels4),
    [KS_GPU_FP4] = ALL(fp4),
    [KS_GPU_K2] = ALL(k2),
    [KS_GPU_K3] = ALL(k3),
    [KS_GPU_K4] = ALL(k4),
    [KS_GPU_K5] = ALL(k5),
    [KS_GPU_K6] = ALL(k6),
    [KS_GPU_LEVELS4_K] = ALL(levels4_k),
};
static const struct ks_vk_code alone[] = {
    CODE(turn),  CODE(many),   CODE(halves), CODE(aim),   CODE(compare), CODE(total),
    CODE(limit), CODE(maxima), CODE(split),  CODE(lanes), CODE(matrix),  CODE(matrix_halves),
};

struct ks_vk_code ks_vk_shader_code(enum ks_vk_shader shader, enum ks_gpu_layout layout)
{
    assert(shader < KS_VK_SHADERS && layout < KS_GPU_LAYOUTS);
    if (shader < KS_VK_TURN)
        return of_layout[layout][shader - KS_VK_FEW];
    return alone[shader - KS_VK_TURN];
}

struct ks_hash ks_vk_shaders_hash(void)
{
    struct ks_hash all = {0, 0};
    for (int s = 0; s < KS_VK_SHADERS; s++)
        for (int l = 0; l < (s < KS_VK_TURN ? KS_GPU_LAYOUTS : 1); l++) {
            struct ks_vk_code code = ks_vk_shader_code((enum ks_vk_shader)s, (enum ks_gpu_layout)l);
            all = ks_hash_join(all, ks_hash_bytes(code.words, code.bytes));
        }
    return all;
}

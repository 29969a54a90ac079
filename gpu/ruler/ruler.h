/*
 * The ruler from the inside. Private to gpu/ and its tests.
 */
#ifndef KS_GPU_RULER_RULER_H
#define KS_GPU_RULER_RULER_H

#include "gpu/gpu.h"
#include "gpu/vulkan/device.h"

/* As in shaders/ruler/row.glsl. */
#define KS_GPU_SLICE         1024
#define KS_GPU_CHUNK         (16 * KS_GPU_SLICE)
#define KS_GPU_GROUPS        128 /* of a chunk */
#define KS_GPU_PARTIAL_WORDS 8
#define KS_GPU_GROUP         128 /* columns */
#define KS_GPU_PICK_WORDS    12  /* before the top indices */

struct ks_gpu_ruler {
    struct ks_gpu *gpu;
    size_t positions;
    uint64_t rows;
    uint32_t top, chunks;

    const struct ks_gpu_tile *reference; /* of the last measured one */
    size_t measured;                     /* of its positions */

    struct ks_vk_buffer targets;              /* (positions) */
    struct ks_vk_buffer keys;                 /* (positions, chunks, KS_GPU_GROUPS) of two words */
    struct ks_vk_buffer partials;             /* (positions, chunks, KS_GPU_PARTIAL_WORDS) */
    struct ks_vk_buffer aims;                 /* (positions) of four words */
    struct ks_vk_buffer picks_ref, picks_arm; /* (positions, KS_GPU_PICK_WORDS + top) */
};

#endif

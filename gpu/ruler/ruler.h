/*
 * The ruler from the inside. Private to gpu/ and its tests.
 */
#ifndef KS_GPU_RULER_RULER_H
#define KS_GPU_RULER_RULER_H

#include "gpu/gpu.h"
#include "gpu/vulkan/device.h"

/* As in shaders/ruler/row.glsl. */
enum {
    KS_GPU_SLICE = 512,
    KS_GPU_SLICES = 32,
    KS_GPU_CHUNK = KS_GPU_SLICES * KS_GPU_SLICE,
    KS_GPU_SLICE_BLOCKS = 4,
    KS_GPU_CHUNKS = 32, /* of a row at most: 524,288 logits */
    KS_GPU_SUMS = 6,
    KS_GPU_ARM_SUMS = 4, /* without the reference's own */
    KS_GPU_TABLE = 801,
    KS_GPU_TARGETS_WORD = 832,
    KS_GPU_RECORDS_WORD = KS_GPU_TARGETS_WORD + KS_GPU_MAX_POSITIONS,
    KS_GPU_RECORD_WORDS = 8,
    KS_GPU_PARTIAL_WORDS = 16,
    KS_GPU_ANSWER_WORDS = 22, /* before the top columns */
};

/* In their order. */
enum ks_gpu_sum {
    KS_GPU_SUM_D,
    KS_GPU_SUM_PHI,
    KS_GPU_SUM_CROSS,
    KS_GPU_SUM_FAR,
    KS_GPU_SUM_EXP,
    KS_GPU_SUM_EXP_X,
};

/* Logits and shifts beyond which sixteenths and 1/256 are no longer exact in f32. */
#define KS_GPU_FAR_LOGIT 32768.0f
#define KS_GPU_FAR_SHIFT 8192.0f

/* A comparison on its way. */
struct ks_gpu_answers {
    struct ks_vk_buffer words; /* the host's, (positions, KS_GPU_ANSWER_WORDS + 2 * top) */
    size_t m;
    bool own;      /* with the reference's sums */
    uint64_t done; /* the timeline's value when it is */
};

struct ks_gpu_ruler {
    struct ks_gpu *gpu;
    size_t positions;
    uint64_t rows;
    uint32_t top, chunks;
    struct ks_vk_buffer notes, partials, aimed; /* as row.glsl tells, for all positions */

    struct ks_gpu_tile *reference; /* what arms are compared with */
    size_t m;                      /* of its positions */
    uint32_t *targets;             /* (positions) */
    bool fresh;                    /* no arm was yet: targets and own sums are still to do */

    struct ks_gpu_answers queue[KS_GPU_AHEAD];
    size_t oldest, waiting;
};

/* Of a position, in answers.c. */
uint64_t ks_gpu_answer_words(const struct ks_gpu_ruler *r);

/* e^(-i / 16), and 0 at the end. */
void ks_gpu_ruler_table(float table[KS_GPU_TABLE]);

/* ks_gpu_ruler_self_test, once; begins to make its pipelines, once. Neither where testing says so.
 */
int ks_gpu_ruler_prove(struct ks_gpu *gpu, struct ks_error *err);
int ks_gpu_ruler_rehearse(struct ks_gpu *gpu, struct ks_error *err);

#endif

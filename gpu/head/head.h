/*
 * Weights and tiles from the inside, for the files that make shaders work on them. Private to gpu/.
 */
#ifndef KS_GPU_HEAD_HEAD_H
#define KS_GPU_HEAD_HEAD_H

#include "gpu/gpu.h"
#include "gpu/vulkan/device.h"

/* Shaders work in tiles of that size; what they fill is rounded up to it. */
enum {
    KS_GPU_TALL = 64,  /* positions */
    KS_GPU_WIDE = 128, /* rows of the weight */
};

enum { KS_GPU_MAXIMA_BINDING = 5 }; /* of a tile's maxima, as in shaders/maxima.glsl */

/* Rows first .. first + rows - 1 of a weight; first is a multiple of KS_GPU_WIDE. */
struct ks_gpu_shard {
    uint64_t first, rows;
    struct ks_vk_buffer parts[KS_GPU_MAX_PARTS];
    /* What grains.comp and decode.comp make of it, where that is kept, and whether it is there. */
    struct ks_vk_buffer grains, scales, decoded;
    bool is_apart, is_decoded;
};

struct ks_gpu_weight {
    struct ks_gpu *gpu;
    enum ks_gpu_layout layout;
    uint64_t rows, cols, appended;
    uint64_t row_bytes[KS_GPU_MAX_PARTS];
    struct ks_gpu_shard *shards;
    size_t n_shards;
    bool asked_to_keep_apart, asked_to_keep_decoded;
};

/*
 * Logits (positions, stride) in segments of whole positions, each a buffer that can be bound as a
 * whole. Position p is position p % per_segment of segment p / per_segment. Columns from rows on
 * and positions that no product filled hold anything, NaN too.
 */
struct ks_gpu_tile {
    struct ks_gpu *gpu;
    size_t positions, per_segment; /* per_segment: a multiple of KS_GPU_TALL */
    uint64_t rows, stride;         /* stride: rows, rounded up to KS_GPU_WIDE */
    struct ks_vk_buffer *segments;
    size_t n_segments;
    uint64_t ready; /* the timeline's value once it is filled */

    /* For each segment (positions, stride / KS_GPU_WIDE) orders of the largest logits of blocks of
     * KS_GPU_WIDE columns, as shaders/maxima.glsl tells. has_maxima: of all positions that the last
     * product or write filled; a path that can leaves them, and ks_gpu_tile_find_maxima makes up
     * for the others. */
    struct ks_vk_buffer *maxima;
    bool has_maxima;
};

/* How the path of matrices takes a layout: elements of a row that share a scale, 0 where it
 * doesn't; whether they share a minimum too; bytes of an element: 1 of an integer, 2 of a half. */
struct ks_gpu_grains {
    uint32_t block;
    bool minima;
    uint32_t bytes;
};
struct ks_gpu_grains ks_gpu_grains(enum ks_gpu_layout layout);

static inline uint64_t ks_gpu_round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Fills positions first .. first + n - 1 of a tile from rows(n, rows). */
int ks_gpu_tile_write(struct ks_gpu_tile *tile, size_t first, size_t n, const float *rows,
                      struct ks_error *err);
/* Records what finds the maxima of positions 0 .. m - 1 where they are missing, between barriers.
 */
int ks_gpu_tile_find_maxima(struct ks_gpu_tile *tile, size_t m, struct ks_vk_slot **slot,
                            struct ks_error *err);

/* Computes a small product of that layout and width by that path and compares it with the CPU twin:
 * -1 with KS_UNSUPPORTED where an answer is wrong. Once each; not at all where testing says so. */
int ks_gpu_prove(struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols,
                 enum ks_gpu_path path, struct ks_error *err);

/* Finds gpu->exact_halves. */
int ks_gpu_try_halves(struct ks_gpu *gpu, struct ks_error *err);

#endif

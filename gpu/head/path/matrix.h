/*
 * The steps of the path of matrices that any device can take, given how its lanes hold matrices.
 * Private to gpu/head and its tests.
 *
 * gpu->lanes (2, 32 lanes, 8 elements): of x and of w, 16 * row + k, each number below 256 once in
 * either half. matrix/lanes.comp finds it on a device with matrix cores.
 */
#ifndef KS_GPU_HEAD_MATRIX_H
#define KS_GPU_HEAD_MATRIX_H

#include "gpu/head/product.h"

#define KS_GPU_LANES_BYTES (2 * 32 * 8 * sizeof(uint32_t))

/* Records split.comp: the positions, padded to height (a multiple of 16), into gpu->turned and
 * gpu->factors; with sums of blocks where block isn't 0. */
int ks_gpu_split(struct ks_gpu_product *p, uint32_t height, uint32_t block, struct ks_error *err);

/* Some rows of a shard, and where grains.comp leaves it taken apart. */
struct ks_gpu_piece {
    struct ks_gpu_shard *shard;
    uint64_t first, rows; /* first: in the shard; a multiple of KS_GPU_WIDE */
    uint64_t width;       /* rows, rounded up to KS_GPU_WIDE */
    struct ks_vk_buffer *grains, *scales;
};

/* The rows of a shard from first on: all of it where it is kept, else as many as the scratch
 * holds. */
struct ks_gpu_piece ks_gpu_piece_at(const struct ks_gpu_product *p, struct ks_gpu_shard *shard,
                                    uint64_t first);
/* Reserves what a piece needs and, none being larger, all that follow. */
int ks_gpu_piece_reserve(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                         struct ks_error *err);
/* Records grains.comp. */
int ks_gpu_take_apart(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                      struct ks_error *err);

#endif

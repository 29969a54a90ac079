/*
 * The steps of the path of matrices that any device can take. Private to gpu/head and its tests.
 */
#ifndef KS_GPU_HEAD_MATRIX_H
#define KS_GPU_HEAD_MATRIX_H

#include "gpu/head/product.h"

/* Records split.comp: the positions, padded to height (a multiple of 16), into gpu->turned and
 * gpu->factors; with sums of blocks where block isn't 0. */
int ks_gpu_split(struct ks_gpu_product *p, uint32_t height, uint32_t block, struct ks_error *err);

/* Some rows of a shard, and where grains.comp leaves their integers; the scales are in
 * gpu->scratch[1]. */
struct ks_gpu_piece {
    const struct ks_gpu_shard *shard;
    uint64_t first, rows; /* first: in the shard; a multiple of KS_GPU_WIDE */
    uint64_t width;       /* of the scales: rows, rounded up */
    const struct ks_vk_buffer *integers;
    uint64_t integers_first, integers_rows; /* rows of that buffer: the piece's first, and all */
};

/* The rows of a shard from first on, at most as many as the device's scratch holds. Integers of a
 * layout that stores them as such are used where they lie. */
struct ks_gpu_piece ks_gpu_piece_at(const struct ks_gpu_product *p,
                                    const struct ks_gpu_shard *shard, uint64_t first);
/* Reserves what a piece needs and, none being larger, all that follow. */
int ks_gpu_piece_reserve(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                         struct ks_error *err);
/* Records grains.comp. */
int ks_gpu_take_apart(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                      struct ks_error *err);

#endif

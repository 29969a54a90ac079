/*
 * Products by cooperative matrices: x is split into halves once, every piece of the weight is taken
 * apart into integers and scales, and then multiplied.
 */
#include "gpu/head/matrix.h"

enum { GRAINS_SIDE = 64 }; /* rows and elements of a work-group of grains.comp */

/* What they are given to do at least four times as fast as plain arithmetic, in its units. */
#define MATRIX_COST 0.25

bool ks_gpu_has_matrix(const struct ks_gpu *gpu, enum ks_gpu_layout layout)
{
    return gpu->info.matrix_cores && ks_gpu_grains(layout).block != 0;
}

struct split_where {
    uint32_t positions, height, cols, block;
};

int ks_gpu_split(struct ks_gpu_product *p, uint32_t height, uint32_t block, struct ks_error *err)
{
    uint64_t cols = p->w->cols, halves_bytes = height * cols * 2 * sizeof(uint16_t);
    uint64_t factors_bytes = height * (1 + (block ? cols / block : 0)) * sizeof(float);
    if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, halves_bytes, "activations in halves",
                             &p->gpu->turned, err) != 0 ||
        ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, factors_bytes, "factors of activations",
                             &p->gpu->factors, err) != 0)
        return -1;
    struct split_where where = {(uint32_t)p->m, height, (uint32_t)cols, block};
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_SPLIT},
        .buffers = {&p->gpu->x, &p->gpu->turned, &p->gpu->factors},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {height, 1, 1},
        .flops = KS_GPU_DECODE_COST * height * (double)cols,
    };
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

static uint64_t rows_of_piece(const struct ks_gpu_product *p)
{
    uint64_t most = p->gpu->scratch_bytes / p->w->cols / KS_GPU_WIDE * KS_GPU_WIDE;
    return most ? most : KS_GPU_WIDE;
}

struct ks_gpu_piece ks_gpu_piece_at(const struct ks_gpu_product *p,
                                    const struct ks_gpu_shard *shard, uint64_t first)
{
    bool ready = p->w->layout == KS_GPU_I8;
    uint64_t rows = ks_gpu_least(rows_of_piece(p), shard->rows - first);
    uint64_t width = ks_gpu_round_up(rows, KS_GPU_WIDE);
    return (struct ks_gpu_piece){
        .shard = shard,
        .first = first,
        .rows = rows,
        .width = width,
        .integers = ready ? &shard->parts[0] : &p->gpu->scratch[0],
        .integers_first = ready ? first : 0,
        .integers_rows = ready ? shard->rows : width,
    };
}

int ks_gpu_piece_reserve(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                         struct ks_error *err)
{
    struct ks_gpu_grains grains = ks_gpu_grains(p->w->layout);
    uint64_t blocks = p->w->cols / grains.block * (grains.minima ? 2 : 1);
    if (piece->integers == &p->gpu->scratch[0] &&
        ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, piece->width * p->w->cols,
                             "integers of the weight", &p->gpu->scratch[0], err) != 0)
        return -1;
    return ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, piece->width * blocks * sizeof(float),
                                "scales of the weight", &p->gpu->scratch[1], err);
}

struct grains_where {
    uint32_t first, rows, width;
};

int ks_gpu_take_apart(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                      struct ks_error *err)
{
    uint32_t cols = (uint32_t)p->w->cols;
    struct ks_gpu_grains grains = ks_gpu_grains(p->w->layout);
    struct grains_where where = {(uint32_t)piece->first, (uint32_t)piece->rows,
                                 (uint32_t)piece->width};
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_GRAINS,
                .layout = p->w->layout,
                .constants = {cols, grains.block, grains.minima}},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {where.width / GRAINS_SIDE, (cols + GRAINS_SIDE - 1) / GRAINS_SIDE, 1},
        .flops = KS_GPU_DECODE_COST * where.width * cols,
    };
    ks_gpu_bind_parts(&d, piece->shard);
    d.buffers[3] = piece->integers;
    d.buffers[4] = &p->gpu->scratch[1];
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

struct matrix_where {
    uint32_t x_first, height;
    uint32_t row_first, row_last;
    uint32_t scale_first, width;
    uint32_t stride, y_column;
};

/* The piece against the positions of a segment. */
static int multiply(struct ks_gpu_product *p, const struct ks_gpu_piece *piece, uint32_t height,
                    size_t segment, struct ks_error *err)
{
    struct ks_gpu_grains grains = ks_gpu_grains(p->w->layout);
    size_t x_first = segment * p->y->per_segment;
    uint64_t tall = ks_gpu_round_up(ks_gpu_least(p->m - x_first, p->y->per_segment), KS_GPU_TALL);
    struct matrix_where where = {
        .x_first = (uint32_t)x_first,
        .height = height,
        .row_last = (uint32_t)piece->integers_rows - 1,
        .width = (uint32_t)piece->width,
        .stride = (uint32_t)p->y->stride,
    };
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_MATRIX,
                .constants = {(uint32_t)p->w->cols, grains.block, grains.minima}},
        .buffers = {piece->integers, &p->gpu->scratch[1], &p->gpu->turned, &p->gpu->factors,
                    &p->y->segments[segment], &p->y->maxima[segment]},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {(uint32_t)tall / KS_GPU_TALL, 1, 1},
    };
    double block_flops = MATRIX_COST * 2 * KS_GPU_WIDE * (double)tall * (double)p->w->cols;
    uint64_t blocks = piece->width / KS_GPU_WIDE;
    uint64_t step =
        ks_gpu_least((uint64_t)(p->gpu->flops_per_submit / block_flops), KS_GPU_MOST_GROUPS);
    step = step ? step : 1;
    for (uint64_t b = 0; b < blocks; b += step) {
        d.groups[1] = (uint32_t)ks_gpu_least(step, blocks - b);
        where.scale_first = (uint32_t)(b * KS_GPU_WIDE);
        where.row_first = (uint32_t)piece->integers_first + where.scale_first;
        where.y_column = (uint32_t)(piece->shard->first + piece->first) + where.scale_first;
        d.flops = block_flops * d.groups[1];
        if (ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
            return -1;
    }
    return 0;
}

static int multiply_piece(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                          uint32_t height, struct ks_error *err)
{
    ks_vk_barrier(p->slot); /* the piece before is not read any more */
    if (ks_gpu_take_apart(p, piece, err) != 0)
        return -1;
    ks_vk_barrier(p->slot);
    for (size_t s = 0; s * p->y->per_segment < p->m; s++)
        if (multiply(p, piece, height, s, err) != 0)
            return -1;
    return 0;
}

int ks_gpu_matrix(struct ks_gpu_product *p, struct ks_error *err)
{
    struct ks_gpu_grains grains = ks_gpu_grains(p->w->layout);
    uint32_t height = (uint32_t)ks_gpu_round_up(p->m, KS_GPU_TALL);
    struct ks_gpu_piece piece = ks_gpu_piece_at(p, p->w->shards, 0); /* the largest shard's */
    if (ks_gpu_piece_reserve(p, &piece, err) != 0 ||
        ks_gpu_split(p, height, grains.minima ? grains.block : 0, err) != 0)
        return -1;
    for (size_t s = 0; s < p->w->n_shards; s++) {
        const struct ks_gpu_shard *shard = &p->w->shards[s];
        for (uint64_t first = 0; first < shard->rows; first += piece.rows) {
            piece = ks_gpu_piece_at(p, shard, first);
            if (multiply_piece(p, &piece, height, err) != 0)
                return -1;
        }
    }
    return 0;
}

/*
 * Products by cooperative matrices: x is split into halves, every piece of the weight taken apart
 * into its elements and scales, unless it was before, and then they are multiplied.
 */
#include "gpu/head/path/matrix.h"

enum {
    SPLIT_ROWS = 16, /* positions and columns of a work-group of split.comp */
    SPLIT_COLS = 256,
    GRAINS_ROWS = 16, /* rows and elements of a work-group of grains.comp */
    GRAINS_COLS = 256,
    DEEP = 32, /* columns of a step of matrix.comp */
};

/* What they are given to do at least four times as fast as plain arithmetic, in its units. */
static const double matrix_cost = 0.25;

bool ks_gpu_has_matrix(const struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols)
{
    return gpu->info.matrix_cores && ks_gpu_grains(layout).block != 0 && cols % DEEP == 0;
}

static int find_lanes(struct ks_gpu_product *p, struct ks_error *err)
{
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_LANES},
        .buffers = {&p->gpu->lanes},
        .groups = {1, 1, 1},
    };
    if (p->gpu->knows_lanes)
        return 0;
    if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, KS_GPU_LANES_BYTES, "the order of lanes",
                             &p->gpu->lanes, err) != 0 ||
        ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
        return -1;
    ks_vk_barrier(p->slot);
    p->gpu->knows_lanes = true;
    return 0;
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
        .buffers = {&p->gpu->x, &p->gpu->turned, &p->gpu->factors, &p->gpu->lanes},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {height / SPLIT_ROWS, (where.cols + SPLIT_COLS - 1) / SPLIT_COLS, 1},
        .flops = KS_GPU_DECODE_COST * height * (double)cols,
    };
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

/* ------------------------------------------------------------------ the weight taken apart */

static uint64_t grain_bytes(const struct ks_gpu_weight *w, uint64_t width)
{
    return width * w->cols * ks_gpu_grains(w->layout).bytes;
}

static uint64_t scale_bytes(const struct ks_gpu_weight *w, uint64_t width)
{
    struct ks_gpu_grains grains = ks_gpu_grains(w->layout);
    return width * (w->cols / grains.block) * (grains.minima ? 2 : 1) * sizeof(float);
}

/* So many that one dispatch takes them apart. */
static const uint64_t most_rows =
    (uint64_t)KS_GPU_MOST_GROUPS * GRAINS_ROWS / KS_GPU_WIDE * KS_GPU_WIDE;

static uint64_t rows_of_scratch(const struct ks_gpu_product *p)
{
    uint64_t most = p->gpu->scratch_bytes / grain_bytes(p->w, 1) / KS_GPU_WIDE * KS_GPU_WIDE;
    return most ? ks_gpu_least(most, most_rows) : KS_GPU_WIDE;
}

struct ks_gpu_piece ks_gpu_piece_at(const struct ks_gpu_product *p, struct ks_gpu_shard *shard,
                                    uint64_t first)
{
    bool kept = shard->grains.buffer != NULL;
    uint64_t left = shard->rows - first;
    uint64_t rows = kept ? left : ks_gpu_least(rows_of_scratch(p), left);
    return (struct ks_gpu_piece){
        .shard = shard,
        .first = first,
        .rows = rows,
        .width = ks_gpu_round_up(rows, KS_GPU_WIDE),
        .grains = kept ? &shard->grains : &p->gpu->scratch[0],
        .scales = kept ? &shard->scales : &p->gpu->scratch[1],
    };
}

int ks_gpu_piece_reserve(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                         struct ks_error *err)
{
    if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, grain_bytes(p->w, piece->width),
                             "grains of the weight", piece->grains, err) != 0)
        return -1;
    return ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, scale_bytes(p->w, piece->width),
                                "scales of the weight", piece->scales, err);
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
        .groups = {where.width / GRAINS_ROWS, (cols + GRAINS_COLS - 1) / GRAINS_COLS, 1},
        .flops = KS_GPU_DECODE_COST * where.width * cols,
    };
    ks_gpu_bind_parts(&d, piece->shard);
    d.buffers[3] = piece->grains;
    d.buffers[4] = piece->scales;
    d.buffers[5] = &p->gpu->lanes;
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

static void try_to_keep(struct ks_gpu_product *p)
{
    struct ks_gpu_weight *w = p->w;
    uint64_t width = ks_gpu_round_up(w->rows, KS_GPU_WIDE), largest = w->shards[0].rows;
    if (w->asked_to_keep_apart || largest > most_rows ||
        !ks_gpu_may_keep(w, grain_bytes(w, width) + scale_bytes(w, width),
                         grain_bytes(w, ks_gpu_round_up(largest, KS_GPU_WIDE))))
        return;
    w->asked_to_keep_apart = true;
    for (size_t s = 0; s < w->n_shards; s++) {
        struct ks_gpu_shard *shard = &w->shards[s];
        uint64_t rows = ks_gpu_round_up(shard->rows, KS_GPU_WIDE);
        if (!ks_gpu_keep(w->gpu, grain_bytes(w, rows), "grains of the weight", &shard->grains))
            return;
        if (!ks_gpu_keep(w->gpu, scale_bytes(w, rows), "scales of the weight", &shard->scales)) {
            ks_gpu_release(w->gpu, &shard->grains);
            return;
        }
    }
}

/* ------------------------------------------------------------------ the product */

struct matrix_where {
    uint32_t x_first, height, w_first, width, stride, y_column;
};

/* The piece against the positions of a segment; groups[1] is still to come. */
static struct ks_vk_dispatch dispatch_of(const struct ks_gpu_product *p,
                                         const struct ks_gpu_piece *piece, size_t segment)
{
    struct ks_gpu_grains grains = ks_gpu_grains(p->w->layout);
    size_t x_first = segment * p->y->per_segment;
    uint64_t tall = ks_gpu_round_up(ks_gpu_least(p->m - x_first, p->y->per_segment), KS_GPU_TALL);
    return (struct ks_vk_dispatch){
        .key = {.shader = grains.bytes == 1 ? KS_VK_MATRIX : KS_VK_MATRIX_HALVES,
                .constants = {(uint32_t)p->w->cols, grains.block, grains.minima}},
        .buffers = {piece->grains, piece->scales, &p->gpu->turned, &p->gpu->factors,
                    &p->y->segments[segment], &p->y->maxima[segment]},
        .groups = {(uint32_t)tall / KS_GPU_TALL, 1, 1},
    };
}

static int multiply(struct ks_gpu_product *p, const struct ks_gpu_piece *piece, uint32_t height,
                    size_t segment, struct ks_error *err)
{
    struct matrix_where where = {
        .x_first = (uint32_t)(segment * p->y->per_segment),
        .height = height,
        .width = (uint32_t)piece->width,
        .stride = (uint32_t)p->y->stride,
    };
    struct ks_vk_dispatch d = dispatch_of(p, piece, segment);
    d.push = &where;
    d.push_bytes = sizeof where;
    double block_flops =
        matrix_cost * 2 * KS_GPU_WIDE * KS_GPU_TALL * d.groups[0] * (double)p->w->cols;
    uint64_t blocks = piece->width / KS_GPU_WIDE;
    uint64_t step =
        ks_gpu_least((uint64_t)(p->gpu->flops_per_submit / block_flops), KS_GPU_MOST_GROUPS);
    step = step ? step : 1;
    for (uint64_t b = 0; b < blocks; b += step) {
        d.groups[1] = (uint32_t)ks_gpu_least(step, blocks - b);
        where.w_first = (uint32_t)(b * KS_GPU_WIDE);
        where.y_column = (uint32_t)(piece->shard->first + piece->first) + where.w_first;
        d.flops = block_flops * d.groups[1];
        if (ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
            return -1;
    }
    return 0;
}

static int multiply_piece(struct ks_gpu_product *p, const struct ks_gpu_piece *piece,
                          uint32_t height, struct ks_error *err)
{
    bool kept = piece->grains == &piece->shard->grains;
    if (!piece->shard->is_apart) {
        ks_vk_barrier(p->slot); /* the piece before is not read any more */
        if (ks_gpu_take_apart(p, piece, err) != 0)
            return -1;
        ks_vk_barrier(p->slot);
        piece->shard->is_apart = kept;
    }
    for (size_t s = 0; s * p->y->per_segment < p->m; s++)
        if (multiply(p, piece, height, s, err) != 0)
            return -1;
    return 0;
}

int ks_gpu_matrix(struct ks_gpu_product *p, struct ks_error *err)
{
    struct ks_gpu_grains grains = ks_gpu_grains(p->w->layout);
    uint32_t height = (uint32_t)ks_gpu_round_up(p->m, KS_GPU_TALL);
    try_to_keep(p);
    if (find_lanes(p, err) != 0 ||
        ks_gpu_split(p, height, grains.minima ? grains.block : 0, err) != 0)
        return -1;
    ks_vk_barrier(p->slot);
    for (size_t s = 0; s < p->w->n_shards; s++) {
        struct ks_gpu_shard *shard = &p->w->shards[s];
        struct ks_gpu_piece piece = ks_gpu_piece_at(p, shard, 0); /* no later one is larger */
        if (ks_gpu_piece_reserve(p, &piece, err) != 0)
            return -1;
        for (uint64_t first = 0; first < shard->rows; first += piece.rows) {
            piece = ks_gpu_piece_at(p, shard, first);
            if (multiply_piece(p, &piece, height, err) != 0)
                return -1;
        }
    }
    return 0;
}

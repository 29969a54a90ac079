/*
 * Products of many positions: activations turned, pieces of the weight decoded, both multiplied.
 */
#include "gpu/head/product.h"

#define TURN_SIDE   32
#define DECODE_SIDE 64

struct turn_where {
    uint32_t positions, cols;
};

static int turn(struct ks_gpu_product *p, uint32_t x_width, struct ks_error *err)
{
    struct turn_where where = {(uint32_t)p->m, (uint32_t)p->w->cols};
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_TURN},
        .buffers = {&p->gpu->x, &p->gpu->turned},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {x_width / TURN_SIDE, (where.cols + TURN_SIDE - 1) / TURN_SIDE, 1},
        .flops = (double)x_width * where.cols,
    };
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

/* Some rows of a shard, decoded or to be decoded into one of the scratches. */
struct piece {
    const struct ks_gpu_shard *shard;
    uint64_t first, rows; /* first: in the shard */
    const struct ks_vk_buffer *scratch;
};

/* The piece that follows, or the first where *piece has no shard; false past the last. */
static bool next_piece(const struct ks_gpu_product *p, struct piece *piece)
{
    uint64_t most =
        p->gpu->scratch_bytes / (p->w->cols * sizeof(float)) / KS_GPU_WIDE * KS_GPU_WIDE;
    const struct ks_gpu_shard *shard = piece->shard ? piece->shard : p->w->shards;
    uint64_t first = piece->shard ? piece->first + piece->rows : 0;
    if (first == shard->rows) {
        if (++shard == p->w->shards + p->w->n_shards)
            return false;
        first = 0;
    }
    bool second = piece->scratch == &p->gpu->scratch[0];
    *piece = (struct piece){
        .shard = shard,
        .first = first,
        .rows = ks_gpu_least(most ? most : KS_GPU_WIDE, shard->rows - first),
        .scratch = &p->gpu->scratch[second],
    };
    return true;
}

struct decode_where {
    uint32_t first, rows;
};

static int decode(struct ks_gpu_product *p, const struct piece *piece, struct ks_error *err)
{
    uint32_t cols = (uint32_t)p->w->cols;
    uint32_t width = (uint32_t)ks_gpu_round_up(piece->rows, KS_GPU_WIDE);
    struct decode_where where = {(uint32_t)piece->first, (uint32_t)piece->rows};
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_DECODE, .layout = p->w->layout, .constants = {cols}},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {width / DECODE_SIDE, (cols + DECODE_SIDE - 1) / DECODE_SIDE, 1},
        .flops = KS_GPU_DECODE_COST * (double)width * cols,
    };
    ks_gpu_bind_parts(&d, piece->shard);
    d.buffers[3] = piece->scratch;
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

struct many_where {
    uint32_t x_block, w_block, stride, y_column, cols;
};

/* The decoded piece against the positions of a segment. */
static int multiply(struct ks_gpu_product *p, const struct piece *piece, size_t segment,
                    struct ks_error *err)
{
    size_t x_first = segment * p->y->per_segment;
    uint64_t tall = ks_gpu_round_up(ks_gpu_least(p->m - x_first, p->y->per_segment), KS_GPU_TALL);
    uint64_t blocks = ks_gpu_round_up(piece->rows, KS_GPU_WIDE) / KS_GPU_WIDE;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_MANY},
        .buffers = {&p->gpu->turned, piece->scratch,
                    &p->y->segments[segment], [KS_GPU_MAXIMA_BINDING] = &p->y->maxima[segment]},
        .groups = {(uint32_t)tall / KS_GPU_TALL, 1, 1},
    };
    struct many_where where = {
        .x_block = (uint32_t)(x_first / KS_GPU_TALL),
        .stride = (uint32_t)p->y->stride,
        .cols = (uint32_t)p->w->cols,
    };
    d.push = &where;
    d.push_bytes = sizeof where;
    double block_flops = 2.0 * KS_GPU_WIDE * (double)tall * (double)p->w->cols;
    uint64_t step =
        ks_gpu_least((uint64_t)(p->gpu->flops_per_submit / block_flops), KS_GPU_MOST_GROUPS);
    step = step ? step : 1;
    for (uint64_t b = 0; b < blocks; b += step) {
        uint64_t here = ks_gpu_least(step, blocks - b);
        where.w_block = (uint32_t)b;
        where.y_column = (uint32_t)(piece->shard->first + piece->first + b * KS_GPU_WIDE);
        d.groups[1] = (uint32_t)here;
        d.flops = block_flops * (double)here;
        if (ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
            return -1;
    }
    return 0;
}

static int reserve(struct ks_gpu_product *p, uint32_t x_width, struct ks_error *err)
{
    uint64_t col_bytes = p->w->cols * sizeof(float);
    struct piece piece = {0};
    if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, x_width * col_bytes, "turned activations",
                             &p->gpu->turned, err) != 0)
        return -1;
    next_piece(p, &piece); /* none is larger than the first */
    uint64_t bytes = ks_gpu_round_up(piece.rows, KS_GPU_WIDE) * col_bytes;
    for (int i = 0; i < 2; i++) {
        if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, bytes, "decoded weights",
                                 &p->gpu->scratch[i], err) != 0)
            return -1;
        if (!next_piece(p, &piece))
            break;
    }
    return 0;
}

/* The next piece is decoded beside the product with this one: the one waits for memory, the other
 * for arithmetic. */
int ks_gpu_many(struct ks_gpu_product *p, struct ks_error *err)
{
    uint32_t x_width = (uint32_t)ks_gpu_round_up(p->m, KS_GPU_TALL);
    struct piece piece = {0};
    bool more = next_piece(p, &piece);
    if (reserve(p, x_width, err) != 0 || turn(p, x_width, err) != 0 || decode(p, &piece, err) != 0)
        return -1;
    while (more) {
        struct piece now = piece;
        ks_vk_barrier(p->slot); /* decoded; and the other scratch is not read any more */
        for (size_t s = 0; s * p->y->per_segment < p->m; s++)
            if (multiply(p, &now, s, err) != 0)
                return -1;
        more = next_piece(p, &piece);
        if (more && decode(p, &piece, err) != 0)
            return -1;
    }
    return 0;
}

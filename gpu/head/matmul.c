/*
 * Products, cut into dispatches: by shards of the weight, by segments of the tile, and so that no
 * dispatch and no submission takes long.
 */
#include <assert.h>
#include <string.h>

#include "gpu/head/head.h"

struct product {
    struct ks_gpu *gpu;
    const struct ks_gpu_weight *w;
    struct ks_gpu_tile *y;
    size_t m;
    struct ks_vk_slot *slot;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Bindings 0 .. KS_GPU_MAX_PARTS - 1. */
static void bind_parts(struct ks_vk_dispatch *d, const struct ks_gpu_shard *shard)
{
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        d->buffers[i] = shard->parts[i].buffer ? &shard->parts[i] : NULL;
}

#define MOST_GROUPS 65535 /* of a dispatch, in each direction */

/* ------------------------------------------------------------------ few positions */

#define FEW_THREADS 256
#define SLAB_VEC4S  1024 /* of x in shared memory: 16 KiB */

/* A dispatch of the few reads more than it computes; in units of arithmetic that is as much. */
#define FEW_COST 16.0

struct few_where {
    uint32_t first, rows, x_first, positions, y_first, y_column, stride;
};

/* Of a lane: what is read of x serves them all, and one position is soon read. A software device
 * gains nothing by more, and compiles longer. */
static uint32_t rows_of_lane(const struct ks_gpu *gpu, uint32_t positions)
{
    if (gpu->testing.rows_of_lane)
        return gpu->testing.rows_of_lane;
    return gpu->info.kind == KS_GPU_KIND_CPU || positions == 1 ? 1 : 2;
}

/* The most lanes up to 16 that share a row evenly and stay within any subgroup. */
static uint32_t lanes_of(const struct ks_gpu *gpu, uint64_t cols)
{
    uint32_t lanes = 16;
    while (lanes > 1 && (lanes > gpu->info.subgroup_size || cols / 16 % lanes != 0))
        lanes /= 2;
    return lanes;
}

/* The most units up to `most` that a row is a multiple of and that are a multiple of lanes. */
static uint32_t slab_of(uint64_t cols, uint32_t lanes, uint32_t most)
{
    uint32_t turns = (uint32_t)(cols / 16) / lanes, fit = most / lanes;
    uint32_t slab = turns < fit ? turns : fit;
    while (turns % slab != 0)
        slab--;
    return slab * lanes;
}

/* Units whose reads a lane starts before it needs them. */
static uint32_t ahead_of(const struct ks_gpu *gpu, uint32_t turns, uint32_t positions)
{
    return gpu->info.kind != KS_GPU_KIND_CPU && positions == 1 && turns % 2 == 0 ? 2 : 1;
}

static struct ks_vk_pipeline_key few_key(const struct ks_gpu_weight *w, uint32_t positions)
{
    uint32_t lanes = lanes_of(w->gpu, w->cols);
    uint32_t slab = slab_of(w->cols, lanes, SLAB_VEC4S / 4 / positions);
    return (struct ks_vk_pipeline_key){
        .shader = KS_VK_FEW,
        .layout = w->layout,
        .constants = {(uint32_t)w->cols, lanes, positions, slab, rows_of_lane(w->gpu, positions),
                      ahead_of(w->gpu, slab / lanes, positions)},
    };
}

/* Rows of a dispatch: whole work-groups within the budget. */
static uint64_t few_step(const struct ks_gpu *gpu, double row_cost, uint32_t rows_of_group)
{
    uint64_t groups = (uint64_t)(gpu->flops_per_submit / row_cost) / rows_of_group;
    return (groups == 0 ? 1 : least(groups, MOST_GROUPS)) * rows_of_group;
}

/* Up to four positions from `from` on, against one shard. */
static int few_of_shard(struct product *p, const struct ks_gpu_shard *shard, size_t from,
                        struct ks_error *err)
{
    size_t here = least(4, p->m - from);
    uint32_t width = here > 2 ? 4 : (uint32_t)here;
    struct few_where where = {
        .x_first = (uint32_t)from,
        .positions = (uint32_t)here,
        .y_first = (uint32_t)(from % p->y->per_segment),
        .stride = (uint32_t)p->y->stride,
    };
    struct ks_vk_dispatch d = {.key = few_key(p->w, width),
                               .push = &where,
                               .push_bytes = sizeof where,
                               .groups = {0, 1, 1}};
    bind_parts(&d, shard);
    d.buffers[3] = &p->gpu->x;
    d.buffers[4] = &p->y->segments[from / p->y->per_segment];
    uint32_t rows_of_group = FEW_THREADS / d.key.constants[1] * d.key.constants[4];
    double row_cost = FEW_COST * width * (double)p->w->cols;
    uint64_t step = few_step(p->gpu, row_cost, rows_of_group);
    for (uint64_t r = 0; r < shard->rows; r += step) {
        where.first = (uint32_t)r;
        where.rows = (uint32_t)least(step, shard->rows - r);
        where.y_column = (uint32_t)(shard->first + r);
        d.groups[0] = (where.rows + rows_of_group - 1) / rows_of_group;
        d.flops = row_cost * where.rows;
        if (ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
            return -1;
    }
    return 0;
}

static int few(struct product *p, struct ks_error *err)
{
    for (size_t s = 0; s < p->w->n_shards; s++)
        for (size_t from = 0; from < p->m; from += 4)
            if (few_of_shard(p, &p->w->shards[s], from, err) != 0)
                return -1;
    return 0;
}

/* ------------------------------------------------------------------ many positions */

#define TURN_SIDE   32
#define DECODE_SIDE 64

struct turn_where {
    uint32_t positions, cols;
};

static int turn(struct product *p, uint32_t x_width, struct ks_error *err)
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
static bool next_piece(const struct product *p, struct piece *piece)
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
        .rows = least(most ? most : KS_GPU_WIDE, shard->rows - first),
        .scratch = &p->gpu->scratch[second],
    };
    return true;
}

struct decode_where {
    uint32_t first, rows;
};

static int decode(struct product *p, const struct piece *piece, struct ks_error *err)
{
    uint32_t cols = (uint32_t)p->w->cols;
    uint32_t width = (uint32_t)ks_gpu_round_up(piece->rows, KS_GPU_WIDE);
    struct decode_where where = {(uint32_t)piece->first, (uint32_t)piece->rows};
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_DECODE, .layout = p->w->layout, .constants = {cols}},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {width / DECODE_SIDE, (cols + DECODE_SIDE - 1) / DECODE_SIDE, 1},
        .flops = FEW_COST * (double)width * cols,
    };
    bind_parts(&d, piece->shard);
    d.buffers[3] = piece->scratch;
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

struct many_where {
    uint32_t x_block, w_block, stride, y_column, cols;
};

/* The decoded piece against the positions of a segment. */
static int multiply(struct product *p, const struct piece *piece, size_t segment,
                    struct ks_error *err)
{
    size_t x_first = segment * p->y->per_segment;
    uint64_t tall = ks_gpu_round_up(least(p->m - x_first, p->y->per_segment), KS_GPU_TALL);
    uint64_t blocks = ks_gpu_round_up(piece->rows, KS_GPU_WIDE) / KS_GPU_WIDE;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_MANY},
        .buffers = {&p->gpu->turned, piece->scratch, &p->y->segments[segment]},
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
    uint64_t step = least((uint64_t)(p->gpu->flops_per_submit / block_flops), MOST_GROUPS);
    step = step ? step : 1;
    for (uint64_t b = 0; b < blocks; b += step) {
        uint64_t here = least(step, blocks - b);
        where.w_block = (uint32_t)b;
        where.y_column = (uint32_t)(piece->shard->first + piece->first + b * KS_GPU_WIDE);
        d.groups[1] = (uint32_t)here;
        d.flops = block_flops * (double)here;
        if (ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
            return -1;
    }
    return 0;
}

static int reserve(struct product *p, uint32_t x_width, struct ks_error *err)
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
static int many(struct product *p, struct ks_error *err)
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

int ks_gpu_matmul(struct ks_gpu_weight *w, enum ks_gpu_path path, const float *x, size_t m,
                  struct ks_gpu_tile *y, struct ks_error *err)
{
    return ks_gpu_matmul_again(w, path, x, m, y, 1, err);
}

int ks_gpu_matmul_again(struct ks_gpu_weight *w, enum ks_gpu_path path, const float *x, size_t m,
                        struct ks_gpu_tile *y, unsigned times, struct ks_error *err)
{
    assert(m >= 1 && m <= y->positions && y->rows == w->rows && w->appended == w->rows);
    struct product p = {.gpu = w->gpu, .w = w, .y = y, .m = m};
    uint64_t bytes = m * w->cols * sizeof(float);
    if (ks_vk_buffer_reserve(p.gpu, KS_VK_ON_DEVICE, bytes, "activations", &p.gpu->x, err) != 0 ||
        ks_vk_begin(p.gpu, &p.slot, err) != 0 ||
        ks_vk_copy_in(p.gpu, &p.slot, &p.gpu->x, 0, x, bytes, err) != 0)
        return -1;
    for (unsigned i = 0; i < times; i++) {
        ks_vk_barrier(p.slot);
        if ((path == KS_GPU_FEW ? few : many)(&p, err) != 0)
            return -1;
    }
    if (ks_vk_submit(p.gpu, p.slot, err) != 0)
        return -1;
    y->ready = p.gpu->submitted;
    return 0;
}

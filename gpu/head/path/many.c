/*
 * Products of many positions: activations turned, then multiplied with the packed weight or, where
 * there are so many positions that it pays, with pieces of it that are decoded before.
 */
#include <string.h>

#include "gpu/head/product.h"

enum {
    TURN_SIDE = 32,
    DECODE_ROWS = 64, /* of a work-group, and pieces of a row: as in decode.comp */
    DECODE_PIECES = 4,
};

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

/* Some rows of a shard. */
struct piece {
    struct ks_gpu_shard *shard;
    uint64_t first, rows;               /* first: in the shard */
    const struct ks_vk_buffer *decoded; /* kept, or a scratch; NULL where it stays packed */
};

static uint64_t decoded_bytes(const struct ks_gpu_weight *w, uint64_t rows)
{
    return ks_gpu_round_up(rows, KS_GPU_WIDE) * w->cols * sizeof(float);
}

/* The rows of a shard that are multiplied at once: what stays packed or is kept, as a whole. */
static uint64_t rows_at_once(const struct ks_gpu_product *p, bool packed,
                             const struct ks_gpu_shard *shard)
{
    uint64_t fit = p->gpu->scratch_bytes / (p->w->cols * sizeof(float)) / KS_GPU_WIDE * KS_GPU_WIDE;
    if (packed || shard->decoded.buffer)
        return shard->rows;
    return fit ? fit : KS_GPU_WIDE;
}

/* The piece that follows, or the first where *piece has no shard; false past the last. */
static bool next_piece(const struct ks_gpu_product *p, bool packed, struct piece *piece)
{
    struct ks_gpu_shard *shard = piece->shard ? piece->shard : p->w->shards;
    uint64_t first = piece->shard ? piece->first + piece->rows : 0;
    if (first == shard->rows) {
        if (++shard == p->w->shards + p->w->n_shards)
            return false;
        first = 0;
    }
    bool second = piece->decoded == &p->gpu->scratch[0];
    const struct ks_vk_buffer *to =
        shard->decoded.buffer ? &shard->decoded : &p->gpu->scratch[second];
    *piece = (struct piece){
        .shard = shard,
        .first = first,
        .rows = ks_gpu_least(rows_at_once(p, packed, shard), shard->rows - first),
        .decoded = packed ? NULL : to,
    };
    return true;
}

struct decode_where {
    uint32_t first, rows;
};

/* Unless it is kept, and there. */
static int decode(struct ks_gpu_product *p, const struct piece *piece, struct ks_error *err)
{
    if (piece->shard->is_decoded)
        return 0;
    uint32_t cols = (uint32_t)p->w->cols, pieces = 16 / ks_gpu_units_together(p->w->layout);
    uint32_t width = (uint32_t)ks_gpu_round_up(piece->rows, KS_GPU_WIDE);
    struct decode_where where = {(uint32_t)piece->first, (uint32_t)piece->rows};
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_DECODE,
                .layout = p->w->layout,
                .constants = {cols, p->gpu->exact_halves}},
        .push = &where,
        .push_bytes = sizeof where,
        .groups = {width / DECODE_ROWS, (cols + 255) / 256 * pieces / DECODE_PIECES, 1},
        .flops = KS_GPU_DECODE_COST * (double)width * cols,
    };
    ks_gpu_bind_parts(&d, piece->shard);
    d.buffers[3] = piece->decoded;
    piece->shard->is_decoded = piece->decoded == &piece->shard->decoded;
    return ks_vk_dispatch(p->gpu, &p->slot, &d, err);
}

/* Positions of a thread, of which a work-group has 8 times as many. */
static uint32_t positions_of_thread(const struct ks_gpu_product *p)
{
    return p->m <= KS_GPU_TALL / 2 ? 4 : 8;
}

struct many_where {
    uint32_t x_block, first, rows, stride, y_column;
};

static void bind(const struct ks_gpu_product *p, const struct piece *piece, size_t segment,
                 struct ks_vk_dispatch *d)
{
    d->key = (struct ks_vk_pipeline_key){
        .shader = piece->decoded ? KS_VK_MANY : KS_VK_PACKED,
        .layout = piece->decoded ? 0 : p->w->layout,
        .constants = {(uint32_t)p->w->cols, !piece->decoded && p->gpu->exact_halves,
                      positions_of_thread(p)},
    };
    if (piece->decoded)
        d->buffers[0] = piece->decoded;
    else
        ks_gpu_bind_parts(d, piece->shard);
    d->buffers[3] = &p->gpu->turned;
    d->buffers[4] = &p->y->segments[segment];
    d->buffers[KS_GPU_MAXIMA_BINDING] = &p->y->maxima[segment];
}

/* A piece against the positions of a segment. */
static int multiply(struct ks_gpu_product *p, const struct piece *piece, size_t segment,
                    struct ks_error *err)
{
    size_t x_first = segment * p->y->per_segment;
    uint64_t here = ks_gpu_least(p->m - x_first, p->y->per_segment);
    uint64_t blocks = ks_gpu_round_up(piece->rows, KS_GPU_WIDE) / KS_GPU_WIDE;
    struct many_where where = {
        .x_block = (uint32_t)(x_first / KS_GPU_TALL),
        .rows = (uint32_t)piece->shard->rows,
        .stride = (uint32_t)p->y->stride,
    };
    struct ks_vk_dispatch d = {.push = &where, .push_bytes = sizeof where};
    bind(p, piece, segment, &d);
    uint32_t tall = 8 * positions_of_thread(p), groups = (uint32_t)((here + tall - 1) / tall);
    double block_flops = 2.0 * KS_GPU_WIDE * groups * tall * (double)p->w->cols;
    uint64_t step =
        ks_gpu_least((uint64_t)(p->gpu->flops_per_submit / block_flops), KS_GPU_MOST_GROUPS);
    step = step ? step : 1;
    for (uint64_t b = 0; b < blocks; b += step) {
        uint32_t wide = (uint32_t)ks_gpu_least(step, blocks - b);
        uint64_t row = piece->first + b * KS_GPU_WIDE;
        where.first = (uint32_t)(piece->decoded ? b * KS_GPU_WIDE : row);
        where.y_column = (uint32_t)(piece->shard->first + row);
        memcpy(d.groups, (uint32_t[]){groups, wide, 1}, sizeof d.groups);
        d.flops = block_flops * wide;
        if (ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
            return -1;
    }
    return 0;
}

static int multiply_all(struct ks_gpu_product *p, const struct piece *piece, struct ks_error *err)
{
    for (size_t s = 0; s * p->y->per_segment < p->m; s++)
        if (multiply(p, piece, s, err) != 0)
            return -1;
    return 0;
}

static int multiply_packed(struct ks_gpu_product *p, struct ks_error *err)
{
    struct piece piece = {0};
    ks_vk_barrier(p->slot); /* turned */
    while (next_piece(p, true, &piece))
        if (multiply_all(p, &piece, err) != 0)
            return -1;
    return 0;
}

static void try_to_keep(struct ks_gpu_product *p)
{
    struct ks_gpu_weight *w = p->w;
    uint64_t bytes = decoded_bytes(w, w->rows), largest = decoded_bytes(w, w->shards[0].rows);
    if (w->asked_to_keep_decoded || !ks_gpu_may_keep(w, bytes, largest))
        return;
    w->asked_to_keep_decoded = true;
    for (size_t s = 0; s < w->n_shards; s++)
        if (!ks_gpu_keep(w->gpu, decoded_bytes(w, w->shards[s].rows), "decoded weights",
                         &w->shards[s].decoded))
            return;
}

static int reserve_scratches(struct ks_gpu_product *p, struct ks_error *err)
{
    struct piece piece = {0};
    while (next_piece(p, false, &piece) && piece.decoded == &piece.shard->decoded)
        ;
    if (piece.decoded == &piece.shard->decoded)
        return 0;
    uint64_t bytes = decoded_bytes(p->w, piece.rows); /* no later one is larger */
    for (int i = 0; i < 2; i++) {
        if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, bytes, "decoded weights",
                                 &p->gpu->scratch[i], err) != 0)
            return -1;
        if (!next_piece(p, false, &piece))
            break;
    }
    return 0;
}

/* The next piece is decoded beside the product with this one: the one waits for memory, the other
 * for arithmetic. */
static int multiply_decoded(struct ks_gpu_product *p, struct ks_error *err)
{
    struct piece piece = {0};
    bool more = next_piece(p, false, &piece);
    if (decode(p, &piece, err) != 0)
        return -1;
    while (more) {
        struct piece now = piece;
        ks_vk_barrier(p->slot); /* decoded; and the other scratch is not read any more */
        if (multiply_all(p, &now, err) != 0)
            return -1;
        more = next_piece(p, false, &piece);
        if (more && decode(p, &piece, err) != 0)
            return -1;
    }
    return 0;
}

int ks_gpu_many(struct ks_gpu_product *p, struct ks_error *err)
{
    uint32_t x_width = (uint32_t)ks_gpu_round_up(p->m, KS_GPU_TALL);
    bool packed = p->m < p->gpu->worth_decoding;
    if (!packed)
        try_to_keep(p);
    if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, x_width * p->w->cols * sizeof(float),
                             "turned activations", &p->gpu->turned, err) != 0 ||
        (!packed && reserve_scratches(p, err) != 0) || turn(p, x_width, err) != 0)
        return -1;
    return packed ? multiply_packed(p, err) : multiply_decoded(p, err);
}

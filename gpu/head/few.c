/*
 * Products of few positions: few.comp, on the packed weight.
 */
#include "gpu/head/product.h"

#define FEW_THREADS 256
#define SLAB_VEC4S  1024 /* of x in shared memory: 16 KiB */

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
    return (groups == 0 ? 1 : ks_gpu_least(groups, KS_GPU_MOST_GROUPS)) * rows_of_group;
}

/* Up to four positions from `from` on, against one shard. */
static int few_of_shard(struct ks_gpu_product *p, const struct ks_gpu_shard *shard, size_t from,
                        struct ks_error *err)
{
    size_t here = ks_gpu_least(4, p->m - from);
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
    ks_gpu_bind_parts(&d, shard);
    d.buffers[3] = &p->gpu->x;
    d.buffers[4] = &p->y->segments[from / p->y->per_segment];
    uint32_t rows_of_group = FEW_THREADS / d.key.constants[1] * d.key.constants[4];
    double row_cost = KS_GPU_DECODE_COST * width * (double)p->w->cols;
    uint64_t step = few_step(p->gpu, row_cost, rows_of_group);
    for (uint64_t r = 0; r < shard->rows; r += step) {
        where.first = (uint32_t)r;
        where.rows = (uint32_t)ks_gpu_least(step, shard->rows - r);
        where.y_column = (uint32_t)(shard->first + r);
        d.groups[0] = (where.rows + rows_of_group - 1) / rows_of_group;
        d.flops = row_cost * where.rows;
        if (ks_vk_dispatch(p->gpu, &p->slot, &d, err) != 0)
            return -1;
    }
    return 0;
}

int ks_gpu_few(struct ks_gpu_product *p, struct ks_error *err)
{
    for (size_t s = 0; s < p->w->n_shards; s++)
        for (size_t from = 0; from < p->m; from += 4)
            if (few_of_shard(p, &p->w->shards[s], from, err) != 0)
                return -1;
    return 0;
}

/*
 * Products of few positions: few.comp, on the packed weight.
 */
#include "gpu/head/product.h"

enum {
    FEW_THREADS = 256,
    MOST = 8,        /* positions of a dispatch */
    SLAB_KIB = 16,   /* of x in shared memory; a group of a position takes one */
    LEAST_LANES = 4, /* that any subgroup has */
};

struct few_where {
    uint32_t first, rows, x_first, positions, y_first, y_column, stride;
};

/* Threads of a row: 8 where its pieces come out even, else 4. */
static uint32_t lanes_of(const struct ks_gpu_weight *w)
{
    uint32_t pieces = (uint32_t)w->cols / 16 / ks_gpu_units_together(w->layout);
    bool eight = ks_gpu_units_together(w->layout) < 4 && pieces % 8 == 0;
    return eight && w->gpu->info.subgroup_size >= 8 ? 8 : 4;
}

/* A software device gains nothing by what follows, and compiles for longer. */
static bool is_hardware(const struct ks_gpu *gpu)
{
    return gpu->info.kind != KS_GPU_KIND_CPU || gpu->testing.as_hardware;
}

/* Positions of a dispatch. */
static size_t most_of(const struct ks_gpu *gpu)
{
    return is_hardware(gpu) ? MOST : MOST / 2;
}

/* Of a thread: what is read of x serves them all, and one position is soon read. */
static uint32_t rows_of_thread(const struct ks_gpu *gpu, uint32_t positions)
{
    return is_hardware(gpu) && positions > 1 ? 2 : 1;
}

/* Groups whose bytes a thread asks for at once: where they are few, more of them hide the way to
 * memory. */
static uint32_t ahead_of(const struct ks_gpu_weight *w, uint32_t positions, uint32_t lanes)
{
    bool few = w->layout == KS_GPU_I8 && positions == 1 && lanes == 8;
    return few && is_hardware(w->gpu) ? 4 : 1;
}

static struct ks_vk_pipeline_key few_key(const struct ks_gpu_weight *w, uint32_t positions)
{
    uint32_t lanes = lanes_of(w), groups = ((uint32_t)w->cols + 255) / 256;
    uint32_t slab = SLAB_KIB / positions, ahead = ahead_of(w, positions, lanes);
    return (struct ks_vk_pipeline_key){
        .shader = KS_VK_FEW,
        .layout = w->layout,
        .constants = {(uint32_t)w->cols, w->gpu->exact_halves, lanes,
                      rows_of_thread(w->gpu, positions), positions, groups < slab ? groups : slab,
                      ahead, w->gpu->info.subgroup_size >= 2 * lanes ? 2 : 1},
    };
}

/* Rows of a dispatch: whole work-groups within the budget. */
static uint64_t few_step(const struct ks_gpu *gpu, double row_cost, uint32_t rows_of_group)
{
    uint64_t groups = (uint64_t)(gpu->flops_per_submit / row_cost) / rows_of_group;
    return (groups == 0 ? 1 : ks_gpu_least(groups, KS_GPU_MOST_GROUPS)) * rows_of_group;
}

/* Up to MOST positions from `from` on, against one shard. */
static int few_of_shard(struct ks_gpu_product *p, const struct ks_gpu_shard *shard, size_t from,
                        struct ks_error *err)
{
    size_t here = ks_gpu_least(most_of(p->gpu), p->m - from);
    uint32_t width = here > 4 ? 8 : here > 2 ? 4 : (uint32_t)here;
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
    uint32_t rows_of_group = FEW_THREADS / d.key.constants[2] * d.key.constants[3];
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
        for (size_t from = 0; from < p->m; from += most_of(p->gpu))
            if (few_of_shard(p, &p->w->shards[s], from, err) != 0)
                return -1;
    return 0;
}

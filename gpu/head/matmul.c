/*
 * Products, cut into dispatches: by shards of the weight, by segments of the tile, and so that no
 * dispatch and no submission takes long.
 */
#include <assert.h>

#include "gpu/head/product.h"

void ks_gpu_bind_parts(struct ks_vk_dispatch *d, const struct ks_gpu_shard *shard)
{
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        d->buffers[i] = shard->parts[i].buffer ? &shard->parts[i] : NULL;
}

bool ks_gpu_path_available(const struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols,
                           enum ks_gpu_path path)
{
    return path != KS_GPU_MATRIX || ks_gpu_has_matrix(gpu, layout, cols);
}

uint32_t ks_gpu_units_together(enum ks_gpu_layout layout)
{
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
    if (info->block_elems == 16 || layout == KS_GPU_I8)
        return 1;
    return info->block_elems == 256 && layout != KS_GPU_LEVELS4_K ? 4 : 2;
}

int ks_gpu_matmul(struct ks_gpu_weight *w, enum ks_gpu_path path, const float *x, size_t m,
                  struct ks_gpu_tile *y, struct ks_error *err)
{
    return ks_gpu_matmul_again(w, path, x, m, y, 1, err);
}

static int record(struct ks_gpu_product *p, enum ks_gpu_path path, const float *x, unsigned times,
                  struct ks_error *err)
{
    static int (*const by[KS_GPU_PATHS])(struct ks_gpu_product *, struct ks_error *) = {
        [KS_GPU_FEW] = ks_gpu_few,
        [KS_GPU_MANY] = ks_gpu_many,
        [KS_GPU_MATRIX] = ks_gpu_matrix,
    };
    uint64_t bytes = p->m * p->w->cols * sizeof(float);
    if (ks_vk_buffer_reserve(p->gpu, KS_VK_ON_DEVICE, bytes, "activations", &p->gpu->x, err) != 0 ||
        ks_vk_begin(p->gpu, &p->slot, err) != 0 ||
        ks_vk_copy_in(p->gpu, &p->slot, &p->gpu->x, 0, x, bytes, err) != 0)
        return -1;
    for (unsigned i = 0; i < times; i++) {
        ks_vk_barrier(p->slot);
        if (by[path](p, err) != 0)
            return -1;
    }
    return ks_vk_submit(p->gpu, p->slot, err);
}

int ks_gpu_matmul_again(struct ks_gpu_weight *w, enum ks_gpu_path path, const float *x, size_t m,
                        struct ks_gpu_tile *y, unsigned times, struct ks_error *err)
{
    assert(m >= 1 && m <= y->positions && y->rows == w->rows && w->appended == w->rows);
    if (!ks_gpu_path_available(w->gpu, w->layout, w->cols, path))
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s has no %s for layout %s with %llu columns; take another path",
                       w->gpu->info.name, ks_gpu_path_name(path),
                       ks_gpu_layout_info(w->layout)->name, (unsigned long long)w->cols);
    if (ks_gpu_prove(w->gpu, w->layout, w->cols, path, err) != 0)
        return -1;
    struct ks_gpu_product p = {.gpu = w->gpu, .w = w, .y = y, .m = m};
    int failed = record(&p, path, x, times, err);
    if (failed || ks_vk_rehearsing(p.gpu))
        ks_gpu_forget_kept(w);
    if (failed)
        return -1;
    y->ready = p.gpu->submitted;
    y->has_maxima = path != KS_GPU_FEW;
    return 0;
}

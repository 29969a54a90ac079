/*
 * Matrices on the device: shards of whole rows, each part of a shard a buffer within the limits.
 */
#include <assert.h>
#include <stdlib.h>

#include "gpu/head/product.h"

enum { MOST_COLS = 65536 };

/* Rows of a shard, so that its largest part fits; 0 where not even KS_GPU_WIDE rows do. */
static uint64_t rows_of_shard(const struct ks_gpu *gpu, const uint64_t row_bytes[KS_GPU_MAX_PARTS])
{
    uint64_t widest = 1;
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
        if (row_bytes[p] > widest)
            widest = row_bytes[p];
    return gpu->max_bytes / widest / KS_GPU_WIDE * KS_GPU_WIDE;
}

static int check_shape(const struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t rows,
                       uint64_t cols, struct ks_error *err)
{
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
    if (rows == 0 || cols == 0 || cols % info->block_elems != 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "a matrix of %llu x %llu for the GPU: its rows are no whole number of "
                       "blocks of %u",
                       (unsigned long long)rows, (unsigned long long)cols, info->block_elems);
    if (rows > UINT32_MAX / 2 || cols > MOST_COLS)
        return ks_fail(err, KS_UNSUPPORTED, "%s: a matrix of %llu x %llu is too large",
                       gpu->info.name, (unsigned long long)rows, (unsigned long long)cols);
    return 0;
}

static int create_shard(struct ks_gpu_weight *w, uint64_t first, uint64_t rows,
                        struct ks_error *err)
{
    struct ks_gpu_shard *shard = &w->shards[w->n_shards++];
    shard->first = first;
    shard->rows = rows;
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
        if (w->row_bytes[p] &&
            ks_vk_buffer_create(w->gpu, KS_VK_ON_DEVICE, rows * w->row_bytes[p],
                                "a shard of the weight", &shard->parts[p], err) != 0)
            return -1;
    return 0;
}

static int create_shards(struct ks_gpu_weight *w, struct ks_error *err)
{
    uint64_t each = rows_of_shard(w->gpu, w->row_bytes);
    if (each == 0)
        return ks_fail(err, KS_UNSUPPORTED, "%s: %d rows of %llu columns are more than a binding",
                       w->gpu->info.name, KS_GPU_WIDE, (unsigned long long)w->cols);
    size_t n = (size_t)((w->rows + each - 1) / each);
    w->shards = calloc(n, sizeof *w->shards);
    if (!w->shards)
        return ks_fail_memory(err, n * sizeof *w->shards, "shards of a weight");
    for (uint64_t first = 0; first < w->rows; first += each) {
        uint64_t left = w->rows - first;
        if (create_shard(w, first, left < each ? left : each, err) != 0)
            return -1;
    }
    return 0;
}

struct ks_gpu_weight *ks_gpu_weight_create(struct ks_gpu *gpu, enum ks_gpu_layout layout,
                                           uint64_t rows, uint64_t cols, struct ks_error *err)
{
    if (check_shape(gpu, layout, rows, cols, err) != 0)
        return NULL;
    struct ks_gpu_weight *w = calloc(1, sizeof *w);
    if (!w) {
        ks_fail_memory(err, sizeof *w, "a weight");
        return NULL;
    }
    *w = (struct ks_gpu_weight){.gpu = gpu, .layout = layout, .rows = rows, .cols = cols};
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
        w->row_bytes[p] = cols / info->block_elems * info->part_bytes[p];
    if (create_shards(w, err) != 0) {
        ks_gpu_weight_destroy(w);
        return NULL;
    }
    return w;
}

/* Row r of the shard and n - 1 more, from row `from` of the parts. */
static int write_rows(struct ks_gpu_weight *w, struct ks_gpu_shard *shard, uint64_t r, uint64_t n,
                      const void *const parts[KS_GPU_MAX_PARTS], uint64_t from,
                      struct ks_error *err)
{
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++) {
        uint64_t bytes = w->row_bytes[p];
        if (bytes &&
            ks_vk_buffer_write(w->gpu, &shard->parts[p], r * bytes,
                               (const uint8_t *)parts[p] + from * bytes, n * bytes, err) != 0)
            return -1;
    }
    return 0;
}

int ks_gpu_weight_append(struct ks_gpu_weight *w, uint64_t n,
                         const void *const parts[KS_GPU_MAX_PARTS], struct ks_error *err)
{
    assert(n <= w->rows - w->appended);
    uint64_t done = 0;
    for (size_t s = 0; s < w->n_shards && done < n; s++) {
        struct ks_gpu_shard *shard = &w->shards[s];
        uint64_t at = w->appended + done;
        if (at >= shard->first + shard->rows)
            continue;
        uint64_t room = shard->first + shard->rows - at, now = n - done < room ? n - done : room;
        if (write_rows(w, shard, at - shard->first, now, parts, done, err) != 0)
            return -1;
        done += now;
    }
    w->appended += n;
    return 0;
}

void ks_gpu_weight_destroy(struct ks_gpu_weight *w)
{
    if (!w)
        return;
    vkDeviceWaitIdle(w->gpu->device);
    ks_gpu_release_kept(w);
    for (size_t s = 0; s < w->n_shards; s++)
        for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
            ks_vk_buffer_destroy(w->gpu, &w->shards[s].parts[p]);
    free(w->shards);
    free(w);
}

uint64_t ks_gpu_weight_bytes(const struct ks_gpu_weight *w)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < w->n_shards; s++) {
        for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
            bytes += w->shards[s].parts[p].bytes;
        bytes += ks_gpu_kept_bytes(&w->shards[s]);
    }
    return bytes;
}

size_t ks_gpu_weight_shards(const struct ks_gpu_weight *w)
{
    return w->n_shards;
}

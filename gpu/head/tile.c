/*
 * Logits that stay on the device.
 */
#include <assert.h>
#include <stdlib.h>

#include "gpu/head/head.h"

static int create_segments(struct ks_gpu_tile *t, struct ks_error *err)
{
    uint64_t row_bytes = t->stride * sizeof(float);
    uint64_t fit = t->gpu->max_bytes / row_bytes / KS_GPU_TALL * KS_GPU_TALL;
    uint64_t padded = ks_gpu_round_up(t->positions, KS_GPU_TALL);
    if (fit == 0)
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: %d positions of %llu logits are more than a binding", t->gpu->info.name,
                       KS_GPU_TALL, (unsigned long long)t->rows);
    t->per_segment = (size_t)(fit < padded ? fit : padded);
    size_t n = (size_t)(padded + t->per_segment - 1) / t->per_segment;
    t->segments = calloc(n, sizeof *t->segments);
    t->maxima = calloc(n, sizeof *t->maxima);
    if (!t->segments || !t->maxima)
        return ks_fail_memory(err, 2 * n * sizeof *t->segments, "a tile of logits");
    t->n_segments = n;
    for (size_t i = 0; i < n; i++) {
        uint64_t left = padded - i * t->per_segment;
        uint64_t bytes = (left < t->per_segment ? left : t->per_segment) * row_bytes;
        if (ks_vk_buffer_create(t->gpu, KS_VK_ON_DEVICE, bytes, "a tile of logits", &t->segments[i],
                                err) != 0 ||
            ks_vk_buffer_create(t->gpu, KS_VK_ON_DEVICE, bytes / KS_GPU_WIDE, "a tile's maxima",
                                &t->maxima[i], err) != 0)
            return -1;
    }
    return 0;
}

struct ks_gpu_tile *ks_gpu_tile_create(struct ks_gpu *gpu, size_t positions, uint64_t rows,
                                       struct ks_error *err)
{
    assert(positions >= 1 && positions <= KS_GPU_MAX_POSITIONS && rows >= 1);
    struct ks_gpu_tile *t = calloc(1, sizeof *t);
    if (!t) {
        ks_fail_memory(err, sizeof *t, "a tile of logits");
        return NULL;
    }
    *t = (struct ks_gpu_tile){
        .gpu = gpu,
        .positions = positions,
        .rows = rows,
        .stride = ks_gpu_round_up(rows, KS_GPU_WIDE),
    };
    if (create_segments(t, err) != 0) {
        ks_gpu_tile_destroy(t);
        return NULL;
    }
    return t;
}

void ks_gpu_tile_destroy(struct ks_gpu_tile *t)
{
    if (!t)
        return;
    vkDeviceWaitIdle(t->gpu->device);
    for (size_t i = 0; i < t->n_segments; i++) {
        ks_vk_buffer_destroy(t->gpu, &t->segments[i]);
        ks_vk_buffer_destroy(t->gpu, &t->maxima[i]);
    }
    free(t->segments);
    free(t->maxima);
    free(t);
}

int ks_gpu_tile_read(struct ks_gpu_tile *t, size_t first, size_t n, float *out,
                     struct ks_error *err)
{
    assert(first <= t->positions && n <= t->positions - first);
    for (size_t p = first; p < first + n; p++) {
        uint64_t offset = p % t->per_segment * t->stride * sizeof(float);
        if (ks_vk_buffer_read(t->gpu, &t->segments[p / t->per_segment], offset, out,
                              t->rows * sizeof(float), t->ready, err) != 0)
            return -1;
        out += t->rows;
    }
    return 0;
}

int ks_gpu_tile_write(struct ks_gpu_tile *t, size_t first, size_t n, const float *rows,
                      struct ks_error *err)
{
    if (ks_vk_wait(t->gpu, t->gpu->submitted, err) != 0)
        return -1;
    for (size_t p = first; p < first + n; p++, rows += t->rows) {
        uint64_t offset = p % t->per_segment * t->stride * sizeof(float);
        if (ks_vk_buffer_write(t->gpu, &t->segments[p / t->per_segment], offset, rows,
                               t->rows * sizeof(float), err) != 0)
            return -1;
    }
    t->ready = t->gpu->submitted;
    t->has_maxima = false;
    return 0;
}

enum { BLOCKS_OF_GROUP = 8 }; /* as in maxima.comp */

int ks_gpu_tile_find_maxima(struct ks_gpu_tile *t, size_t m, struct ks_vk_slot **slot,
                            struct ks_error *err)
{
    assert(m <= t->positions);
    if (t->has_maxima)
        return 0;
    uint32_t blocks = (uint32_t)(t->stride / KS_GPU_WIDE);
    for (size_t p = 0; p < m; p += t->per_segment) {
        size_t n = m - p < t->per_segment ? m - p : t->per_segment, s = p / t->per_segment;
        struct ks_vk_dispatch d = {
            .key = {.shader = KS_VK_MAXIMA},
            .buffers = {&t->segments[s], [KS_GPU_MAXIMA_BINDING] = &t->maxima[s]},
            .push = &blocks,
            .push_bytes = sizeof blocks,
            .groups = {(blocks + BLOCKS_OF_GROUP - 1) / BLOCKS_OF_GROUP, (uint32_t)n, 1},
            .flops = 16.0 * (double)n * (double)t->stride,
        };
        if (ks_vk_dispatch(t->gpu, slot, &d, err) != 0)
            return -1;
    }
    ks_vk_barrier(*slot);
    t->has_maxima = true;
    return 0;
}

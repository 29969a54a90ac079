/*
 * What is kept of a weight beside its packed bytes.
 */
#include "gpu/head/product.h"

enum { SHARE = 8 }; /* of the device's memory, for all that is kept */

bool ks_gpu_may_keep(const struct ks_gpu_weight *w, uint64_t bytes, uint64_t largest)
{
    const struct ks_gpu *gpu = w->gpu;
    return !gpu->testing.scratch_bytes && largest <= gpu->max_bytes &&
           gpu->kept_bytes + bytes <= gpu->info.memory_bytes / SHARE;
}

bool ks_gpu_keep(struct ks_gpu *gpu, uint64_t bytes, const char *what, struct ks_vk_buffer *out)
{
    struct ks_error ignored = {0};
    if (ks_vk_buffer_create(gpu, KS_VK_ON_DEVICE, bytes, what, out, &ignored) != 0)
        return false;
    gpu->kept_bytes += out->bytes;
    return true;
}

void ks_gpu_release(struct ks_gpu *gpu, struct ks_vk_buffer *kept)
{
    gpu->kept_bytes -= kept->bytes;
    ks_vk_buffer_destroy(gpu, kept);
}

uint64_t ks_gpu_kept_bytes(const struct ks_gpu_shard *shard)
{
    return shard->grains.bytes + shard->scales.bytes + shard->decoded.bytes;
}

void ks_gpu_forget_kept(struct ks_gpu_weight *w)
{
    w->gpu->knows_lanes = false;
    for (size_t s = 0; s < w->n_shards; s++)
        w->shards[s].is_apart = w->shards[s].is_decoded = false;
}

void ks_gpu_release_kept(struct ks_gpu_weight *w)
{
    for (size_t s = 0; s < w->n_shards; s++) {
        struct ks_gpu_shard *shard = &w->shards[s];
        ks_gpu_release(w->gpu, &shard->grains);
        ks_gpu_release(w->gpu, &shard->scales);
        ks_gpu_release(w->gpu, &shard->decoded);
    }
}

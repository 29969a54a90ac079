/*
 * A product on its way, for the paths that record it. Private to gpu/head.
 */
#ifndef KS_GPU_HEAD_PRODUCT_H
#define KS_GPU_HEAD_PRODUCT_H

#include "gpu/head/head.h"

struct ks_gpu_product {
    struct ks_gpu *gpu;
    struct ks_gpu_weight *w;
    struct ks_gpu_tile *y;
    size_t m;                /* positions, which lie in gpu->x (m, cols) */
    struct ks_vk_slot *slot; /* recording; replaced where it is full */
};

enum { KS_GPU_MOST_GROUPS = 65535 }; /* of a dispatch, in each direction */

static inline uint64_t ks_gpu_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The shard's parts as bindings 0 .. KS_GPU_MAX_PARTS - 1. */
void ks_gpu_bind_parts(struct ks_vk_dispatch *d, const struct ks_gpu_shard *shard);

/* Units of 16 columns that are read at once, as in shaders/weights/layouts.glsl. */
uint32_t ks_gpu_units_together(enum ks_gpu_layout layout);

/* A dispatch that reads the packed weight waits longer than it computes: in units of arithmetic,
 * an element of the weight takes as long as that. */
#define KS_GPU_DECODE_COST 16.0

/* Record the whole product by a path, which is available. */
int ks_gpu_few(struct ks_gpu_product *p, struct ks_error *err);
int ks_gpu_many(struct ks_gpu_product *p, struct ks_error *err);
int ks_gpu_matrix(struct ks_gpu_product *p, struct ks_error *err);
bool ks_gpu_has_matrix(const struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols);

/*
 * What a product makes of a weight is kept for the next, where that isn't much for the device; else
 * it is made anew for each, some rows at a time. gpu/head/keep.c.
 */

/* Whether the weight may keep so many bytes more, in buffers of which the largest has so many. */
bool ks_gpu_may_keep(const struct ks_gpu_weight *w, uint64_t bytes, uint64_t largest);
/* A buffer of what a weight keeps: without memory for it, nothing, and false. */
bool ks_gpu_keep(struct ks_gpu *gpu, uint64_t bytes, const char *what, struct ks_vk_buffer *out);
void ks_gpu_release(struct ks_gpu *gpu, struct ks_vk_buffer *kept);
uint64_t ks_gpu_kept_bytes(const struct ks_gpu_shard *shard);
/* After a product that failed or was a rehearsal: what it recorded may never run. */
void ks_gpu_forget_kept(struct ks_gpu_weight *w);
void ks_gpu_release_kept(struct ks_gpu_weight *w);

#endif

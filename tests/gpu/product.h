/*
 * A made-up matrix with its activations, on the host and on a device, and how far an answer is from
 * an f64 sum over the same decoded weights.
 */
#ifndef KS_TESTS_GPU_PRODUCT_H
#define KS_TESTS_GPU_PRODUCT_H

#include <math.h>

#include "engine/base/bytes.h"
#include "gpu/head/proof/sample.h"
#include "gpu/head/proof/twin.h"

struct product {
    enum ks_gpu_layout layout;
    uint64_t rows, cols;
    uint8_t *parts[KS_GPU_MAX_PARTS];
    float *x; /* (KS_GPU_MAX_POSITIONS, cols) */
    struct ks_gpu_weight *w;
};

static inline void *must(void *p)
{
    assert_non_null(p);
    return p;
}

/* Everything but the device's copy. */
static inline struct product make_product(enum ks_gpu_layout layout, uint64_t rows, uint64_t cols)
{
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
    struct product p = {.layout = layout, .rows = rows, .cols = cols};
    size_t blocks = rows * (cols / info->block_elems);
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        p.parts[i] = must(malloc(blocks * info->part_bytes[i] + 1));
    uint64_t seed = 7 + rows * 31 + cols;
    ks_gpu_sample_fill(layout, blocks, &seed, p.parts);
    p.x = must(malloc(KS_GPU_MAX_POSITIONS * cols * sizeof *p.x));
    for (size_t i = 0; i < KS_GPU_MAX_POSITIONS * cols; i++)
        p.x[i] = ((float)(ks_random_next(&seed) >> 40) - 0x1p23f) * 0x1p-22f;
    return p;
}

static inline void upload(struct product *p, struct ks_gpu *gpu)
{
    struct ks_error err = {0};
    p->w = ks_gpu_weight_create(gpu, p->layout, p->rows, p->cols, &err);
    if (!p->w || ks_gpu_weight_append(p->w, p->rows, (const void *const *)p->parts, &err) != 0)
        fail_msg("%s", err.text);
}

static inline void free_product(struct product *p)
{
    ks_gpu_weight_destroy(p->w);
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        free(p->parts[i]);
    free(p->x);
}

/* y(m, rows), malloc'ed. */
static inline float *compute(const struct product *p, struct ks_gpu *gpu, enum ks_gpu_path path,
                             const float *x, size_t m)
{
    struct ks_error err = {0};
    float *y = must(malloc(m * p->rows * sizeof *y));
    struct ks_gpu_tile *tile = ks_gpu_tile_create(gpu, m, p->rows, &err);
    if (!tile || ks_gpu_matmul(p->w, path, x, m, tile, &err) != 0 ||
        ks_gpu_tile_read(tile, 0, m, y, &err) != 0)
        fail_msg("%s", err.text);
    ks_gpu_tile_destroy(tile);
    return y;
}

/* The largest error of the row's outputs over all m positions, in units of sum |x w|. */
static inline double error_of_row(const struct product *p, const float *y, size_t m, uint64_t row)
{
    float *w = must(malloc(p->cols * sizeof *w));
    ks_gpu_twin_row(p->layout, (const void *const *)p->parts, p->cols, row, w);
    double worst = 0;
    for (size_t i = 0; i < m; i++) {
        double sum = 0, size = 0;
        for (size_t k = 0; k < p->cols; k++) {
            double product = (double)w[k] * (double)p->x[i * p->cols + k];
            sum += product;
            size += fabs(product);
        }
        double error = fabs((double)y[i * p->rows + row] - sum) / (size > 0 ? size : 1);
        worst = error > worst || isnan(error) ? error : worst;
    }
    free(w);
    return worst;
}

#endif

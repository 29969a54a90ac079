#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/head/head.h"
#include "engine/model/model.h"

/* Logits read back at a time: a vocabulary is wide. */
#define READ_ROWS 64

struct device {
    struct ks_gpu *gpu;
    enum ks_head_path wish;
    enum ks_gpu_path path;
    struct ks_gpu_weight *weight;
    struct ks_gpu_tile *tile;
    float *rows; /* (READ_ROWS, vocab) */
    int (*row)(void *ctx, size_t position, const float *logits, size_t vocab, struct ks_error *err);
    void *ctx;
};

/* The fastest path that the wish allows and the head has. */
static int choose_path(struct device *d, const struct ks_matrix *head, struct ks_error *err)
{
    enum ks_gpu_path paths[KS_GPU_PATHS];
    size_t n = ks_head_paths(d->wish, paths);
    for (size_t i = 0; i < n; i++)
        if (ks_head_check_path(d->gpu, head, paths[i], "the output head", err) == 0) {
            d->path = paths[i];
            return 0;
        }
    return -1;
}

static int upload(struct device *d, const struct ks_matrix *head, struct ks_error *err)
{
    uint64_t row = 0;
    ks_type_row_bytes(head->type, head->cols, &row);
    d->rows = ks_alloc_aligned(READ_ROWS * head->rows, sizeof *d->rows);
    if (!d->rows)
        return ks_fail_memory(err, READ_ROWS * head->rows * sizeof *d->rows, "logits");
    d->weight = ks_head_upload(d->gpu, head, row * head->rows, "the output head", err);
    d->tile = d->weight ? ks_gpu_tile_create(d->gpu, READ_ROWS, head->rows, err) : NULL;
    return d->tile ? 0 : -1;
}

static int give_rows(struct device *d, const struct ks_matrix *head, const float *h, size_t first,
                     size_t n, struct ks_error *err)
{
    if (ks_gpu_matmul(d->weight, d->path, h + first * head->cols, n, d->tile, err) ||
        ks_gpu_tile_read(d->tile, 0, n, d->rows, err))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (d->row(d->ctx, first + i, d->rows + i * head->rows, head->rows, err))
            return -1;
    return 0;
}

static int multiply(void *ctx, struct ks_body *body, const struct ks_net *net, const float *h,
                    size_t n, struct ks_error *err)
{
    (void)body;
    struct device *d = ctx;
    if (!ks_net_head_is_product(net))
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s adds to its logits or caps them, which devices don't do yet",
                       net->hparams->architecture);
    if (choose_path(d, &net->head, err) || upload(d, &net->head, err))
        return -1;
    for (size_t first = 0; first < n; first += READ_ROWS)
        if (give_rows(d, &net->head, h, first, n - first < READ_ROWS ? n - first : READ_ROWS, err))
            return -1;
    return 0;
}

int ks_model_logits_on_device(struct ks_model *m, const int32_t *ids, size_t n, int threads,
                              const char *device, enum ks_head_path path,
                              int (*row)(void *ctx, size_t position, const float *logits,
                                         size_t vocab, struct ks_error *err),
                              void *ctx, struct ks_error *err)
{
    struct device d = {.wish = path, .row = row, .ctx = ctx};
    d.gpu = ks_gpu_open(device, err);
    int failed = d.gpu ? ks_model_pass(m, ids, n, threads, multiply, &d, err) : -1;
    ks_gpu_tile_destroy(d.tile);
    ks_gpu_weight_destroy(d.weight);
    ks_gpu_close(d.gpu);
    free(d.rows);
    return failed;
}

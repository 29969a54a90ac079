#include "engine/run/arms/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/head/head.h"

/* A run keeps to one path for all its positions, so that equal rows have equal bits. */
#define PATH KS_GPU_MANY

struct resident {
    const uint8_t *data; /* the matrix it was made from */
    enum ks_type type;
    struct ks_gpu_weight *weight;
};

struct ks_device {
    struct ks_gpu *gpu;
    struct ks_gpu_tile *tile;
    struct resident *heads;
    size_t n_heads;
    char name[320];
};

struct ks_device *ks_device_open(const char *which, size_t vocab, size_t positions,
                                 struct ks_error *err)
{
    struct ks_device *d = calloc(1, sizeof *d);
    if (!d) {
        ks_fail_memory(err, sizeof *d, "the device's heads");
        return NULL;
    }
    d->gpu = ks_gpu_open(which, err);
    d->tile = d->gpu ? ks_gpu_tile_create(d->gpu, positions, vocab, err) : NULL;
    if (!d->tile) {
        ks_device_close(d);
        return NULL;
    }
    snprintf(d->name, sizeof d->name, "vulkan %s (%s)", ks_gpu_info(d->gpu)->name,
             ks_gpu_path_name(PATH));
    return d;
}

void ks_device_close(struct ks_device *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n_heads; i++)
        ks_gpu_weight_destroy(d->heads[i].weight);
    free(d->heads);
    ks_gpu_tile_destroy(d->tile);
    ks_gpu_close(d->gpu);
    free(d);
}

const char *ks_device_name(const struct ks_device *d)
{
    return d->name;
}

static struct ks_gpu_weight *find(const struct ks_device *d, const struct ks_matrix *head)
{
    for (size_t i = 0; i < d->n_heads; i++)
        if (d->heads[i].data == head->data && d->heads[i].type == head->type)
            return d->heads[i].weight;
    return NULL;
}

int ks_device_upload(struct ks_device *d, const struct ks_matrix *head, struct ks_error *err)
{
    if (find(d, head))
        return 0;
    struct resident *heads = realloc(d->heads, (d->n_heads + 1) * sizeof *heads);
    if (!heads)
        return ks_fail_memory(err, (d->n_heads + 1) * sizeof *heads, "the device's heads");
    d->heads = heads;
    uint64_t row = 0;
    ks_type_row_bytes(head->type, head->cols, &row);
    struct ks_gpu_weight *weight =
        ks_head_upload(d->gpu, head, row * head->rows, "the output head", err);
    if (!weight)
        return -1;
    heads[d->n_heads++] =
        (struct resident){.data = head->data, .type = head->type, .weight = weight};
    return 0;
}

int ks_device_logits(struct ks_device *d, const struct ks_matrix *head, const float *h, size_t n,
                     float *logits, struct ks_error *err)
{
    if (ks_device_upload(d, head, err) || ks_gpu_matmul(find(d, head), PATH, h, n, d->tile, err))
        return -1;
    return ks_gpu_tile_read(d->tile, 0, n, logits, err);
}

#include "engine/run/arms/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/head/head.h"
#include "engine/head/queue.h"

#define MIN_POSITIONS 16

struct resident {
    const uint8_t *data; /* the matrix it was made from */
    enum ks_type type;
    struct ks_gpu_weight *weight;
};

struct ks_device {
    struct ks_gpu *gpu;
    struct ks_head_queue *queue;
    struct resident *heads;
    size_t n_heads;
    enum ks_gpu_path path;
    size_t positions;
    char name[320];
};

/* As many positions as one buffer holds logits of. */
static size_t choose_positions(const struct ks_gpu_info *info, size_t vocab)
{
    uint64_t limit = info->max_binding_bytes < info->max_allocation_bytes
                         ? info->max_binding_bytes
                         : info->max_allocation_bytes;
    uint64_t n = limit / (vocab * sizeof(float));
    return n > KS_GPU_MAX_POSITIONS ? KS_GPU_MAX_POSITIONS : n < MIN_POSITIONS ? MIN_POSITIONS : n;
}

struct ks_device *ks_device_open(const char *which, size_t vocab, int top_k, enum ks_isa isa,
                                 struct ks_error *err)
{
    struct ks_device *d = calloc(1, sizeof *d);
    if (!d) {
        ks_fail_memory(err, sizeof *d, "the device's heads");
        return NULL;
    }
    d->gpu = ks_gpu_open(which, err);
    if (d->gpu) {
        d->positions = choose_positions(ks_gpu_info(d->gpu), vocab);
        d->queue = ks_head_queue_create(d->gpu, d->positions, vocab, top_k, isa, err);
    }
    if (!d->queue) {
        ks_device_close(d);
        return NULL;
    }
    d->path = KS_GPU_MANY;
    snprintf(d->name, sizeof d->name, "vulkan %s", ks_gpu_info(d->gpu)->name);
    return d;
}

void ks_device_close(struct ks_device *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n_heads; i++)
        ks_gpu_weight_destroy(d->heads[i].weight);
    free(d->heads);
    ks_head_queue_destroy(d->queue);
    ks_gpu_close(d->gpu);
    free(d);
}

const char *ks_device_name(const struct ks_device *d)
{
    return d->name;
}

const char *ks_device_uuid(const struct ks_device *d)
{
    return ks_gpu_info(d->gpu)->uuid;
}

size_t ks_device_positions(const struct ks_device *d)
{
    return d->positions;
}

uint64_t ks_device_room(const struct ks_device *d)
{
    uint64_t free_bytes = ks_gpu_info(d->gpu)->memory_free_bytes; /* before the tiles took theirs */
    uint64_t tiles = ks_head_queue_bytes(d->queue);
    return free_bytes == 0 ? UINT64_MAX : free_bytes > tiles ? free_bytes - tiles : 0;
}

static uint64_t bytes_of(const struct ks_matrix *m)
{
    uint64_t row = 0;
    ks_type_row_bytes(m->type, m->cols, &row);
    return row * m->rows;
}

int ks_device_check(const struct ks_device *d, enum ks_gpu_path path, const struct ks_matrix *head,
                    const char *what, struct ks_error *err)
{
    return ks_head_check_path(d->gpu, head, path, what, err);
}

void ks_device_take_path(struct ks_device *d, enum ks_gpu_path path)
{
    d->path = path;
    snprintf(d->name, sizeof d->name, "vulkan %s (%s)", ks_gpu_info(d->gpu)->name,
             ks_gpu_path_name(path));
}

enum ks_gpu_path ks_device_path(const struct ks_device *d)
{
    return d->path;
}

int ks_device_prepare(struct ks_device *d, const struct ks_matrix *head, struct ks_error *err)
{
    enum ks_gpu_layout layout;
    if (!ks_head_layout(head->type, &layout))
        return 0;
    return ks_gpu_prepare(d->gpu, layout, head->cols, d->path, err);
}

static struct ks_gpu_weight *find(const struct ks_device *d, const struct ks_matrix *head)
{
    for (size_t i = 0; i < d->n_heads; i++)
        if (d->heads[i].data == head->data && d->heads[i].type == head->type)
            return d->heads[i].weight;
    return NULL;
}

bool ks_device_holds(const struct ks_device *d, const struct ks_matrix *head)
{
    return find(d, head) != NULL;
}

int ks_device_upload(struct ks_device *d, const struct ks_matrix *head, struct ks_error *err)
{
    if (find(d, head))
        return 0;
    struct resident *heads = realloc(d->heads, (d->n_heads + 1) * sizeof *heads);
    if (!heads)
        return ks_fail_memory(err, (d->n_heads + 1) * sizeof *heads, "the device's heads");
    d->heads = heads;
    struct ks_gpu_weight *weight =
        ks_head_upload(d->gpu, head, bytes_of(head), "the output head", err);
    if (!weight)
        return -1;
    heads[d->n_heads++] =
        (struct resident){.data = head->data, .type = head->type, .weight = weight};
    return 0;
}

int ks_device_reference(struct ks_device *d, const struct ks_matrix *head, const float *h,
                        const int32_t *targets, size_t n, struct ks_ref_row *out,
                        struct ks_error *err)
{
    if (ks_device_upload(d, head, err))
        return -1;
    return ks_head_queue_reference(d->queue, find(d, head), d->path, h, targets, n, out, err);
}

int ks_device_arm(struct ks_device *d, const struct ks_matrix *head, const float *h,
                  struct ks_arm_row *out, struct ks_error *err)
{
    if (head && ks_device_upload(d, head, err))
        return -1;
    return ks_head_queue_arm(d->queue, head ? find(d, head) : NULL, d->path, h, out, err);
}

int ks_device_finish(struct ks_device *d, struct ks_error *err)
{
    return ks_head_queue_finish(d->queue, err);
}

int ks_device_read(struct ks_device *d, size_t n, float *logits, struct ks_error *err)
{
    return ks_head_queue_read(d->queue, n, logits, err);
}

#include "engine/run/arms/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/head/finish.h"
#include "engine/head/head.h"

#define MIN_POSITIONS 16

struct resident {
    const uint8_t *data; /* the matrix it was made from */
    enum ks_type type;
    struct ks_gpu_weight *weight;
};

struct ks_device {
    struct ks_gpu *gpu;
    struct ks_gpu_tile *reference, *arm;
    struct ks_gpu_ruler *ruler;
    struct resident *heads;
    size_t n_heads;
    enum ks_gpu_path path;
    size_t positions;
    struct ks_gpu_reference_row *reference_sums; /* (positions) of the last reference */
    struct ks_gpu_arm_row *arm_sums;             /* (positions) */
    uint32_t *unsigned_targets;                  /* (positions) */
    const struct ks_ref_row *reference_rows;     /* the caller's, of the last reference */
    struct ks_head_measure measure;
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

static int make_room(struct ks_device *d, size_t vocab, int top_k, struct ks_error *err)
{
    size_t n = d->positions;
    d->reference_sums = calloc(n, sizeof *d->reference_sums);
    d->arm_sums = calloc(n, sizeof *d->arm_sums);
    d->unsigned_targets = calloc(n, sizeof *d->unsigned_targets);
    if (!d->reference_sums || !d->arm_sums || !d->unsigned_targets)
        return ks_fail_memory(err, n * sizeof *d->arm_sums, "the device's sums");
    d->reference = ks_gpu_tile_create(d->gpu, n, vocab, err);
    d->arm = d->reference ? ks_gpu_tile_create(d->gpu, n, vocab, err) : NULL;
    d->ruler = d->arm ? ks_gpu_ruler_create(d->gpu, n, vocab, (uint32_t)top_k, err) : NULL;
    return d->ruler ? 0 : -1;
}

struct ks_device *ks_device_open(const char *which, size_t vocab, int top_k, enum ks_isa isa,
                                 struct ks_error *err)
{
    struct ks_device *d = calloc(1, sizeof *d);
    if (!d) {
        ks_fail_memory(err, sizeof *d, "the device's heads");
        return NULL;
    }
    d->measure = (struct ks_head_measure){.isa = isa, .vocab = vocab, .top_k = top_k};
    d->gpu = ks_gpu_open(which, err);
    if (d->gpu)
        d->positions = choose_positions(ks_gpu_info(d->gpu), vocab);
    if (!d->gpu || make_room(d, vocab, top_k, err)) {
        ks_device_close(d);
        return NULL;
    }
    ks_device_take_path(d, KS_GPU_MANY);
    return d;
}

void ks_device_close(struct ks_device *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n_heads; i++)
        ks_gpu_weight_destroy(d->heads[i].weight);
    free(d->heads);
    ks_gpu_ruler_destroy(d->ruler);
    ks_gpu_tile_destroy(d->arm);
    ks_gpu_tile_destroy(d->reference);
    ks_gpu_close(d->gpu);
    free(d->reference_sums);
    free(d->arm_sums);
    free(d->unsigned_targets);
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
    uint64_t tiles = 2 * (uint64_t)d->positions * d->measure.vocab * sizeof(float);
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
    for (size_t i = 0; i < n; i++)
        d->unsigned_targets[i] = (uint32_t)targets[i];
    if (ks_device_upload(d, head, err) ||
        ks_gpu_matmul(find(d, head), d->path, h, n, d->reference, err) ||
        ks_gpu_ruler_reference(d->ruler, d->reference, d->unsigned_targets, n, d->reference_sums,
                               err))
        return -1;
    for (size_t i = 0; i < n; i++)
        ks_head_finish_reference(&d->reference_sums[i], &out[i]);
    d->measure.targets = targets;
    d->reference_rows = out;
    return 0;
}

/* Where the rows lie that the CPU has to measure. */
struct rows {
    struct ks_gpu_tile *reference, *arm;
};

static int read_row(void *ctx, bool arm, size_t position, float *row, struct ks_error *err)
{
    const struct rows *rows = ctx;
    return ks_gpu_tile_read(arm ? rows->arm : rows->reference, position, 1, row, err);
}

int ks_device_arm(struct ks_device *d, const struct ks_matrix *head, const float *h, size_t n,
                  struct ks_arm_row *out, struct ks_error *err)
{
    struct rows rows = {.reference = d->reference, .arm = head ? d->arm : d->reference};
    if (head && (ks_device_upload(d, head, err) ||
                 ks_gpu_matmul(find(d, head), d->path, h, n, d->arm, err)))
        return -1;
    if (ks_gpu_ruler_arm(d->ruler, rows.arm, n, d->arm_sums, err))
        return -1;
    struct ks_head_reader reader = {.read = read_row, .ctx = &rows};
    return ks_head_finish(&d->measure, &reader, d->reference_sums, d->reference_rows, d->arm_sums,
                          n, out, NULL, err);
}

int ks_device_read(struct ks_device *d, size_t n, float *logits, struct ks_error *err)
{
    return ks_gpu_tile_read(d->reference, 0, n, logits, err);
}

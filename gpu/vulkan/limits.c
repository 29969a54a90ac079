/*
 * What a device gives at most, so that times can be held against it.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "gpu/vulkan/device.h"

enum {
    ROUNDS = 20,
    WARM_UP_NS = 200000000, /* an idle device has lowered its clock */
    /* As in limit.comp. */
    THREADS = 256,
    EACH = 4,
    TURNS = 256,
};

enum kind { COPY, READ, ARITHMETIC };

struct limit {
    struct ks_gpu *gpu;
    struct ks_vk_buffer from, to;
    uint32_t vec4s;
    enum kind kind;
    int dispatches; /* of a submission */
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int dispatch_all(const struct limit *l, struct ks_error *err)
{
    struct ks_vk_slot *slot;
    if (ks_vk_begin(l->gpu, &slot, err) != 0)
        return -1;
    uint32_t of_group = THREADS * EACH;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_LIMIT, .constants = {l->kind}},
        .buffers = {&l->from, &l->to},
        .push = &l->vec4s,
        .push_bytes = sizeof l->vec4s,
        .groups = {l->vec4s ? (l->vec4s + of_group - 1) / of_group : 1, 1, 1},
    };
    for (int i = 0; i < l->dispatches; i++) {
        if (ks_vk_dispatch(l->gpu, &slot, &d, err) != 0)
            return -1;
        ks_vk_barrier(slot);
    }
    if (ks_vk_submit(l->gpu, slot, err) != 0)
        return -1;
    return ks_vk_wait(l->gpu, l->gpu->submitted, err);
}

/* *seconds of a submission: the median of the rounds. */
static int time_all(const struct limit *l, double *seconds, struct ks_error *err)
{
    double took[ROUNDS];
    int64_t begin = ks_clock_ns();
    do {
        if (dispatch_all(l, err) != 0)
            return -1;
    } while (ks_clock_ns() - begin < WARM_UP_NS);
    for (int i = 0; i < ROUNDS; i++) {
        begin = ks_clock_ns();
        if (dispatch_all(l, err) != 0)
            return -1;
        took[i] = (double)(ks_clock_ns() - begin) * 1e-9;
    }
    qsort(took, ROUNDS, sizeof *took, by_size);
    *seconds = took[ROUNDS / 2];
    return 0;
}

/* *seconds of one dispatch among many; the rest of the submission is taken out. */
static int time_one(struct limit *l, uint32_t vec4s, enum kind kind, int dispatches,
                    double *seconds, struct ks_error *err)
{
    double one, many;
    l->vec4s = vec4s;
    l->kind = kind;
    l->dispatches = 1;
    if (time_all(l, &one, err) != 0)
        return -1;
    l->dispatches = 1 + dispatches;
    if (time_all(l, &many, err) != 0)
        return -1;
    *seconds = (many - one) / dispatches;
    return 0;
}

static int measure(struct limit *l, uint32_t vec4s, struct ks_gpu_limits *out, struct ks_error *err)
{
    double copy, read, arithmetic, dispatch, submit;
    if (time_one(l, vec4s, COPY, 16, &copy, err) != 0 ||
        time_one(l, vec4s, READ, 16, &read, err) != 0 ||
        time_one(l, vec4s, ARITHMETIC, 16, &arithmetic, err) != 0 ||
        time_one(l, 0, COPY, 200, &dispatch, err) != 0)
        return -1;
    l->dispatches = 1;
    if (time_all(l, &submit, err) != 0)
        return -1;
    double bytes = 16.0 * vec4s;
    *out = (struct ks_gpu_limits){
        .copy_bytes_s = 2 * bytes / copy,
        .read_bytes_s = bytes / read,
        .flops_s = 4.0 * vec4s * TURNS * 2 / arithmetic,
        .dispatch_s = dispatch,
        .submit_s = submit,
    };
    return 0;
}

int ks_gpu_measure(struct ks_gpu *gpu, uint64_t bytes, struct ks_gpu_limits *out,
                   struct ks_error *err)
{
    struct limit l = {.gpu = gpu};
    bytes = bytes < gpu->max_bytes ? bytes : gpu->max_bytes;
    int failed =
        ks_vk_buffer_create(gpu, KS_VK_ON_DEVICE, bytes, "what is copied", &l.from, err) != 0 ||
        ks_vk_buffer_create(gpu, KS_VK_ON_DEVICE, bytes, "the copy", &l.to, err) != 0 ||
        measure(&l, (uint32_t)(bytes / 16), out, err) != 0;
    vkDeviceWaitIdle(gpu->device);
    ks_vk_buffer_destroy(gpu, &l.from);
    ks_vk_buffer_destroy(gpu, &l.to);
    return failed ? -1 : 0;
}

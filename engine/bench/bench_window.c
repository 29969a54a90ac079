/*
 * What a window of a run costs on a GPU: a reference's head, an arm's and the ruler's sums over
 * both, which never leave the device. Sums alone are measured from call to answer, and recorded one
 * behind the other, so that a line tells what the device does and not what submitting and waiting
 * cost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/bench/bench_gpu.h"
#include "engine/head/head.h"
#include "engine/head/queue.h"

#define POSITIONS KS_GPU_MAX_POSITIONS
#define TOP       10
#define AGAIN     16 /* sums in one submission */
#define AHEAD     8  /* windows of which none waits for the one before */

/* Of a window: what goes in and what comes back. */
struct window {
    const struct ks_matrix *shape;
    struct ks_gpu_weight *weight;
    enum ks_gpu_path path;
    float *x[2]; /* of the reference and of the arm, (POSITIONS, cols) */
    int32_t *targets;
    struct ks_ref_row *reference_rows;
    struct ks_arm_row *arm_rows;
    struct ks_head_queue *queue;
    int windows; /* of a call */
};

static void free_window(struct window *w)
{
    ks_head_queue_destroy(w->queue);
    for (int i = 0; i < 2; i++)
        free(w->x[i]);
    free(w->targets);
    free(w->reference_rows);
    free(w->arm_rows);
}

static int fill_window(struct window *w, struct bench_gpu *d, struct ks_error *err)
{
    size_t rows = w->shape->rows, n = POSITIONS * w->shape->cols;
    w->targets = calloc(POSITIONS, sizeof *w->targets);
    w->reference_rows = calloc(POSITIONS, sizeof *w->reference_rows);
    w->arm_rows = calloc(POSITIONS, sizeof *w->arm_rows);
    if (!w->targets || !w->reference_rows || !w->arm_rows)
        return ks_fail_memory(err, POSITIONS * sizeof *w->arm_rows, "the benchmark's sums");
    for (int i = 0; i < 2; i++)
        if (!(w->x[i] = ks_bench_floats(n, err)))
            return -1;
    for (size_t i = 0; i < n; i++) /* as close as a good quantization is */
        w->x[1][i] = w->x[0][i] + 0.01f * w->x[1][i];
    w->queue = ks_head_queue_create(d->gpu, POSITIONS, rows, TOP, ks_cpu_isa(d->bench->cpu), err);
    return w->queue ? 0 : -1;
}

static int run_windows(void *ctx, struct ks_error *err)
{
    struct window *w = ctx;
    for (int i = 0; i < w->windows; i++)
        if (ks_head_queue_reference(w->queue, w->weight, w->path, w->x[0], w->targets, POSITIONS,
                                    w->reference_rows, err) ||
            ks_head_queue_arm(w->queue, w->weight, w->path, w->x[1], w->arm_rows, err))
            return -1;
    return ks_head_queue_finish(w->queue, err);
}

/* Next tokens are likely ones, as in a text. */
static int choose_targets(struct window *w, struct ks_error *err)
{
    w->path = KS_GPU_MANY;
    w->windows = 1;
    if (run_windows(w, err))
        return -1;
    for (size_t i = 0; i < POSITIONS; i++)
        w->targets[i] = w->reference_rows[i].top[i % TOP];
    return 0;
}

static int bench_path(struct bench_gpu *d, struct window *w, struct ks_error *err)
{
    double alone, ahead;
    w->windows = 1;
    if (ks_bench_gpu_time(run_windows, w, &alone, err))
        return -1;
    w->windows = AHEAD;
    if (ks_bench_gpu_time(run_windows, w, &ahead, err))
        return -1;
    char name[128];
    snprintf(name, sizeof name, "window of %d, %s %llu x %llu twice and ruler, %s", POSITIONS,
             ks_type_info(w->shape->type)->name, (unsigned long long)w->shape->cols,
             (unsigned long long)w->shape->rows, ks_gpu_path_name(w->path));
    ks_bench_line(d->bench, "gpu", name, alone * 1e6, "us", NAN, NULL);
    ks_bench_line(d->bench, "gpu", "  one behind the other", ahead / AHEAD * 1e6, "us", NAN, NULL);
    return 0;
}

static int bench_paths(struct bench_gpu *d, struct window *w, struct ks_error *err)
{
    enum ks_gpu_layout layout;
    if (!ks_head_layout(w->shape->type, &layout))
        return 0;
    for (w->path = KS_GPU_MANY; w->path < KS_GPU_PATHS; w->path++)
        if (ks_gpu_path_available(d->gpu, layout, w->shape->cols, w->path) && bench_path(d, w, err))
            return -1;
    return 0;
}

/* ------------------------------------------------------------------ sums alone */

struct sums {
    struct ks_gpu_ruler *ruler;
    struct ks_gpu_tile *reference, *arm;
    uint32_t targets[POSITIONS];
    struct ks_gpu_reference_row *reference_rows;
    struct ks_gpu_arm_row *arm_rows;
    unsigned times;
};

static int run_sums(void *ctx, struct ks_error *err)
{
    struct sums *s = ctx;
    if (ks_gpu_ruler_reference(s->ruler, s->reference, s->targets, POSITIONS, err) ||
        ks_gpu_ruler_arm_again(s->ruler, s->arm, s->times, err))
        return -1;
    return ks_gpu_ruler_collect(s->ruler, s->reference_rows, s->arm_rows, err);
}

static int fill_sums(struct sums *s, struct bench_gpu *d, const struct window *w,
                     struct ks_error *err)
{
    s->reference_rows = calloc(POSITIONS, sizeof *s->reference_rows);
    s->arm_rows = calloc(POSITIONS, sizeof *s->arm_rows);
    if (!s->reference_rows || !s->arm_rows)
        return ks_fail_memory(err, POSITIONS * sizeof *s->arm_rows, "the benchmark's sums");
    for (size_t i = 0; i < POSITIONS; i++)
        s->targets[i] = (uint32_t)w->targets[i];
    s->ruler = ks_gpu_ruler_create(d->gpu, POSITIONS, w->shape->rows, TOP, err);
    s->reference = s->ruler ? ks_gpu_tile_create(d->gpu, POSITIONS, w->shape->rows, err) : NULL;
    s->arm = s->reference ? ks_gpu_tile_create(d->gpu, POSITIONS, w->shape->rows, err) : NULL;
    if (!s->arm || ks_gpu_matmul(w->weight, KS_GPU_MANY, w->x[0], POSITIONS, s->reference, err))
        return -1;
    return ks_gpu_matmul(w->weight, KS_GPU_MANY, w->x[1], POSITIONS, s->arm, err);
}

static void free_sums(struct sums *s)
{
    ks_gpu_tile_destroy(s->arm);
    ks_gpu_tile_destroy(s->reference);
    ks_gpu_ruler_destroy(s->ruler);
    free(s->reference_rows);
    free(s->arm_rows);
}

static int time_sums(struct bench_gpu *d, const struct window *w, struct sums *s,
                     struct ks_error *err)
{
    double called, again;
    s->times = 1;
    if (ks_bench_gpu_time(run_sums, s, &called, err))
        return -1;
    s->times = 1 + AGAIN;
    if (ks_bench_gpu_time(run_sums, s, &again, err))
        return -1;
    double once = 2.0 * sizeof(float) * POSITIONS * (double)w->shape->rows;
    double alone = (again - called) / AGAIN;
    char name[128];
    snprintf(name, sizeof name, "ruler, %d x %llu, reference and arm", POSITIONS,
             (unsigned long long)w->shape->rows);
    ks_bench_line(d->bench, "gpu", name, alone * 1e6, "us", NAN, NULL);
    ks_bench_line(d->bench, "gpu", "  logits, each once", once / alone * 1e-9, "GB/s",
                  d->limits.read_bytes_s * 1e-9, "read");
    ks_bench_line(d->bench, "gpu", "  submitted and waited for", called * 1e6, "us", NAN, NULL);
    return 0;
}

static int bench_sums(struct bench_gpu *d, const struct window *w, struct ks_error *err)
{
    struct sums s = {0};
    int failed = fill_sums(&s, d, w, err) || time_sums(d, w, &s, err);
    free_sums(&s);
    return failed ? -1 : 0;
}

int ks_bench_gpu_window(struct bench_gpu *d, const struct ks_matrix *m,
                        struct ks_gpu_weight *weight, struct ks_error *err)
{
    struct window w = {.shape = m, .weight = weight};
    int failed = fill_window(&w, d, err) || choose_targets(&w, err) || bench_sums(d, &w, err) ||
                 bench_paths(d, &w, err);
    free_window(&w);
    return failed ? -1 : 0;
}

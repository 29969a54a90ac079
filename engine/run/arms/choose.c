/*
 * The trial: some rows that look like normed residuals go through the reference's head on both
 * sides. Every logit of a few rows must agree within the rounding of an f32 product; then both
 * sides are timed at what a reference and one arm cost, the device after a warm-up, since an idle
 * GPU lowers its clock. The ruler's sums count on the device, where they come with the products,
 * and not on the CPU: the gain is rather understated.
 */
#include "engine/run/arms/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"

#define TRIAL_ROWS ((size_t)256)
#define CHECK_ROWS ((size_t)4)
/* What the CPU's logits may take; a wide vocabulary is timed on fewer rows. */
#define TRIAL_BYTES ((uint64_t)64 << 20)
#define WARM_UP_NS  200000000
#define ROUNDS      3
/* Of the largest logit. The device keeps 1e-5 * sum |x w|, typically under 1e-6 of it, and sum |x
 * w| is some times the largest of so many logits; a wrong path is off by far more. */
#define TOLERANCE 2e-5

struct trial {
    struct ks_cpu *cpu;
    struct ks_device *device;
    const struct ks_matrix *head;
    size_t n;
    float *x; /* (n, head.cols) */
    size_t n_checked;
    float *on_cpu;          /* (n, head.rows) */
    float *on_device;       /* (n_checked, head.rows) */
    int32_t *targets;       /* (n) */
    struct ks_ref_row *ref; /* (n) */
    struct ks_arm_row *arm; /* (n) */
};

static int trial_init(struct trial *t, struct ks_error *err)
{
    size_t rows = t->head->rows, cols = t->head->cols;
    t->x = ks_alloc_aligned(t->n * cols, sizeof *t->x);
    t->on_cpu = ks_alloc_aligned(t->n * rows, sizeof *t->on_cpu);
    t->on_device = ks_alloc_aligned(t->n_checked * rows, sizeof *t->on_device);
    t->targets = calloc(t->n, sizeof *t->targets);
    t->ref = calloc(t->n, sizeof *t->ref);
    t->arm = calloc(t->n, sizeof *t->arm);
    if (!t->x || !t->on_cpu || !t->on_device || !t->targets || !t->ref || !t->arm)
        return ks_fail_memory(err, t->n * rows * sizeof *t->on_cpu, "trying the device");
    uint64_t random = 1;
    for (size_t i = 0; i < t->n * cols; i++)
        t->x[i] = (float)(ks_random_next(&random) >> 40) / 8388608.0f - 1.0f;
    return 0;
}

static void trial_finish(struct trial *t)
{
    free(t->x);
    free(t->on_cpu);
    free(t->on_device);
    free(t->targets);
    free(t->ref);
    free(t->arm);
}

static int run_cpu(struct trial *t, size_t n, struct ks_error *err)
{
    return ks_matmul(t->cpu, t->head, t->x, t->head->cols, n, t->on_cpu, t->head->rows, err);
}

static int run_cpu_twice(struct trial *t, struct ks_error *err)
{
    return run_cpu(t, t->n, err) || run_cpu(t, t->n, err) ? -1 : 0;
}

static int run_device_twice(struct trial *t, struct ks_error *err)
{
    return ks_device_reference(t->device, t->head, t->x, t->targets, t->n, t->ref, err) ||
                   ks_device_arm(t->device, t->head, t->x, t->n, t->arm, err)
               ? -1
               : 0;
}

static int check(struct trial *t, struct ks_error *err)
{
    size_t rows = t->n_checked, n = rows * t->head->rows;
    if (run_cpu(t, rows, err) ||
        ks_device_reference(t->device, t->head, t->x, t->targets, rows, t->ref, err) ||
        ks_device_read(t->device, rows, t->on_device, err))
        return -1;
    float largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(t->on_cpu[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(t->on_cpu[i] - t->on_device[i]) <= (float)TOLERANCE * largest))
            return ks_fail(err, KS_UNSUPPORTED,
                           "it computes wrong: logit %zu of a trial is %g there and %g on the cpu",
                           i, (double)t->on_device[i], (double)t->on_cpu[i]);
    return 0;
}

/* The best time of some rounds, in nanoseconds. */
static int time_of(struct trial *t, int (*run)(struct trial *t, struct ks_error *err),
                   int64_t *best, struct ks_error *err)
{
    *best = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t begin = ks_clock_ns();
        if (run(t, err))
            return -1;
        int64_t took = ks_clock_ns() - begin;
        if (took < *best)
            *best = took;
    }
    return 0;
}

static int measure(struct trial *t, double *gain, struct ks_error *err)
{
    int64_t cpu, device, begin = ks_clock_ns();
    while (ks_clock_ns() - begin < WARM_UP_NS)
        if (run_device_twice(t, err))
            return -1;
    if (time_of(t, run_device_twice, &device, err) || time_of(t, run_cpu_twice, &cpu, err))
        return -1;
    *gain = (double)cpu / (double)device;
    return 0;
}

static size_t trial_rows(const struct ks_device *device, const struct ks_matrix *head)
{
    uint64_t fit = TRIAL_BYTES / (head->rows * sizeof(float));
    size_t n = fit < TRIAL_ROWS ? (size_t)fit : TRIAL_ROWS;
    if (n < CHECK_ROWS)
        n = CHECK_ROWS;
    return n < ks_device_positions(device) ? n : ks_device_positions(device);
}

static int try_device(struct ks_head_use *use, struct ks_cpu *cpu, const struct ks_matrix *head,
                      struct ks_error *err)
{
    size_t n = trial_rows(use->device, head);
    struct trial t = {.cpu = cpu,
                      .device = use->device,
                      .head = head,
                      .n = n,
                      .n_checked = n < CHECK_ROWS ? n : CHECK_ROWS};
    int failed = trial_init(&t, err) || check(&t, err) || measure(&t, &use->gain, err);
    trial_finish(&t);
    return failed ? -1 : 0;
}

static void give_up(struct ks_head_use *use)
{
    ks_device_close(use->device);
    use->device = NULL;
}

void ks_head_choose(struct ks_head_use *use, enum ks_head_choice choice, const char *which,
                    struct ks_cpu *cpu, const struct ks_matrix *head, int top_k,
                    const char *obstacle)
{
    struct ks_error err;
    *use = (struct ks_head_use){.gain = NAN, .warn = choice == KS_HEAD_VULKAN || which};
    if (choice == KS_HEAD_CPU) {
        use->warn = false;
        snprintf(use->note, sizeof use->note, "as asked");
        return;
    }
    if (obstacle) {
        snprintf(use->note, sizeof use->note, "%s", obstacle);
        return;
    }
    use->device = ks_device_open(which, head->rows, top_k, ks_cpu_isa(cpu), &err);
    if (!use->device) {
        snprintf(use->note, sizeof use->note, "%.*s", (int)sizeof use->note - 1, err.text);
        return;
    }
    if (try_device(use, cpu, head, &err)) {
        snprintf(use->note, sizeof use->note, "%.100s: %.*s", ks_device_name(use->device),
                 (int)sizeof use->note - 110, err.text);
        give_up(use);
    } else if (choice == KS_HEAD_AUTO && use->gain < 1) {
        snprintf(use->note, sizeof use->note, "%.100s is slower here, %.2f times the cpu's speed",
                 ks_device_name(use->device), use->gain);
        give_up(use);
    }
}

#include "engine/run/arms/trial.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"

#define TRIAL_ROWS ((size_t)256)
#define CHECK_ROWS ((size_t)4)
/* What the logits of the trial may take; a wide vocabulary is timed on fewer rows. */
#define TRIAL_BYTES ((uint64_t)64 << 20)
/* An idle GPU has lowered its clock: it is warm once nothing was faster by a twentieth for so long.
 * One that takes longer to raise it is understated. */
#define STEADY_NS 40000000
#define ROUNDS    3
/* No round begins after so much: a slow device is known for slow then. */
#define DEVICE_NS 300000000
#define CPU_NS    100000000
/* Of the largest logit. The device keeps 1e-5 * sum |x w|, typically under 1e-6 of it, and sum |x
 * w| is some times the largest of so many logits; a wrong path is off by far more. */
#define TOLERANCE 2e-5

static size_t rows_of_trial(const struct ks_matrix *head, size_t positions)
{
    uint64_t fit = TRIAL_BYTES / (head->rows * sizeof(float));
    size_t n = fit < TRIAL_ROWS ? (size_t)fit : TRIAL_ROWS;
    if (n < CHECK_ROWS)
        n = CHECK_ROWS;
    return n < positions ? n : positions;
}

int ks_trial_init(struct ks_trial *t, const struct ks_matrix *head, size_t positions,
                  struct ks_error *err)
{
    size_t n = rows_of_trial(head, positions), cols = head->cols;
    *t = (struct ks_trial){.head = head, .n = n, .n_checked = n < CHECK_ROWS ? n : CHECK_ROWS};
    t->x = ks_alloc_aligned(n * cols, sizeof *t->x);
    t->logits = ks_alloc_aligned(t->n_checked * head->rows, sizeof *t->logits);
    t->targets = calloc(n, sizeof *t->targets);
    t->ref = calloc(n, sizeof *t->ref);
    t->arm = calloc(n, sizeof *t->arm);
    if (!t->x || !t->logits || !t->targets || !t->ref || !t->arm)
        return ks_fail_memory(err, n * cols * sizeof *t->x, "trying the device");
    uint64_t random = 1;
    for (size_t i = 0; i < n * cols; i++)
        t->x[i] = (float)(ks_random_next(&random) >> 40) / 8388608.0f - 1.0f;
    return 0;
}

void ks_trial_finish(struct ks_trial *t)
{
    free(t->x);
    free(t->logits);
    free(t->targets);
    free(t->ref);
    free(t->arm);
}

/* ------------------------------------------------------------------ the device */

int ks_trial_compute(struct ks_trial *t, struct ks_device *device, struct ks_error *err)
{
    size_t n = t->n_checked;
    if (ks_device_reference(device, t->head, t->x, t->targets, n, t->ref, err))
        return -1;
    return ks_device_read(device, n, t->logits, err);
}

static int run_device(struct ks_trial *t, struct ks_device *device, struct ks_error *err)
{
    if (ks_device_reference(device, t->head, t->x, t->targets, t->n, t->ref, err))
        return -1;
    if (ks_device_arm(device, t->head, t->x, t->arm, err))
        return -1;
    return ks_device_finish(device, err);
}

int ks_trial_time(struct ks_trial *t, struct ks_device *device, struct ks_error *err)
{
    int64_t first = ks_clock_ns(), now = first, better = first, best = INT64_MAX;
    for (int i = 0; i < ROUNDS || now - better < STEADY_NS; i++) {
        if (i > 0 && now - first >= DEVICE_NS)
            break;
        int64_t begin = now;
        if (run_device(t, device, err))
            return -1;
        now = ks_clock_ns();
        if (now - begin < best - best / 20)
            better = now;
        if (now - begin < best)
            best = now - begin;
    }
    t->device_ns = best;
    return 0;
}

/* ------------------------------------------------------------------ the CPU */

static int run_cpu(struct ks_trial *t, struct ks_cpu *cpu, size_t n, float *logits,
                   struct ks_error *err)
{
    return ks_matmul(cpu, t->head, t->x, t->head->cols, n, logits, t->head->rows, err);
}

static int compare(const struct ks_trial *t, const float *on_cpu, struct ks_error *err)
{
    size_t n = t->n_checked * t->head->rows;
    float largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(on_cpu[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(on_cpu[i] - t->logits[i]) <= (float)TOLERANCE * largest))
            return ks_fail(err, KS_UNSUPPORTED,
                           "it computes wrong: logit %zu of a trial is %g there and %g on the cpu",
                           i, (double)t->logits[i], (double)on_cpu[i]);
    return 0;
}

int ks_trial_compare(struct ks_trial *t, struct ks_cpu *cpu, struct ks_error *err)
{
    float *on_cpu = ks_alloc_aligned(t->n_checked * t->head->rows, sizeof *on_cpu);
    if (!on_cpu)
        return ks_fail_memory(err, t->n_checked * t->head->rows * sizeof *on_cpu,
                              "trying the device");
    int failed = run_cpu(t, cpu, t->n_checked, on_cpu, err) || compare(t, on_cpu, err);
    free(on_cpu);
    return failed ? -1 : 0;
}

int ks_trial_gain(struct ks_trial *t, struct ks_cpu *cpu, double *gain, struct ks_error *err)
{
    float *logits = ks_alloc_aligned(t->n * t->head->rows, sizeof *logits);
    if (!logits)
        return ks_fail_memory(err, t->n * t->head->rows * sizeof *logits, "timing the cpu");
    int64_t best = INT64_MAX, first = ks_clock_ns(), begin = first, now;
    int failed = 0;
    for (int i = 0; i < ROUNDS && begin - first < CPU_NS && !failed; i++, begin = now) {
        failed = run_cpu(t, cpu, t->n, logits, err);
        now = ks_clock_ns();
        best = now - begin < best ? now - begin : best;
    }
    free(logits);
    if (!failed)
        *gain = 2.0 * (double)best / (double)t->device_ns;
    return failed;
}

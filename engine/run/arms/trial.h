/*
 * The trial: some rows that look like normed residuals go through a head on a device and on the
 * CPU. Every logit of a few rows must agree within the rounding of an f32 product; then both sides
 * are timed at what a reference and one arm cost. The ruler's sums count on the device, where they
 * come with the products, and not on the CPU: the gain is rather understated.
 *
 * One thread at a time, the device's.
 */
#ifndef KS_ENGINE_RUN_ARMS_TRIAL_H
#define KS_ENGINE_RUN_ARMS_TRIAL_H

#include "engine/kernels/cpu.h"
#include "engine/run/arms/device.h"

struct ks_trial {
    const struct ks_matrix *head; /* borrowed */
    size_t n;                     /* rows */
    size_t n_checked;             /* of them compared */
    float *x;                     /* (n, head.cols) */
    float *logits;                /* (n_checked, head.rows) of the device */
    int32_t *targets;             /* (n) */
    struct ks_ref_row *ref;       /* (n) */
    struct ks_arm_row *arm;       /* (n) */
    int64_t device_ns;            /* of the reference's rows and an arm's; 0 until timed */
};

/* Rows for a device of so many positions; free with ks_trial_finish in success and failure. */
int ks_trial_init(struct ks_trial *t, const struct ks_matrix *head, size_t positions,
                  struct ks_error *err);
void ks_trial_finish(struct ks_trial *t); /* accepts a zeroed one */

/* The rows to be compared, by the device's path, which thereby proves itself. */
int ks_trial_compute(struct ks_trial *t, struct ks_device *device, struct ks_error *err);
/* device_ns, after warming up. */
int ks_trial_time(struct ks_trial *t, struct ks_device *device, struct ks_error *err);

/* KS_UNSUPPORTED where what the device computed is not what the CPU does. */
int ks_trial_compare(struct ks_trial *t, struct ks_cpu *cpu, struct ks_error *err);
/* *gain = the device's speed over the CPU's, which is timed now. */
int ks_trial_gain(struct ks_trial *t, struct ks_cpu *cpu, double *gain, struct ks_error *err);

#endif

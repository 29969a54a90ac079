/*
 * Where the heads of a run are multiplied: on the CPU, or on a device that proved itself and, where
 * the choice is automatic, is faster at this model's real head.
 *
 * A device is opened, proved and timed on a thread of its own while the run reads its corpora and
 * builds its arms, so that the first window need not wait for drivers and their compilers.
 */
#ifndef KS_ENGINE_RUN_ARMS_CHOOSE_H
#define KS_ENGINE_RUN_ARMS_CHOOSE_H

#include "engine/engine.h"
#include "engine/kernels/cpu.h"
#include "engine/model/model.h"
#include "engine/run/arms/device.h"

/* What is asked for. */
struct ks_head_wish {
    enum ks_head_choice choice;
    enum ks_head_path path;
    const char *which; /* device: as ks_gpu_choose takes it; borrowed */
    int top_k;
    enum ks_isa isa; /* of the CPU that measures the rows that f32 can't */
};

struct ks_head_trial;

struct ks_head_use {
    struct ks_head_wish wish;
    struct ks_head_trial *trial; /* on its way; NULL: decided */
    struct ks_device *device;    /* NULL: the CPU */
    double gain;                 /* speed over the CPU's; NaN where it was not measured */
    char note[512];              /* for people: why not a device; "" where it's used */
    bool warn;                   /* the note answers somebody who asked for a device */
    bool reopened;
};

/*
 * Begins to try a device on the reference's head, whose data live until ks_head_end; or decides
 * for the CPU at once: where it was asked for, where no thread is to be had, and, unless somebody
 * asked, where all heads of the run are so few flops that no device is worth its start.
 */
void ks_head_begin(struct ks_head_use *use, const struct ks_head_wish *wish,
                   const struct ks_matrix *head, double flops);
/* Waits for a trial, closes the device. Accepts a zeroed one. */
void ks_head_end(struct ks_head_use *use);

/* A net of the run, whose head it is about, and its name for messages. */
struct ks_named_head {
    const struct ks_net *net;
    const char *name;
};

/*
 * Waits for the trial and decides. heads(n): of all models of the run, the reference's first; equal
 * ones may repeat. Never fails: what goes wrong is in the note. Times the CPU, a few tens of
 * milliseconds.
 */
void ks_head_choose(struct ks_head_use *use, struct ks_cpu *cpu, const struct ks_named_head *heads,
                    size_t n);

/*
 * After a failure of use->device: closes it and opens it anew, once in a run. It has to prove
 * itself on the reference's head, by the same path. -1 with *err, and no device any more, where it
 * doesn't or was opened anew before.
 */
int ks_head_reopen(struct ks_head_use *use, struct ks_cpu *cpu, const struct ks_matrix *head,
                   struct ks_error *err);

#endif

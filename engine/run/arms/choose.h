/*
 * Where the heads of a run are multiplied: on the CPU, or on a device that proved itself and, where
 * the choice is automatic, is faster at this model's real head.
 */
#ifndef KS_ENGINE_RUN_ARMS_CHOOSE_H
#define KS_ENGINE_RUN_ARMS_CHOOSE_H

#include "engine/engine.h"
#include "engine/kernels/cpu.h"
#include "engine/run/arms/device.h"

struct ks_head_use {
    struct ks_device *device; /* NULL: the CPU; else the caller's to close */
    double gain;              /* speed over the CPU's; NaN where it was not measured */
    char note[512];           /* for people: why not a device; "" where it's used */
    bool warn;                /* the note answers somebody who asked for a device */
};

/* Never fails: what goes wrong is in the note. Takes up to a second where there is a device.
 * obstacle: why no device can do these heads, or NULL. */
void ks_head_choose(struct ks_head_use *use, enum ks_head_choice choice, const char *which,
                    struct ks_cpu *cpu, const struct ks_matrix *head, int top_k,
                    const char *obstacle);

#endif

/*
 * The seam where tests make a device fail, shrink its limits and listen to the validation layers.
 * Not for the program itself.
 */
#ifndef KS_GPU_FAULT_H
#define KS_GPU_FAULT_H

#include "gpu/gpu.h"

enum ks_gpu_fault {
    KS_GPU_FAULT_NONE,
    KS_GPU_FAULT_ALLOCATION, /* device memory is refused */
    KS_GPU_FAULT_SUBMIT,     /* the queue refuses work */
    KS_GPU_FAULT_LOST,       /* waiting finds the device lost */
    KS_GPU_FAULT_ANSWER,     /* the self-test reads a wrong number */
};

struct ks_gpu_testing {
    enum ks_gpu_fault fault;
    unsigned after; /* so many times it still works */

    /* 0: as the device has it */
    uint64_t max_binding_bytes;
    uint64_t max_allocation_bytes;
    uint64_t scratch_bytes; /* where it is set, nothing is kept of weights but their bytes */
    double flops_per_submit;
    uint32_t worth_decoding; /* positions from which on many rows are decoded before */

    bool as_hardware;         /* cut products as for a device that is not of software */
    bool staging;             /* pretend that the host can't see device memory */
    bool no_self_test;        /* neither of products nor of the ruler */
    const char *cache_folder; /* for pipelines, instead of the user's; "" for none */

    /* Switches the validation layers on, synchronization too; every warning and error arrives
     * here, on the thread that caused it. Opening fails where the layers are not installed. */
    void (*message)(void *ctx, const char *text);
    void *ctx;
};

/* *testing is copied; ctx lives until the device is closed. */
struct ks_gpu *ks_gpu_open_testing(const char *which, const struct ks_gpu_testing *testing,
                                   struct ks_error *err);
/* Arms a fault in an open device: it happens once, after so many times without. */
void ks_gpu_inject(struct ks_gpu *gpu, enum ks_gpu_fault fault, unsigned after);

#endif

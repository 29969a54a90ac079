/*
 * The output head on a GPU: the narrow door to whatever device there is.
 *
 * No backend is built in yet; ks_gpu_open says so, which is the ordinary case of a machine without
 * a device, and callers use the CPU. This folder knows nothing of GGUF or of arms.
 */
#ifndef KS_GPU_GPU_H
#define KS_GPU_GPU_H

#include <stddef.h>

struct ks_gpu;

/* Opens the best device. NULL where there is none, with the reason for people in why[why_size].
 * Never an error of the run. */
struct ks_gpu *ks_gpu_open(char *why, size_t why_size);
void ks_gpu_close(struct ks_gpu *gpu); /* accepts NULL */

#endif

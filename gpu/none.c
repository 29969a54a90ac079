/* The backend of a build without one. */
#include "gpu/gpu.h"

#include <stdio.h>

struct ks_gpu *ks_gpu_open(char *why, size_t why_size)
{
    snprintf(why, why_size, "no device: this build has no GPU backend");
    return NULL;
}

void ks_gpu_close(struct ks_gpu *gpu)
{
    (void)gpu;
}

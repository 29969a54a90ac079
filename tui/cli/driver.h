/*
 * A driver that is there and that Vulkan doesn't see, told from what the kernel shows of it.
 */
#ifndef KS_TUI_CLI_DRIVER_H
#define KS_TUI_CLI_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/gpu.h"

/* Whether NVIDIA's kernel driver runs and none of the devices(n) is one of its. root: "", or the
 * folder whose /proc and /dev are looked at. */
bool cli_driver_unseen(const char *root, const struct ks_gpu_info *devices, size_t n);

/* What to do then. */
extern const char *const cli_driver_hint;

#endif

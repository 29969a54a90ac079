/*
 * The output head on a GPU: a tensor's original bytes, taken apart into what a device's layout
 * wants. The head is never decoded on the way: quantized it is a quarter of its size in f32.
 *
 * Pure functions, but for those that take a device, which belong to its thread.
 */
#ifndef KS_ENGINE_HEAD_HEAD_H
#define KS_ENGINE_HEAD_HEAD_H

#include "engine/engine.h"
#include "engine/quant/type.h"
#include "gpu/gpu.h"

/* *layout = the device layout of a tensor type; false where no shader reads it. */
bool ks_head_layout(enum ks_type type, enum ks_gpu_layout *layout);

/*
 * Whether m, whose data are data_bytes long, can go up: exactly the bytes of its shape, in a type
 * and a width that a layout takes. what: the tensor's name, for messages. KS_UNSUPPORTED where no
 * shader reads it (the CPU does), KS_BAD_INPUT where the bytes don't fit the shape.
 */
int ks_head_check(const struct ks_matrix *m, uint64_t data_bytes, const char *what,
                  struct ks_error *err);

/* The paths that a wish allows, fastest first; returns how many. */
size_t ks_head_paths(enum ks_head_path wish, enum ks_gpu_path out[KS_GPU_PATHS]);
/* Whether the device multiplies by m by that path; as ks_head_check. */
int ks_head_check_path(const struct ks_gpu *gpu, const struct ks_matrix *m, enum ks_gpu_path path,
                       const char *what, struct ks_error *err);

/* Bytes that n rows of m take in each part; m has passed the check. */
void ks_head_part_bytes(const struct ks_matrix *m, uint64_t n, uint64_t bytes[KS_GPU_MAX_PARTS]);

/* Takes apart rows first .. first + n - 1 of a matrix that has passed the check. parts[i]: room for
 * the bytes told above, the caller's; NULL for parts that the layout doesn't have. */
void ks_head_split(const struct ks_matrix *m, uint64_t first, uint64_t n,
                   uint8_t *const parts[KS_GPU_MAX_PARTS]);

/* Checks, creates and fills the device's copy, some megabytes at a time. NULL with *err. */
struct ks_gpu_weight *ks_head_upload(struct ks_gpu *gpu, const struct ks_matrix *m,
                                     uint64_t data_bytes, const char *what, struct ks_error *err);

#endif

/*
 * The heads of a run's models on a GPU: each distinct head matrix is uploaded once and stays there.
 *
 * No failure here is an error of a run: the caller goes on with the CPU. One thread at a time.
 */
#ifndef KS_ENGINE_RUN_ARMS_DEVICE_H
#define KS_ENGINE_RUN_ARMS_DEVICE_H

#include <stddef.h>

#include "engine/base/error.h"
#include "engine/quant/type.h"

struct ks_device;

/* which: as ks_gpu_choose takes it, NULL for the best. positions: the most that a call will have.
 */
struct ks_device *ks_device_open(const char *which, size_t vocab, size_t positions,
                                 struct ks_error *err);
void ks_device_close(struct ks_device *d); /* accepts NULL */

/* "vulkan NVIDIA H200 (many rows)"; owned by d. */
const char *ks_device_name(const struct ks_device *d);

/* Makes a head resident, by its data pointer; a head that is there already costs nothing. */
int ks_device_upload(struct ks_device *d, const struct ks_matrix *head, struct ks_error *err);

/* logits(n, vocab) = h(n, head.cols) * head^T on the device, read back. */
int ks_device_logits(struct ks_device *d, const struct ks_matrix *head, const float *h, size_t n,
                     float *logits, struct ks_error *err);

#endif

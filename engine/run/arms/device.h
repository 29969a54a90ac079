/*
 * The heads of a run's models on a GPU: each distinct head matrix is uploaded once and stays there,
 * logits stay there too, and sums come back.
 *
 * No failure here is an error of a run: the caller goes on with the CPU. One thread at a time.
 */
#ifndef KS_ENGINE_RUN_ARMS_DEVICE_H
#define KS_ENGINE_RUN_ARMS_DEVICE_H

#include <stddef.h>

#include "engine/base/error.h"
#include "engine/quant/type.h"
#include "engine/ruler/ruler.h"
#include "gpu/gpu.h"

struct ks_device;

/* which: as ks_gpu_choose takes it, NULL for the best. isa: of the CPU that measures the rows that
 * f32 can't. */
struct ks_device *ks_device_open(const char *which, size_t vocab, int top_k, enum ks_isa isa,
                                 struct ks_error *err);
void ks_device_close(struct ks_device *d); /* accepts NULL */

/* "vulkan NVIDIA H200 (many rows)", the path once one was taken; owned by d, which changes it then.
 */
const char *ks_device_name(const struct ks_device *d);
const char *ks_device_uuid(const struct ks_device *d);
/* The most positions of a call. */
size_t ks_device_positions(const struct ks_device *d);
/* Bytes that are free for heads; UINT64_MAX where the device doesn't tell. */
uint64_t ks_device_room(const struct ks_device *d);

/* Whether the device can multiply by that head by that path; what: its name, for messages. -1 with
 * KS_UNSUPPORTED where not. */
int ks_device_check(const struct ks_device *d, enum ks_gpu_path path, const struct ks_matrix *head,
                    const char *what, struct ks_error *err);
/* How it multiplies from now on; KS_GPU_MANY until then. A run keeps to one path for all its
 * positions and heads, so that equal rows have equal bits. */
void ks_device_take_path(struct ks_device *d, enum ks_gpu_path path);
enum ks_gpu_path ks_device_path(const struct ks_device *d);

/* Begins to make what multiplying by that head, which has passed the check, takes by the path. */
int ks_device_prepare(struct ks_device *d, const struct ks_matrix *head, struct ks_error *err);

bool ks_device_holds(const struct ks_device *d, const struct ks_matrix *head);
/* Makes a head resident, by its data pointer; a head that is there already costs nothing. */
int ks_device_upload(struct ks_device *d, const struct ks_matrix *head, struct ks_error *err);

/* Queues the reference's rows: h(n, head.cols) * head^T, measured against targets(n). out(n). What
 * is queued is written at the latest by ks_device_finish, and targets are borrowed until then. */
int ks_device_reference(struct ks_device *d, const struct ks_matrix *head, const float *h,
                        const int32_t *targets, size_t n, struct ks_ref_row *out,
                        struct ks_error *err);
/* Queues an arm's rows against those of the last reference, as many. head NULL: the reference's own
 * rows. */
int ks_device_arm(struct ks_device *d, const struct ks_matrix *head, const float *h,
                  struct ks_arm_row *out, struct ks_error *err);
/* Waits until all that was queued is written. */
int ks_device_finish(struct ks_device *d, struct ks_error *err);

/* Finishes; then logits(n, vocab) of the last reference read back, for trying the device. */
int ks_device_read(struct ks_device *d, size_t n, float *logits, struct ks_error *err);

#endif

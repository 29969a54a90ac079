/*
 * References and arms on their way through a device: products, sums, and from what comes back the
 * ruler's rows. The device works on one comparison while the host finishes the one before; rows
 * that f32 can't hold are read back and measured by the CPU.
 *
 * Rows that are asked for are written at the latest when ks_head_queue_finish returns, and not
 * before; until then targets and rows are borrowed. Activations are borrowed for the call alone.
 * After a failure the queue is good for destroying alone, and rows hold anything.
 *
 * One thread at a time, that of the device.
 */
#ifndef KS_ENGINE_HEAD_QUEUE_H
#define KS_ENGINE_HEAD_QUEUE_H

#include "engine/ruler/ruler.h"
#include "gpu/gpu.h"

struct ks_head_queue;

/* Up to so many positions at once. isa: of the CPU that measures rows again. Where two pairs of
 * logits are more than a quarter of the device's free memory, comparisons follow each other. */
struct ks_head_queue *ks_head_queue_create(struct ks_gpu *gpu, size_t positions, size_t vocab,
                                           int top_k, enum ks_isa isa, struct ks_error *err);
void ks_head_queue_destroy(struct ks_head_queue *q);         /* accepts NULL */
uint64_t ks_head_queue_bytes(const struct ks_head_queue *q); /* of logits, on the device */

/* A reference's rows h(n, cols) * head^T, measured against targets(n). out(n). */
int ks_head_queue_reference(struct ks_head_queue *q, struct ks_gpu_weight *head,
                            enum ks_gpu_path path, const float *h, const int32_t *targets, size_t n,
                            struct ks_ref_row *out, struct ks_error *err);
/* An arm's rows against those of the last reference, as many. head NULL: the reference's own. */
int ks_head_queue_arm(struct ks_head_queue *q, struct ks_gpu_weight *head, enum ks_gpu_path path,
                      const float *h, struct ks_arm_row *out, struct ks_error *err);
/* Waits until all is written. */
int ks_head_queue_finish(struct ks_head_queue *q, struct ks_error *err);

/* Finishes; then logits(n, vocab) of the last reference. */
int ks_head_queue_read(struct ks_head_queue *q, size_t n, float *logits, struct ks_error *err);

#endif

/*
 * Writing GGUF, version 3: metadata, the list of tensors, then their data in the order of the list.
 * The file comes into being whole or not at all (base/whole.h).
 *
 * Calls come in this order: create; values; tensors; data, as often as there are tensors; finish.
 * One thread at a time. Sizes in bytes.
 */
#ifndef KS_ENGINE_GGUF_WRITE_H
#define KS_ENGINE_GGUF_WRITE_H

#include "engine/gguf/gguf.h"

struct ks_gguf_writer;

/* NULL on failure. alignment: of the tensors' data, a power of two from 8 on; the caller writes
 * general.alignment where it is not 32. */
struct ks_gguf_writer *ks_gguf_writer_create(const char *path, uint32_t alignment,
                                             struct ks_error *err);

/* Of any type, arrays too. */
int ks_gguf_write_value(struct ks_gguf_writer *w, const struct ks_gguf_value *v,
                        struct ks_error *err);
int ks_gguf_write_u32(struct ks_gguf_writer *w, const char *key, uint32_t v, struct ks_error *err);
int ks_gguf_write_str(struct ks_gguf_writer *w, const char *key, const char *v,
                      struct ks_error *err);

/* dims[0] contiguous, a whole number of the type's blocks. */
int ks_gguf_write_tensor(struct ks_gguf_writer *w, const char *name, uint32_t type, uint32_t n_dims,
                         const uint64_t *dims, struct ks_error *err);
/* The data of the next tensor of the list, all of it. */
int ks_gguf_write_data(struct ks_gguf_writer *w, const void *data, uint64_t bytes,
                       struct ks_error *err);

/* failed 0: makes the file whole. Else, or where that fails, leaves nothing of it. Frees w; returns
 * failed, or -1 with *err. */
int ks_gguf_writer_finish(struct ks_gguf_writer *w, int failed, struct ks_error *err);

#endif

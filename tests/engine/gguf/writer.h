/*
 * Writes GGUF files byte by byte, right or wrong as a test needs: nothing is checked here.
 * Failing allocations fail the test.
 */
#ifndef KS_TESTS_ENGINE_GGUF_WRITER_H
#define KS_TESTS_ENGINE_GGUF_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/bytes.h"

void gw_bytes(struct ks_buf *b, const void *bytes, size_t len);
void gw_u8(struct ks_buf *b, uint8_t v);
void gw_u16(struct ks_buf *b, uint16_t v);
void gw_u32(struct ks_buf *b, uint32_t v);
void gw_u64(struct ks_buf *b, uint64_t v);
void gw_f32(struct ks_buf *b, float v);
void gw_f64(struct ks_buf *b, double v);
void gw_str(struct ks_buf *b, const char *s); /* with its length */
void gw_str_n(struct ks_buf *b, const void *bytes, size_t len);

/* Magic, version, counts. */
void gw_header(struct ks_buf *b, uint32_t version, uint64_t n_tensors, uint64_t n_values);

/* A key and its type; the value is the caller's to write next. */
void gw_key(struct ks_buf *b, const char *key, uint32_t type);
void gw_key_u32(struct ks_buf *b, const char *key, uint32_t v);
void gw_key_u16(struct ks_buf *b, const char *key, uint16_t v);
void gw_key_f32(struct ks_buf *b, const char *key, float v);
void gw_key_bool(struct ks_buf *b, const char *key, uint8_t v);
void gw_key_str(struct ks_buf *b, const char *key, const char *v);
/* Type and length of an array; the items come next. */
void gw_key_array(struct ks_buf *b, const char *key, uint32_t item_type, uint64_t count);

/* One entry of the tensor list with up to two dimensions; dim1 0: one dimension. */
void gw_tensor(struct ks_buf *b, const char *name, uint32_t type, uint64_t dim0, uint64_t dim1,
               uint64_t offset);

/* Zeros up to a multiple of alignment. */
void gw_pad(struct ks_buf *b, size_t alignment);
/* len bytes that depend on seed. */
void gw_data(struct ks_buf *b, size_t len, unsigned seed);

/* Writes the buffer to a file; fails the test where it can't. */
void gw_save(const struct ks_buf *b, const char *path);
/* A fresh directory below TMPDIR; remove it with gw_remove. */
void gw_folder(char path[64]);
void gw_remove(const char *folder);

#endif

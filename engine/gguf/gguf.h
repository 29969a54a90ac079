/*
 * GGUF files (v2 and v3, little-endian), mapped read-only and checked whole when opened: after that
 * every accessor is total. A split model (`NAME-00001-of-00003.gguf`) is opened by any of its
 * parts; its tensors appear as one list in file order.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 *
 * Nothing is trusted: counts, lengths, offsets and products are checked against the file's size,
 * and each refusal names the file and the byte offset or the tensor.
 *
 * The object is immutable after ks_gguf_open; any thread may read it. Strings and tensor data point
 * into the mapping and live until ks_gguf_close. A file that is cut while it is mapped raises
 * SIGBUS at whoever reads the missing pages; who owns the process catches it, and asks
 * ks_mapped_file_at (base/mapped.h) for the name.
 */
#ifndef KS_ENGINE_GGUF_GGUF_H
#define KS_ENGINE_GGUF_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

struct ks_gguf;

/* A counted string, not NUL-terminated; may hold any bytes. */
struct ks_str {
    const char *bytes;
    size_t len;
};

struct ks_gguf_tensor {
    const char *name;    /* NUL-terminated copy owned by the ks_gguf */
    uint32_t type;       /* a type that type.h's table knows, decodable or not (checked) */
    uint32_t n_dims;     /* 1..4 */
    uint64_t dims[4];    /* dims[0] contiguous; unused ones are 1 */
    const uint8_t *data; /* aligned to general.alignment: 32 unless the file says otherwise, >= 8 */
    uint64_t bytes;
    uint32_t part;   /* which file of a split, from 0 */
    uint64_t offset; /* of data in that file */
};

/* The value types of the metadata, numbered as in the file. */
enum ks_gguf_value_type {
    KS_GGUF_U8 = 0,
    KS_GGUF_I8,
    KS_GGUF_U16,
    KS_GGUF_I16,
    KS_GGUF_U32,
    KS_GGUF_I32,
    KS_GGUF_F32,
    KS_GGUF_BOOL,
    KS_GGUF_STRING,
    KS_GGUF_ARRAY,
    KS_GGUF_U64,
    KS_GGUF_I64,
    KS_GGUF_F64,
};

struct ks_gguf_value {
    const char *key; /* NUL-terminated copy owned by the ks_gguf */
    enum ks_gguf_value_type type;
    union {
        uint64_t u; /* U8..U64, BOOL (0 or 1) */
        int64_t i;  /* I8..I64 */
        double f;   /* F32, F64 */
        struct ks_str s;
        struct {
            enum ks_gguf_value_type type; /* never ARRAY: nested arrays are refused */
            uint64_t count;
            const uint8_t *bytes; /* fixed-size items as in the file, unaligned; else NULL */
            const struct ks_str *strings; /* STRING items; else NULL */
        } array;
    };
};

/* "u32", "string", "array"; "?" for a number that is none. */
const char *ks_gguf_value_type_name(enum ks_gguf_value_type type);
/* The same of a value, with an array's items: "u32[]". */
const char *ks_gguf_value_kind(const struct ks_gguf_value *v);
/* Item i of an array as a value of its own, without a key. i < count. */
struct ks_gguf_value ks_gguf_array_item(const struct ks_gguf_value *array, uint64_t i);

/* Opens and checks a file and, for a split, all its parts. NULL on failure. */
struct ks_gguf *ks_gguf_open(const char *path, struct ks_error *err);
void ks_gguf_close(struct ks_gguf *g); /* accepts NULL */

const char *ks_gguf_path(const struct ks_gguf *g); /* as given to open */
uint32_t ks_gguf_version(const struct ks_gguf *g);
uint64_t ks_gguf_file_bytes(const struct ks_gguf *g); /* sum over the parts */

size_t ks_gguf_n_tensors(const struct ks_gguf *g);
const struct ks_gguf_tensor *ks_gguf_tensor(const struct ks_gguf *g, size_t i);
const struct ks_gguf_tensor *ks_gguf_find_tensor(const struct ks_gguf *g, const char *name);

size_t ks_gguf_n_values(const struct ks_gguf *g); /* metadata of the first part, in file order */
const struct ks_gguf_value *ks_gguf_value(const struct ks_gguf *g, size_t i);
const struct ks_gguf_value *ks_gguf_find(const struct ks_gguf *g, const char *key);

/*
 * Typed look-ups. Each returns 1 where the key is there and fits, 0 where it is absent (*out
 * untouched), -1 with *err where it is there with a wrong type or out of range (the text names the
 * file, the key and what was found).
 */
int ks_gguf_get_u32(const struct ks_gguf *g, const char *key, uint32_t *out, struct ks_error *err);
int ks_gguf_get_f32(const struct ks_gguf *g, const char *key, float *out, struct ks_error *err);
int ks_gguf_get_bool(const struct ks_gguf *g, const char *key, bool *out, struct ks_error *err);
int ks_gguf_get_str(const struct ks_gguf *g, const char *key, struct ks_str *out,
                    struct ks_error *err);

#endif

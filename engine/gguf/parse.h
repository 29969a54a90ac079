/*
 * The pieces behind gguf.h: a mapped file, a cursor that never leaves it, the metadata, the tensor
 * list, and one file of a model ("part"). Private to engine/gguf; engine/imatrix reads with the map
 * and the cursor too.
 *
 * Ownership: init-less structs, zero-initialized by the caller; each ..._close accepts a zeroed or
 * half-filled one, so that a failing path closes what there is.
 */
#ifndef KS_ENGINE_GGUF_PARSE_H
#define KS_ENGINE_GGUF_PARSE_H

#include "engine/gguf/gguf.h"

/* Ends the text of a refusal where bytes are missing or make no sense. */
#define KS_GGUF_DAMAGED "the file is cut short or damaged, download it again"

/* ------------------------------------------------------------------------------ map.c */

struct ks_map {
    const uint8_t *bytes;
    uint64_t len;
    bool mapped; /* false: lent by the caller of ks_gguf_open_memory */
};

/* Maps a regular, non-empty file. Whoever shrinks the file afterwards makes reads beyond its new
 * end raise SIGBUS; that is for the owner of the process to catch. */
int ks_map_open(struct ks_map *map, const char *path, struct ks_error *err);
void ks_map_close(struct ks_map *map);

/* --------------------------------------------------------------------------- reader.c */

struct ks_reader {
    const char *file; /* for messages */
    const uint8_t *bytes;
    uint64_t len, at; /* at <= len */
    char where[160];  /* what is being read, for messages: "tensor 3 (blk.0.ffn_up.weight)" */
};

/* "FILE: byte AT, WHERE: ..."; returns -1. */
int ks_reader_fail(const struct ks_reader *r, uint64_t at, struct ks_error *err, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Fails unless `bytes` more are there. `what` is a noun for the message. */
int ks_reader_need(const struct ks_reader *r, uint64_t bytes, const char *what,
                   struct ks_error *err);
/* Fails unless count items of at least item_bytes each could be there. */
int ks_reader_need_items(const struct ks_reader *r, uint64_t count, uint64_t item_bytes,
                         const char *what, struct ks_error *err);
int ks_reader_u32(struct ks_reader *r, uint32_t *out, const char *what, struct ks_error *err);
int ks_reader_u64(struct ks_reader *r, uint64_t *out, const char *what, struct ks_error *err);
/* A view into the file. */
int ks_reader_str(struct ks_reader *r, struct ks_str *out, const char *what, struct ks_error *err);
/* A string that may serve as a name: not empty, no NUL in it. *out is malloc'ed. */
int ks_reader_name(struct ks_reader *r, char **out, const char *what, struct ks_error *err);

/* Printable ASCII for a message: other bytes as \xNN, cut with "..." to fit. Returns buf. */
enum { KS_SHOWN_SIZE = 100 };
const char *ks_shown(const char *bytes, size_t len, char buf[KS_SHOWN_SIZE]);

/* ---------------------------------------------------------------------------- value.c */

/* Bytes of a value of fixed size; 0 for STRING, ARRAY and what is no type. */
uint32_t ks_gguf_fixed_size(uint32_t type);

struct ks_values {
    struct ks_gguf_value *items; /* (n) in file order */
    size_t n, cap;
    const struct ks_gguf_value **by_key; /* (n) sorted */
};

/* Reads count entries from the cursor on. Keys are unique afterwards. */
int ks_values_read(struct ks_values *values, struct ks_reader *r, uint64_t count,
                   struct ks_error *err);
void ks_values_close(struct ks_values *values);
const struct ks_gguf_value *ks_values_find(const struct ks_values *values, const char *key);
/* As ks_gguf_get_u32; file is for the message. */
int ks_values_get_u32(const struct ks_values *values, const char *file, const char *key,
                      uint32_t *out, struct ks_error *err);

/* --------------------------------------------------------------------------- tensor.c */

struct ks_tensors {
    struct ks_gguf_tensor *items; /* (n) in file order */
    size_t n, cap;
};

/* Reads count entries from the cursor on; offsets stay relative, data NULL. */
int ks_tensors_read(struct ks_tensors *tensors, struct ks_reader *r, uint64_t count,
                    struct ks_error *err);
/* Makes offsets those in the file, sets data, and checks alignment, end and overlap. */
int ks_tensors_place(struct ks_tensors *tensors, const struct ks_reader *r, uint64_t data_start,
                     uint32_t alignment, struct ks_error *err);
void ks_tensors_close(struct ks_tensors *tensors);

/* ---------------------------------------------------------------------------- magic.c */

/* Passes the four bytes "GGUF", or says what the file is instead. */
int ks_magic_check(struct ks_reader *r, struct ks_error *err);

/* ----------------------------------------------------------------------------- part.c */

struct ks_part {
    char *path;
    struct ks_map map;
    uint32_t version;
    struct ks_values values;
    struct ks_tensors tensors;
};

int ks_part_open(struct ks_part *part, const char *path, struct ks_error *err);
/* The same over lent memory, which must outlive the part. */
int ks_part_open_memory(struct ks_part *part, const char *name, const void *bytes, size_t len,
                        struct ks_error *err);
void ks_part_close(struct ks_part *part);

/* ---------------------------------------------------------------------------- split.c */

/* Opens the file and, where it is part of a split, all others. *parts (n) is malloc'ed. */
int ks_split_open(const char *path, struct ks_part **parts, uint32_t *n, struct ks_error *err);
/* Part `no` (from 0) of `count`; count is 1 where the file is no split. */
int ks_split_place(const struct ks_part *part, uint32_t *no, uint32_t *count, struct ks_error *err);

/* ----------------------------------------------------------------------------- gguf.c */

/* A file of one part that lies in memory, for fuzzing and for tests that try every cut. The bytes
 * must outlive the result. */
struct ks_gguf *ks_gguf_open_memory(const char *name, const void *bytes, size_t len,
                                    struct ks_error *err);

/* The part whose metadata is the model's. */
const struct ks_part *ks_gguf_first_part(const struct ks_gguf *g);

#endif

/*
 * Small change: little-endian loads, bits of floats, arithmetic that says when it overflows,
 * growing arrays and byte buffers, content hashes and the one pseudo-random generator.
 *
 * All functions are pure or work on the caller's object; any thread.
 */
#ifndef KS_ENGINE_BASE_BYTES_H
#define KS_ENGINE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/error.h"

/* Unaligned little-endian loads (every host we build for is little-endian; see bytes.c). */
static inline uint16_t ks_le16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t ks_le32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t ks_le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The bits of an IEEE single, and the single of such bits. */
static inline uint32_t ks_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float ks_f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The same of doubles. */
static inline uint64_t ks_f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double ks_f64_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* *out = a * b or a + b; false (and *out untouched) when it does not fit. */
static inline bool ks_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool ks_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* calloc(n, size) with 64-byte alignment, for SIMD loads; NULL on overflow or no memory. free(). */
void *ks_alloc_aligned(size_t n, size_t size);

/*
 * Room for one more item behind the n of a growing array: returns the array, moved or not, with
 * *cap items of room; NULL with *err and the array as it was when out of memory. `what` is for the
 * message.
 */
void *ks_grow(void *items, size_t *cap, size_t n, size_t size, const char *what,
              struct ks_error *err);

/* A growing byte buffer. Zero-initialize; bytes is always NUL-terminated once anything was put. */
struct ks_buf {
    char *bytes;
    size_t len, cap;
};
int ks_buf_put(struct ks_buf *b, const void *bytes, size_t len, struct ks_error *err);
int ks_buf_printf(struct ks_buf *b, struct ks_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ks_buf_finish(struct ks_buf *b);

/* Content hashes: XXH3, 128 bits, shown as 32 lowercase hex digits. */
struct ks_hash {
    uint64_t low, high;
};
struct ks_hash ks_hash_bytes(const void *bytes, size_t len);
/* Folds b into a: the hash of a sequence is the fold of its parts' hashes in order. */
struct ks_hash ks_hash_join(struct ks_hash a, struct ks_hash b);
bool ks_hash_equal(struct ks_hash a, struct ks_hash b);
void ks_hash_hex(struct ks_hash h, char hex[33]);

/* SplitMix64 (Steele, Lea, Flood 2014). The same sequence for a seed on every machine. */
uint64_t ks_random_next(uint64_t *state);
/* Uniform in 0..n-1, n > 0, without modulo bias. */
uint64_t ks_random_below(uint64_t *state, uint64_t n);

#endif

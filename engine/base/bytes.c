#include "engine/base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "GGUF tensors are used where they lie in the file, which is little-endian");

#define HUGE_PAGE ((size_t)2 << 20)

void *ks_alloc_aligned(size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total) || total > SIZE_MAX - HUGE_PAGE)
        return NULL;
    size_t align = total >= HUGE_PAGE ? HUGE_PAGE : 64;
    total = total == 0 ? align : (total + align - 1) / align * align;
    void *p = aligned_alloc(align, total);
    if (!p)
        return NULL;
    if (align == HUGE_PAGE)
        madvise(p, total, MADV_HUGEPAGE); /* a wish: walking 4 KiB pages costs 2 % of a product */
    memset(p, 0, total);
    return p;
}

void *ks_grow(void *items, size_t *cap, size_t n, size_t size, const char *what,
              struct ks_error *err)
{
    if (n < *cap)
        return items;
    size_t wanted = n < 32 ? 64 : n > SIZE_MAX / 2 ? SIZE_MAX : 2 * n, bytes;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        bytes = SIZE_MAX;
    void *grown = bytes == SIZE_MAX ? NULL : realloc(items, bytes);
    if (!grown) {
        ks_fail_memory(err, bytes, what);
        return NULL;
    }
    *cap = wanted;
    return grown;
}

static int buf_reserve(struct ks_buf *b, size_t more, struct ks_error *err)
{
    size_t need;
    if (__builtin_add_overflow(b->len, more, &need) || need == SIZE_MAX)
        return ks_fail_memory(err, more, "a text buffer");
    need++;
    if (need <= b->cap)
        return 0;
    size_t cap = b->cap < 128 ? 256 : b->cap * 2;
    if (cap < need)
        cap = need;
    char *bytes = realloc(b->bytes, cap);
    if (!bytes)
        return ks_fail_memory(err, cap, "a text buffer");
    b->bytes = bytes;
    b->cap = cap;
    return 0;
}

int ks_buf_put(struct ks_buf *b, const void *bytes, size_t len, struct ks_error *err)
{
    if (buf_reserve(b, len, err))
        return -1;
    if (len)
        memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    b->bytes[b->len] = '\0';
    return 0;
}

int ks_buf_printf(struct ks_buf *b, struct ks_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return ks_fail(err, KS_INTERNAL, "a format string that cannot be printed: %s", format);
    if (buf_reserve(b, (size_t)n, err))
        return -1;
    va_start(args, format);
    vsnprintf(b->bytes + b->len, b->cap - b->len, format, args);
    va_end(args);
    b->len += (size_t)n;
    return 0;
}

void ks_buf_finish(struct ks_buf *b)
{
    free(b->bytes);
    *b = (struct ks_buf){0};
}

struct ks_hash ks_hash_bytes(const void *bytes, size_t len)
{
    XXH128_hash_t h = XXH3_128bits(bytes, len);
    return (struct ks_hash){.low = h.low64, .high = h.high64};
}

struct ks_hash ks_hash_join(struct ks_hash a, struct ks_hash b)
{
    uint64_t both[4] = {a.low, a.high, b.low, b.high};
    return ks_hash_bytes(both, sizeof both);
}

bool ks_hash_equal(struct ks_hash a, struct ks_hash b)
{
    return a.low == b.low && a.high == b.high;
}

void ks_hash_hex(struct ks_hash h, char hex[33])
{
    snprintf(hex, 33, "%016llx%016llx", (unsigned long long)h.high, (unsigned long long)h.low);
}

uint64_t ks_random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t ks_random_below(uint64_t *state, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t r;
    do {
        r = ks_random_next(state);
    } while (r >= limit);
    return r % n;
}

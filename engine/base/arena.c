#include "engine/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)16 << 10)

struct ks_arena_chunk {
    struct ks_arena_chunk *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char bytes[];
};

static struct ks_arena_chunk *add_chunk(struct ks_arena *a, size_t at_least)
{
    size_t size = at_least > CHUNK_BYTES ? at_least : CHUNK_BYTES;
    struct ks_arena_chunk *c = calloc(1, sizeof *c + size);
    if (!c)
        return NULL;
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

void *ks_arena_alloc(struct ks_arena *a, size_t n, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + align - 1) / align * align;
    struct ks_arena_chunk *c = a->chunks;
    if (!c || c->size - c->used < bytes)
        c = add_chunk(a, bytes);
    if (!c)
        return NULL;
    void *p = c->bytes + c->used;
    c->used += bytes;
    return p;
}

char *ks_arena_strdup(struct ks_arena *a, const char *text)
{
    if (!text)
        return NULL;
    size_t len = strlen(text) + 1;
    char *copy = ks_arena_alloc(a, len, 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

char *ks_arena_printf(struct ks_arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return NULL;
    char *text = ks_arena_alloc(a, (size_t)n + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void ks_arena_finish(struct ks_arena *a)
{
    while (a->chunks) {
        struct ks_arena_chunk *next = a->chunks->next;
        free(a->chunks);
        a->chunks = next;
    }
}

/*
 * An arena: many small allocations that are freed together.
 *
 * Zero-initialize; ks_arena_finish frees all. One thread at a time. What it gives is zeroed and
 * aligned for any object; NULL when out of memory.
 */
#ifndef KS_ENGINE_BASE_ARENA_H
#define KS_ENGINE_BASE_ARENA_H

#include <stddef.h>

struct ks_arena {
    struct ks_arena_chunk *chunks; /* private */
};

void *ks_arena_alloc(struct ks_arena *a, size_t n, size_t size);
char *ks_arena_strdup(struct ks_arena *a, const char *text); /* NULL stays NULL */
char *ks_arena_printf(struct ks_arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ks_arena_finish(struct ks_arena *a);

#endif

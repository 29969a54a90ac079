/*
 * Memory that runs out when a test says so. Link with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc and include this in one file of the program: it
 * counts the allocations of what is linked statically (so not those of shared libraries) and fails
 * those past a limit.
 */
#ifndef KS_TESTS_FAILING_MEMORY_H
#define KS_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

/* How many allocations still succeed; negative: all do. */
static long allocations_left = -1;

static bool allocation_fails(void)
{
    if (allocations_left == 0)
        return true;
    if (allocations_left > 0)
        allocations_left--;
    return false;
}

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(p, size);
}

#endif

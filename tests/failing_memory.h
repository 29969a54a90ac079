/*
 * Memory that runs out when a test says so. Give the program the dependency `failing_memory`, which
 * sends the allocations of what is linked statically (so not those of shared libraries) here, and
 * include this in one file of it. Any thread may allocate.
 */
#ifndef KS_TESTS_FAILING_MEMORY_H
#define KS_TESTS_FAILING_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

/* How many allocations still succeed; negative: all do. */
static atomic_long allocations_left = -1;
/* Whether only one fails and memory is back then, or all from there on. */
static bool memory_comes_back;

static bool allocation_fails(void)
{
    long left = atomic_load(&allocations_left);
    while (left > 0 || (left == 0 && memory_comes_back))
        if (atomic_compare_exchange_weak(&allocations_left, &left, left - 1))
            break;
    return left == 0;
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

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return allocation_fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return allocation_fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return allocation_fails() ? NULL : __real_strndup(text, n);
}

#endif

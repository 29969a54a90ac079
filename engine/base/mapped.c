/* A fixed table, which a signal handler can read. Its untouched pages cost nothing. */
#include "engine/base/mapped.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

enum { MAX_MAPPED = 8192, PATH_BYTES = 512 };
enum { FREE, BEING_FILLED, MAPPED };

static struct slot {
    atomic_int state;
    uintptr_t begin, end;
    char path[PATH_BYTES];
} slots[MAX_MAPPED];

void ks_mapped_add(const void *begin, uint64_t len, const char *path)
{
    for (struct slot *s = slots; s < slots + MAX_MAPPED; s++) {
        int expected = atomic_load(&s->state);
        if (expected != FREE || !atomic_compare_exchange_strong(&s->state, &expected, BEING_FILLED))
            continue;
        s->begin = (uintptr_t)begin;
        s->end = s->begin + (uintptr_t)len;
        snprintf(s->path, sizeof s->path, "%s", path);
        atomic_store(&s->state, MAPPED);
        return;
    }
}

static struct slot *find(uintptr_t address)
{
    for (struct slot *s = slots; s < slots + MAX_MAPPED; s++)
        if (atomic_load(&s->state) == MAPPED && address >= s->begin && address < s->end)
            return s;
    return NULL;
}

void ks_mapped_remove(const void *begin)
{
    struct slot *s = find((uintptr_t)begin);
    if (s)
        atomic_store(&s->state, FREE);
}

const char *ks_mapped_file_at(const void *address)
{
    const struct slot *s = find((uintptr_t)address);
    return s ? s->path : NULL;
}

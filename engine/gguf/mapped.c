/*
 * Which file is mapped where: a fixed table that a signal handler can read. It is the process' own
 * state, as its mappings and its table of handlers are. What finds no room is only not named.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "engine/gguf/parse.h"

#define MAX_MAPPED 256
#define PATH_BYTES 512

enum { FREE, BEING_FILLED, MAPPED };

static struct slot {
    atomic_int state;
    uintptr_t begin, end;
    char path[PATH_BYTES];
} slots[MAX_MAPPED];

void ks_mapped_add(const struct ks_map *map, const char *path)
{
    for (struct slot *s = slots; s < slots + MAX_MAPPED; s++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&s->state, &expected, BEING_FILLED))
            continue;
        s->begin = (uintptr_t)map->bytes;
        s->end = s->begin + (uintptr_t)map->len;
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

void ks_mapped_remove(const struct ks_map *map)
{
    struct slot *s = find((uintptr_t)map->bytes);
    if (s)
        atomic_store(&s->state, FREE);
}

const char *ks_gguf_file_at(const void *address)
{
    const struct slot *s = find((uintptr_t)address);
    return s ? s->path : NULL;
}

#include "engine/text/vocab/index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* keys are short: the call would cost as much as the hash */
#include <xxhash.h>

int ks_index_create(struct ks_index *x, const struct ks_str *strings, size_t n,
                    struct ks_error *err)
{
    size_t slots = 16;
    while (slots < 2 * n)
        slots *= 2;
    x->slots = malloc(slots * sizeof *x->slots);
    if (!x->slots)
        return ks_fail_memory(err, slots * sizeof *x->slots, "the index of a vocabulary");
    for (size_t i = 0; i < slots; i++)
        x->slots[i] = (struct ks_index_slot){0, -1};
    x->strings = strings;
    x->mask = slots - 1;
    return 0;
}

void ks_index_finish(struct ks_index *x)
{
    free(x->slots);
    *x = (struct ks_index){0};
}

/* The slot that holds the string, or the empty one where it belongs. */
static struct ks_index_slot *probe(const struct ks_index *x, const char *bytes, size_t len,
                                   uint64_t hash)
{
    for (size_t i = hash & x->mask;; i = (i + 1) & x->mask) {
        struct ks_index_slot *slot = &x->slots[i];
        if (slot->id < 0)
            return slot;
        const struct ks_str *s = &x->strings[slot->id];
        if (slot->tag == hash >> 32 && s->len == len && memcmp(s->bytes, bytes, len) == 0)
            return slot;
    }
}

int32_t ks_index_add(struct ks_index *x, int32_t id)
{
    const struct ks_str *s = &x->strings[id];
    uint64_t hash = XXH3_64bits(s->bytes, s->len);
    struct ks_index_slot *slot = probe(x, s->bytes, s->len, hash);
    if (slot->id < 0)
        *slot = (struct ks_index_slot){(uint32_t)(hash >> 32), id};
    return slot->id;
}

int32_t ks_index_find(const struct ks_index *x, const char *bytes, size_t len)
{
    return probe(x, bytes, len, XXH3_64bits(bytes, len))->id;
}

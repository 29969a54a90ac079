#include "engine/text/words.h"

#include <stdlib.h>

#include "engine/base/bytes.h"

enum { SLOT_BITS = 12, N_SLOTS = 1 << SLOT_BITS }; /* 256 KiB: they should stay in a core's cache */

_Static_assert(sizeof(struct ks_word) == 64, "a slot is a cache line");

struct ks_words {
    struct ks_word slots[N_SLOTS];
    struct ks_words *next;
};

/* ------------------------------------------------------------------ looking up */

struct ks_word *ks_words_slot(struct ks_words *w, const char *bytes, size_t len)
{
    uint64_t head, tail;
    if (len >= 8) {
        head = ks_le64(bytes);
        tail = ks_le64(bytes + len - 8);
    } else if (len >= 4) {
        head = ks_le32(bytes);
        tail = ks_le32(bytes + len - 4);
    } else {
        head = (unsigned char)bytes[0];
        tail = (uint64_t)(unsigned char)bytes[len / 2] << 8 | (unsigned char)bytes[len - 1];
    }
    uint64_t hash = (head ^ len) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ tail) * 0xD6E8FEB86659FD93u;
    struct ks_word *slot = &w->slots[hash >> (64 - SLOT_BITS)];
    if (slot->head != head || slot->tail != tail || slot->len != len)
        *slot = (struct ks_word){.head = head, .tail = tail, .len = (uint8_t)len};
    return slot;
}

/* ------------------------------------------------------------------ life */

void ks_words_pool_init(struct ks_words_pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    pool->idle = NULL;
}

void ks_words_pool_finish(struct ks_words_pool *pool)
{
    while (pool->idle) {
        struct ks_words *w = pool->idle;
        pool->idle = w->next;
        free(w);
    }
    pthread_mutex_destroy(&pool->lock);
}

struct ks_words *ks_words_take(struct ks_words_pool *pool, struct ks_error *err)
{
    pthread_mutex_lock(&pool->lock);
    struct ks_words *w = pool->idle;
    if (w)
        pool->idle = w->next;
    pthread_mutex_unlock(&pool->lock);
    if (!w && !(w = ks_alloc_aligned(1, sizeof *w)))
        ks_fail_memory(err, sizeof *w, "the words that a tokenizer remembers");
    return w;
}

void ks_words_give(struct ks_words_pool *pool, struct ks_words *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&pool->lock);
    w->next = pool->idle;
    pool->idle = w;
    pthread_mutex_unlock(&pool->lock);
}

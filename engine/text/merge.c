#include "engine/text/merge.h"

#include <stdlib.h>

#include "engine/text/vocab/utf8.h"

/* ------------------------------------------------------------------ pieces */

static int reserve(struct ks_merger *m, size_t n, struct ks_error *err)
{
    if (n <= m->cap)
        return 0;
    size_t cap = n < 64 ? 64 : n + n / 2;
    struct ks_piece *grown = realloc(m->pieces, cap * sizeof *grown);
    if (!grown)
        return ks_fail_memory(err, cap * sizeof *grown, "the pieces of a text");
    m->pieces = grown;
    m->cap = cap;
    return 0;
}

int ks_merger_bytes(struct ks_merger *m, const struct ks_vocab *v, const char *text, size_t len,
                    struct ks_error *err)
{
    if (reserve(m, len, err))
        return -1;
    for (size_t i = 0; i < len; i++)
        m->pieces[i] = (struct ks_piece){
            .start = (uint32_t)i, .len = 1, .id = v->byte_id[(unsigned char)text[i]]};
    m->n = len;
    return 0;
}

int ks_merger_chars(struct ks_merger *m, const struct ks_vocab *v, const char *text, size_t len,
                    struct ks_error *err)
{
    if (reserve(m, len, err))
        return -1;
    m->n = 0;
    for (size_t i = 0; i < len;) {
        size_t n = ks_utf8_length((unsigned char)text[i]);
        if (n > len - i)
            n = len - i;
        m->pieces[m->n++] = (struct ks_piece){
            .start = (uint32_t)i, .len = (uint32_t)n, .id = ks_index_find(&v->keys, text + i, n)};
        i += n;
    }
    return 0;
}

void ks_merger_finish(struct ks_merger *m)
{
    free(m->pieces);
    free(m->heap);
    *m = (struct ks_merger){0};
}

/* ------------------------------------------------------------------ the heap */

static int push(struct ks_merger *m, struct ks_candidate c, struct ks_error *err)
{
    struct ks_candidate *heap =
        ks_grow(m->heap, &m->cap_heap, m->n_heap, sizeof *heap, "the merges of a text", err);
    if (!heap)
        return -1;
    m->heap = heap;
    size_t i = m->n_heap++;
    for (; i > 0 && c.order < m->heap[(i - 1) / 2].order; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = c;
    return 0;
}

static struct ks_candidate pop(struct ks_merger *m)
{
    struct ks_candidate best = m->heap[0], last = m->heap[--m->n_heap];
    size_t i = 0;
    for (size_t child = 1; child < m->n_heap; child = 2 * i + 1) {
        if (child + 1 < m->n_heap && m->heap[child + 1].order < m->heap[child].order)
            child++;
        if (last.order <= m->heap[child].order)
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return best;
}

/* ------------------------------------------------------------------ merging */

/* Offers the pair that starts with pieces[left], where the vocabulary has it. */
static int offer(struct ks_merger *m, const struct ks_vocab *v, const char *text, uint32_t left,
                 struct ks_error *err)
{
    const struct ks_piece *a = &m->pieces[left];
    if (a->next == KS_NO_PIECE)
        return 0;
    const struct ks_piece *b = &m->pieces[a->next];
    struct ks_candidate c = {.right = a->next, .len = a->len + b->len};
    uint32_t rank;
    if (v->ranks) {
        c.id = c.len <= v->longest_key ? ks_index_find(&v->keys, text + a->start, c.len) : -1;
        if (c.id < 0)
            return 0;
        rank = v->ranks[c.id];
    } else {
        const struct ks_pair *pair = ks_vocab_pair(v, a->id, b->id);
        if (!pair)
            return 0;
        c.id = pair->id;
        rank = pair->rank;
    }
    c.order = (uint64_t)rank << 32 | left;
    return push(m, c, err);
}

/* A candidate is stale once one of its pieces has grown or gone. */
static bool is_stale(const struct ks_merger *m, const struct ks_candidate *c)
{
    const struct ks_piece *left = &m->pieces[(uint32_t)c->order], *right = &m->pieces[c->right];
    return !left->len || !right->len || left->len + right->len != c->len;
}

static void join(struct ks_merger *m, const struct ks_candidate *c)
{
    uint32_t at = (uint32_t)c->order;
    struct ks_piece *left = &m->pieces[at], *right = &m->pieces[c->right];
    left->len = c->len;
    left->id = c->id;
    left->next = right->next;
    right->len = 0;
    if (left->next != KS_NO_PIECE)
        m->pieces[left->next].prev = at;
}

int ks_merger_run(struct ks_merger *m, const struct ks_vocab *v, const char *text, size_t first,
                  size_t end, struct ks_error *err)
{
    m->n_heap = 0;
    for (size_t i = first; i < end; i++) {
        m->pieces[i].prev = i > first ? (uint32_t)i - 1 : KS_NO_PIECE;
        m->pieces[i].next = i + 1 < end ? (uint32_t)i + 1 : KS_NO_PIECE;
    }
    for (size_t i = first; i < end; i++) {
        if (offer(m, v, text, (uint32_t)i, err))
            return -1;
    }
    while (m->n_heap) {
        struct ks_candidate c = pop(m);
        if (is_stale(m, &c))
            continue;
        join(m, &c);
        uint32_t at = (uint32_t)c.order, before = m->pieces[at].prev;
        if (before != KS_NO_PIECE && offer(m, v, text, before, err))
            return -1;
        if (offer(m, v, text, at, err))
            return -1;
    }
    return 0;
}

/*
 * Two ways to the same result. Nearly all words are short: there the ranks of all pairs lie in an
 * array that is searched for the best, and pieces close up as they are joined. In a long word (a
 * whole line, where a vocabulary's words may be so) that would be quadratic; there a heap has the
 * pairs, and the pieces are a chain.
 */
#include "engine/text/merge.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/vocab/utf8.h"

enum { SHORT = 32 }; /* pieces; searching more takes longer than a heap */

#define NO_RANK  UINT32_MAX
#define NO_PIECE UINT32_MAX

struct ks_link {
    uint32_t prev, next; /* NO_PIECE at the ends */
};

struct ks_candidate {
    uint64_t order; /* rank, then place */
    uint32_t right, len;
    int32_t id;
};

/* ------------------------------------------------------------------ pieces */

static int reserve(struct ks_merger *m, size_t n, struct ks_error *err)
{
    if (n <= m->cap)
        return 0;
    size_t cap = n < 64 ? 64 : n + n / 2;
    struct ks_piece *grown = realloc(m->pieces, cap * sizeof *grown);
    if (!grown)
        return ks_fail_memory(err, cap * sizeof *grown, "the pieces of a word");
    m->pieces = grown;
    m->cap = cap;
    return 0;
}

int ks_merger_bytes(struct ks_merger *m, const struct ks_vocab *v, const char *word, size_t len,
                    struct ks_error *err)
{
    if (reserve(m, len, err))
        return -1;
    for (size_t i = 0; i < len; i++)
        m->pieces[i] = (struct ks_piece){
            .start = (uint32_t)i, .len = 1, .id = v->byte_id[(unsigned char)word[i]]};
    m->n = len;
    return 0;
}

int ks_merger_chars(struct ks_merger *m, const struct ks_vocab *v, const char *word, size_t len,
                    struct ks_error *err)
{
    if (reserve(m, len, err))
        return -1;
    m->n = 0;
    for (size_t i = 0; i < len;) {
        size_t n = ks_utf8_length((unsigned char)word[i]);
        if (n > len - i)
            n = len - i;
        m->pieces[m->n++] = (struct ks_piece){
            .start = (uint32_t)i, .len = (uint32_t)n, .id = ks_index_find(&v->keys, word + i, n)};
        i += n;
    }
    return 0;
}

void ks_merger_finish(struct ks_merger *m)
{
    free(m->pieces);
    free(m->links);
    free(m->heap);
    *m = (struct ks_merger){0};
}

/* ------------------------------------------------------------------ pairs */

struct joined {
    uint32_t rank; /* NO_RANK: the vocabulary does not join them */
    int32_t id;
};

static struct joined look_up(const struct ks_vocab *v, const char *word, const struct ks_piece *a,
                             const struct ks_piece *b)
{
    if (!v->ranks) {
        const struct ks_pair *pair = ks_vocab_pair(v, a->id, b->id);
        return pair ? (struct joined){pair->rank, pair->id} : (struct joined){NO_RANK, -1};
    }
    size_t len = a->len + b->len;
    int32_t id = len <= v->longest_key ? ks_index_find(&v->keys, word + a->start, len) : -1;
    return (struct joined){id >= 0 ? v->ranks[id] : NO_RANK, id};
}

/* ------------------------------------------------------------------ short words */

/* The leftmost pair of the best rank; n - 1 where there is none. */
static size_t find_best(const struct joined *pairs, size_t n)
{
    size_t at = n - 1;
    uint32_t best = NO_RANK;
    for (size_t i = 0; i + 1 < n; i++) {
        if (pairs[i].rank < best) {
            best = pairs[i].rank;
            at = i;
        }
    }
    return at;
}

static void run_short(struct ks_merger *m, const struct ks_vocab *v, const char *word)
{
    struct ks_piece *p = m->pieces;
    struct joined pairs[SHORT];
    size_t n = m->n;
    for (size_t i = 0; i + 1 < n; i++)
        pairs[i] = look_up(v, word, &p[i], &p[i + 1]);
    for (size_t at; (at = find_best(pairs, n)) + 1 < n;) {
        p[at].len += p[at + 1].len;
        p[at].id = pairs[at].id;
        n--;
        for (size_t i = at + 1; i < n; i++) {
            p[i] = p[i + 1];
            if (i + 1 < n)
                pairs[i] = pairs[i + 1];
        }
        if (at > 0)
            pairs[at - 1] = look_up(v, word, &p[at - 1], &p[at]);
        if (at + 1 < n)
            pairs[at] = look_up(v, word, &p[at], &p[at + 1]);
    }
    m->n = n;
}

/* ------------------------------------------------------------------ the heap of long words */

static int push(struct ks_merger *m, struct ks_candidate c, struct ks_error *err)
{
    struct ks_candidate *heap =
        ks_grow(m->heap, &m->cap_heap, m->n_heap, sizeof *heap, "the merges of a word", err);
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

/* Offers the pair that starts with pieces[left], where the vocabulary has it. */
static int offer(struct ks_merger *m, const struct ks_vocab *v, const char *word, uint32_t left,
                 struct ks_error *err)
{
    uint32_t right = m->links[left].next;
    if (right == NO_PIECE)
        return 0;
    const struct ks_piece *a = &m->pieces[left], *b = &m->pieces[right];
    struct joined both = look_up(v, word, a, b);
    if (both.rank == NO_RANK)
        return 0;
    struct ks_candidate c = {(uint64_t)both.rank << 32 | left, right, a->len + b->len, both.id};
    return push(m, c, err);
}

/* A candidate is stale once one of its pieces has grown or gone (then its length is 0). */
static bool is_stale(const struct ks_merger *m, const struct ks_candidate *c)
{
    const struct ks_piece *left = &m->pieces[(uint32_t)c->order], *right = &m->pieces[c->right];
    return !left->len || !right->len || left->len + right->len != c->len;
}

static void join(struct ks_merger *m, const struct ks_candidate *c)
{
    uint32_t at = (uint32_t)c->order, next = m->links[c->right].next;
    m->pieces[at].len = c->len;
    m->pieces[at].id = c->id;
    m->pieces[c->right].len = 0;
    m->links[at].next = next;
    if (next != NO_PIECE)
        m->links[next].prev = at;
}

static int link_pieces(struct ks_merger *m, struct ks_error *err)
{
    if (m->n > m->cap_links) {
        free(m->links);
        m->cap_links = 0;
        m->links = malloc(m->cap * sizeof *m->links);
        if (!m->links)
            return ks_fail_memory(err, m->cap * sizeof *m->links, "the pieces of a word");
        m->cap_links = m->cap;
    }
    for (size_t i = 0; i < m->n; i++)
        m->links[i] = (struct ks_link){i > 0 ? (uint32_t)i - 1 : NO_PIECE,
                                       i + 1 < m->n ? (uint32_t)i + 1 : NO_PIECE};
    return 0;
}

static int run_long(struct ks_merger *m, const struct ks_vocab *v, const char *word,
                    struct ks_error *err)
{
    if (link_pieces(m, err))
        return -1;
    m->n_heap = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (offer(m, v, word, (uint32_t)i, err))
            return -1;
    }
    while (m->n_heap) {
        struct ks_candidate c = pop(m);
        if (is_stale(m, &c))
            continue;
        join(m, &c);
        uint32_t at = (uint32_t)c.order, before = m->links[at].prev;
        if ((before != NO_PIECE && offer(m, v, word, before, err)) || offer(m, v, word, at, err))
            return -1;
    }
    size_t n = 0;
    for (uint32_t i = 0; i != NO_PIECE; i = m->links[i].next)
        m->pieces[n++] = m->pieces[i];
    m->n = n;
    return 0;
}

int ks_merger_run(struct ks_merger *m, const struct ks_vocab *v, const char *word,
                  struct ks_error *err)
{
    if (m->n > SHORT)
        return run_long(m, v, word, err);
    if (m->n > 1)
        run_short(m, v, word);
    return 0;
}

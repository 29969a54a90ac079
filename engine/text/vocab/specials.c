#include "engine/text/vocab/specials.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ creating */

struct candidate {
    struct ks_str text;
    int32_t id;
};

static int longest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->text.len != y->text.len)
        return x->text.len < y->text.len ? 1 : -1;
    return x->id < y->id ? -1 : 1;
}

static bool is_wanted(const struct ks_vocab *v, size_t i, bool control)
{
    if (v->flags[i] & KS_TOKEN_IS_CONTROL)
        return control;
    return v->flags[i] & KS_TOKEN_IS_USER_DEFINED;
}

/* Texts of one first byte lie in falling length, so equal lengths follow each other. */
static void collect_lengths(struct ks_specials *s)
{
    uint32_t n = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        s->first[byte] = n;
        for (size_t i = 0; i < s->n; i++) {
            uint32_t len = (uint32_t)s->texts[i].len;
            if ((unsigned char)s->texts[i].bytes[0] != byte)
                continue;
            if (n == s->first[byte] || s->lengths[n - 1] != len)
                s->lengths[n++] = len;
        }
    }
    s->first[256] = n;
}

int ks_specials_create(struct ks_specials *s, const struct ks_vocab *v, bool control,
                       struct ks_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += is_wanted(v, i, control);
    struct candidate *order = calloc(n + 1, sizeof *order);
    s->texts = calloc(n + 1, sizeof *s->texts);
    s->ids = calloc(n + 1, sizeof *s->ids);
    s->flags = calloc(n + 1, sizeof *s->flags);
    s->lengths = calloc(n + 1, sizeof *s->lengths);
    int rc = -1;
    if (!order || !s->texts || !s->ids || !s->flags || !s->lengths) {
        ks_fail_memory(err, n * 64, "the special tokens");
        goto out;
    }
    for (size_t i = 0; i < v->n; i++) {
        if (is_wanted(v, i, control))
            order[s->n++] = (struct candidate){v->text[i], (int32_t)i};
    }
    qsort(order, n, sizeof *order, longest_first);
    if (ks_index_create(&s->index, s->texts, n, err))
        goto out;
    for (size_t i = 0; i < n; i++) {
        s->texts[i] = order[i].text;
        s->ids[i] = order[i].id;
        s->flags[i] = v->flags[order[i].id];
        ks_index_add(&s->index, (int32_t)i);
    }
    collect_lengths(s);
    rc = 0;
out:
    free(order);
    return rc;
}

void ks_specials_finish(struct ks_specials *s)
{
    free(s->texts);
    free(s->ids);
    free(s->flags);
    free(s->lengths);
    ks_index_finish(&s->index);
    *s = (struct ks_specials){0};
}

/* ------------------------------------------------------------------ finding */

struct match {
    size_t start;
    uint32_t which;
};

struct matches {
    struct match *at;
    size_t n, cap;
};

static int find_all(const struct ks_specials *s, const char *text, size_t len, struct matches *out,
                    struct ks_error *err)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        for (uint32_t k = s->first[byte]; k < s->first[byte + 1]; k++) {
            if (s->lengths[k] > len - i)
                continue;
            int32_t which = ks_index_find(&s->index, text + i, s->lengths[k]);
            if (which < 0)
                continue;
            struct match *at = ks_grow(out->at, &out->cap, out->n, sizeof *at,
                                       "the special tokens of a text", err);
            if (!at)
                return -1;
            out->at = at;
            at[out->n++] = (struct match){i, (uint32_t)which};
        }
    }
    return 0;
}

static int by_order(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    if (x->which != y->which)
        return x->which < y->which ? -1 : 1;
    return x->start < y->start ? -1 : 1;
}

/* What each byte of the text belongs to. */
enum { FREE = 0, START, INSIDE, EATEN };

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What was taken before is at least as long, so an overlap shows at one of the match's ends. */
static void take(const struct ks_specials *s, const struct match *m, const char *text, size_t len,
                 unsigned char *owner)
{
    size_t n = s->texts[m->which].len, end = m->start + n;
    if (owner[m->start] != FREE || owner[end - 1] != FREE)
        return;
    memset(owner + m->start, INSIDE, n);
    owner[m->start] = START;
    if (s->flags[m->which] & KS_TOKEN_EATS_SPACE) {
        for (; end < len && owner[end] == FREE && is_space(text[end]); end++)
            owner[end] = EATEN;
    }
}

static int put_part(struct ks_parts *p, struct ks_part part, struct ks_error *err)
{
    struct ks_part *at = ks_grow(p->at, &p->cap, p->n, sizeof *at, "the parts of a text", err);
    if (!at)
        return -1;
    p->at = at;
    at[p->n++] = part;
    return 0;
}

static int put_parts(const struct ks_specials *s, const char *text, size_t len,
                     const unsigned char *owner, struct ks_parts *out, struct ks_error *err)
{
    for (size_t i = 0; i < len;) {
        size_t start = i++;
        if (owner[start] == EATEN)
            continue;
        unsigned char more = owner[start] == START ? INSIDE : FREE;
        while (i < len && owner[i] == more)
            i++;
        struct ks_part part = {start, i - start, -1};
        if (more == INSIDE)
            part.id = s->ids[ks_index_find(&s->index, text + start, i - start)];
        if (put_part(out, part, err))
            return -1;
    }
    return 0;
}

int ks_specials_cut(const struct ks_specials *s, const char *text, size_t len, struct ks_parts *out,
                    struct ks_error *err)
{
    struct matches found = {0};
    unsigned char *owner = NULL;
    int rc = -1;
    out->n = 0;
    if (find_all(s, text, len, &found, err))
        goto out;
    if (!found.n) {
        rc = len ? put_part(out, (struct ks_part){0, len, -1}, err) : 0;
        goto out;
    }
    owner = calloc(len, 1);
    if (!owner) {
        ks_fail_memory(err, len, "the special tokens of a text");
        goto out;
    }
    qsort(found.at, found.n, sizeof *found.at, by_order);
    for (size_t i = 0; i < found.n; i++)
        take(s, &found.at[i], text, len, owner);
    rc = put_parts(s, text, len, owner, out, err);
out:
    free(owner);
    free(found.at);
    return rc;
}

/* The merges of byte-pair vocabularies: "left right" by falling priority. */
#include <stdlib.h>
#include <string.h>

#include "engine/text/vocab/utf8.h"
#include "engine/text/vocab/vocab.h"

#define KEY_MERGES "tokenizer.ggml.merges"

static size_t slot_of(const struct ks_vocab *v, int32_t left, int32_t right)
{
    uint64_t both = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    both *= 0x9E3779B97F4A7C15u;
    return (size_t)(both ^ both >> 32) & v->pair_mask;
}

static struct ks_pair *probe(const struct ks_vocab *v, int32_t left, int32_t right)
{
    for (size_t i = slot_of(v, left, right);; i = (i + 1) & v->pair_mask) {
        struct ks_pair *p = &v->pairs[i];
        if (p->left < 0 || (p->left == left && p->right == right))
            return p;
    }
}

const struct ks_pair *ks_vocab_pair(const struct ks_vocab *v, int32_t left, int32_t right)
{
    if (left < 0 || right < 0)
        return NULL;
    const struct ks_pair *p = probe(v, left, right);
    return p->left < 0 ? NULL : p;
}

static int allocate(struct ks_vocab *v, struct ks_error *err)
{
    size_t slots = 16;
    while (slots < 2 * v->n_merges)
        slots *= 2;
    v->pairs = malloc(slots * sizeof *v->pairs);
    if (!v->pairs)
        return ks_fail_memory(err, slots * sizeof *v->pairs, "the merges of a vocabulary");
    for (size_t i = 0; i < slots; i++)
        v->pairs[i].left = -1;
    v->pair_mask = slots - 1;
    return 0;
}

/* The token that a merge's part spells; both are in the alphabet of the tokens. */
static int32_t find_part(const struct ks_vocab *v, const char *bytes, size_t len, char *scratch)
{
    if (v->pre->flags & KS_PRE_RAW)
        return ks_index_find(&v->keys, bytes, len);
    size_t n;
    return ks_byte_alphabet_decode(bytes, len, scratch, &n) ? ks_index_find(&v->keys, scratch, n)
                                                            : -1;
}

/* scratch has room for s. */
static int add_merge(struct ks_vocab *v, struct ks_str s, uint32_t rank, char *scratch,
                     struct ks_error *err)
{
    char shown[KS_VOCAB_SHOWN];
    const char *space = s.len > 1 ? memchr(s.bytes + 1, ' ', s.len - 1) : NULL;
    if (!space || space + 1 == s.bytes + s.len)
        return ks_fail(err, KS_BAD_INPUT, KEY_MERGES ": item %u, %s, is not two parts", rank,
                       ks_vocab_show(s, shown));
    size_t len = (size_t)(space - s.bytes);
    int32_t left = find_part(v, s.bytes, len, scratch);
    int32_t right = find_part(v, space + 1, s.len - len - 1, scratch);
    char *joined = scratch + s.len;
    memcpy(joined, s.bytes, len);
    memcpy(joined + len, space + 1, s.len - len - 1);
    int32_t id = find_part(v, joined, s.len - 1, scratch);
    if (left < 0 || right < 0 || id < 0)
        return ks_fail(err, KS_BAD_INPUT, KEY_MERGES ": item %u, %s: %s is not a token", rank,
                       ks_vocab_show(s, shown),
                       left < 0    ? "its left part"
                       : right < 0 ? "its right part"
                                   : "the result");
    struct ks_pair *p = probe(v, left, right);
    if (p->left < 0) /* of equal merges the first counts */
        *p = (struct ks_pair){left, right, rank, id};
    return 0;
}

int ks_vocab_load_merges(struct ks_vocab *v, const struct ks_gguf *g, struct ks_error *err)
{
    const struct ks_gguf_value *merges;
    if (ks_vocab_array(g, KEY_MERGES, KS_GGUF_STRING, 0, true, &merges, err))
        return -1;
    v->n_merges = merges->array.count;
    if (v->n_merges > INT32_MAX)
        return ks_fail(err, KS_BAD_INPUT, KEY_MERGES " has %llu items",
                       (unsigned long long)v->n_merges);
    if (allocate(v, err))
        return -1;
    size_t longest = 0;
    for (size_t i = 0; i < v->n_merges; i++) {
        if (merges->array.strings[i].len > longest)
            longest = merges->array.strings[i].len;
    }
    char *scratch = malloc(2 * longest + 1);
    if (!scratch)
        return ks_fail_memory(err, 2 * longest + 1, "the merges of a vocabulary");
    int rc = 0;
    for (size_t i = 0; i < v->n_merges && rc == 0; i++) {
        struct ks_str s = merges->array.strings[i];
        v->merges_hash = ks_hash_join(v->merges_hash, ks_hash_bytes(s.bytes, s.len));
        rc = add_merge(v, s, (uint32_t)i, scratch, err);
    }
    free(scratch);
    return rc;
}

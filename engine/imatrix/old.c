/*
 * The form before GGUF: a count of entries, and for each the length of a name, the name, the number
 * of chunks that were summed, the number of values, the values: sums of mean squares over the
 * chunks. Behind them, in later files, the number of chunks and what text they are of. All numbers
 * are little-endian 32-bit.
 */
#include <stdio.h>
#include <string.h>

#include "engine/imatrix/object.h"

enum {
    NAME_MAX_BYTES = 255,
    ENTRY_LEAST_BYTES = 4 + 1 + 4 + 4 + 4, /* a name of one letter and a value */
};

/* A length or a count of at least one. */
static int take_positive(struct ks_reader *r, uint32_t most, const char *what, uint32_t *out,
                         struct ks_error *err)
{
    uint64_t at = r->at;
    if (ks_reader_u32(r, out, what, err))
        return -1;
    if (*out >= 1 && *out <= most)
        return 0;
    return ks_reader_fail(r, at, err, "%s is %d; " KS_GGUF_DAMAGED, what, (int32_t)*out);
}

static int take_name(struct ks_reader *r, char name[NAME_MAX_BYTES + 1], struct ks_error *err)
{
    uint32_t len;
    if (take_positive(r, NAME_MAX_BYTES, "the length of a name", &len, err) ||
        ks_reader_need(r, len, "a name", err))
        return -1;
    memcpy(name, r->bytes + r->at, len);
    name[len] = '\0';
    for (uint32_t i = 0; i < len; i++)
        if (name[i] < ' ' || name[i] > '~')
            return ks_reader_fail(r, r->at + i, err, "a name holds the byte %u; " KS_GGUF_DAMAGED,
                                  (unsigned)(uint8_t)name[i]);
    r->at += len;
    return 0;
}

static int take_entry(struct ks_imatrix *m, struct ks_reader *r, struct ks_error *err)
{
    char name[NAME_MAX_BYTES + 1];
    uint32_t chunks, n;
    if (take_name(r, name, err) || ks_reader_u32(r, &chunks, "the number of chunks", err) ||
        take_positive(r, INT32_MAX, "the number of values", &n, err) ||
        ks_reader_need_items(r, n, sizeof(float), "values", err))
        return -1;
    struct ks_imatrix_entry *e = ks_imatrix_add(m, name, n, err);
    if (!e)
        return -1;
    memcpy(e->weights, r->bytes + r->at, n * sizeof(float));
    r->at += n * sizeof(float);
    for (uint32_t i = 0; (int32_t)chunks > 0 && i < n; i++)
        e->weights[i] /= (float)(int32_t)chunks;
    return 0;
}

/* What may stand behind the entries, or nothing. */
static int take_trailer(struct ks_imatrix *m, struct ks_reader *r, struct ks_error *err)
{
    uint32_t chunks, len;
    if (r->at == r->len)
        return 0;
    if (ks_reader_u32(r, &chunks, "the number of chunks", err) ||
        ks_reader_u32(r, &len, "the length of the text's name", err) ||
        ks_reader_need(r, len, "the text's name", err))
        return -1;
    struct ks_str dataset = {(const char *)r->bytes + r->at, len};
    r->at += len;
    if (r->at != r->len)
        return ks_reader_fail(r, r->at, err, "there is more behind the end; " KS_GGUF_DAMAGED);
    return ks_imatrix_tell(m, dataset, (int32_t)chunks > 0 ? chunks : 0, err);
}

int ks_imatrix_read_old(struct ks_imatrix *m, const uint8_t *bytes, uint64_t len,
                        struct ks_error *err)
{
    struct ks_reader r = {.file = m->shown, .bytes = bytes, .len = len, .where = "the header"};
    uint32_t n = 0;
    if (len < 4 || ks_reader_u32(&r, &n, "the number of entries", err) || n < 1 ||
        n > (len - 4) / ENTRY_LEAST_BYTES)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: not an importance matrix, neither in GGUF nor in the older form",
                       m->shown);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(r.where, sizeof r.where, "entry %u", i);
        if (take_entry(m, &r, err))
            return -1;
    }
    snprintf(r.where, sizeof r.where, "behind the entries");
    return take_trailer(m, &r, err);
}

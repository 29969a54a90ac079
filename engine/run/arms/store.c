/*
 * Entries are kept in one list that is searched front to back: a run has hundreds of tensors times
 * a few types, and each look-up stands beside a hash over megabytes. Two keys lead to an entry: the
 * content (hash, type, shape), and for what was made here also the source pointer and type, so that
 * a second arm of the same preset makes nothing.
 */
#include "engine/run/arms/store.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/quant/decode.h"
#include "engine/quant/encode/encode.h"

/* Rows are quantized in pieces of about this many elements: large enough to keep a thread busy,
 * small enough for the f32 copy to stay in cache. */
#define PIECE_ELEMENTS 65536

struct entry {
    struct ks_matrix matrix;
    struct ks_hash hash;
    const uint8_t *source; /* what it was made from; NULL for a tensor lent to us */
    uint8_t *owned;
};

struct ks_store {
    struct entry *entries;
    size_t n, cap;
    uint64_t owned_bytes;
};

struct ks_store *ks_store_create(struct ks_error *err)
{
    struct ks_store *s = calloc(1, sizeof *s);
    if (!s)
        ks_fail_memory(err, sizeof *s, "the tensor store");
    return s;
}

void ks_store_destroy(struct ks_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->entries[i].owned);
    free(s->entries);
    free(s);
}

uint64_t ks_store_bytes(const struct ks_store *s)
{
    return s->owned_bytes;
}

static bool matrix_bytes(const struct ks_matrix *m, uint64_t *bytes)
{
    uint64_t row;
    return ks_type_row_bytes(m->type, m->cols, &row) && ks_mul_u64(row, m->rows, bytes);
}

static bool same_shape(const struct ks_matrix *a, const struct ks_matrix *b)
{
    return a->type == b->type && a->rows == b->rows && a->cols == b->cols;
}

static int add_entry(struct ks_store *s, const struct entry *e, struct ks_error *err)
{
    struct entry *entries =
        ks_grow(s->entries, &s->cap, s->n, sizeof *entries, "the tensor store", err);
    if (!entries)
        return -1;
    s->entries = entries;
    entries[s->n++] = *e;
    return 0;
}

static const struct entry *find_equal(const struct ks_store *s, const struct ks_matrix *m,
                                      struct ks_hash hash, uint64_t bytes)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct entry *e = &s->entries[i];
        if (same_shape(&e->matrix, m) && ks_hash_equal(e->hash, hash) &&
            memcmp(e->matrix.data, m->data, bytes) == 0)
            return e;
    }
    return NULL;
}

static bool is_known(const struct ks_store *s, const struct ks_matrix *m)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].matrix.data == m->data && same_shape(&s->entries[i].matrix, m))
            return true;
    return false;
}

int ks_store_intern(struct ks_store *s, struct ks_matrix *m, struct ks_error *err)
{
    uint64_t bytes;
    if (is_known(s, m))
        return 0;
    if (!matrix_bytes(m, &bytes))
        return ks_fail(err, KS_INTERNAL, "a tensor of an impossible shape reached the store");
    struct ks_hash hash = ks_hash_bytes(m->data, bytes);
    const struct entry *found = find_equal(s, m, hash, bytes);
    if (found) {
        m->data = found->matrix.data;
        return 0;
    }
    return add_entry(s, &(struct entry){.matrix = *m, .hash = hash}, err);
}

struct quantizing {
    const struct ks_matrix *source;
    enum ks_type type;
    uint64_t source_row, dest_row, rows_per_piece;
    float *scratch; /* (threads, rows_per_piece, cols) */
    uint8_t *dest;
    atomic_uint_fast64_t bad_row; /* the first row found with a NaN or infinity, plus 1 */
};

static void note_bad_row(struct quantizing *q, uint64_t row)
{
    uint_fast64_t seen = atomic_load(&q->bad_row);
    while ((seen == 0 || row + 1 < seen) &&
           !atomic_compare_exchange_weak(&q->bad_row, &seen, row + 1))
        ;
}

static void quantize_piece(void *ctx, size_t piece, int worker)
{
    struct quantizing *q = ctx;
    size_t cols = q->source->cols;
    uint64_t first = piece * q->rows_per_piece;
    uint64_t rows = q->source->rows - first;
    if (rows > q->rows_per_piece)
        rows = q->rows_per_piece;
    float *f = q->scratch + (size_t)worker * q->rows_per_piece * cols;
    for (uint64_t r = 0; r < rows; r++) {
        float *row = f + r * cols;
        ks_decode_row(q->source->type, q->source->data + (first + r) * q->source_row, row, cols);
        bool finite = true;
        for (size_t c = 0; c < cols; c++)
            finite &= isfinite(row[c]) != 0;
        if (!finite) {
            note_bad_row(q, first + r);
            return;
        }
    }
    ks_encode_rows(q->type, f, rows, cols, NULL, q->dest + first * q->dest_row);
}

static int quantize(struct ks_pool *pool, const struct ks_matrix *source, enum ks_type type,
                    uint8_t *dest, struct ks_error *err)
{
    struct quantizing q = {.source = source, .type = type, .dest = dest};
    ks_type_row_bytes(source->type, source->cols, &q.source_row);
    ks_type_row_bytes(type, source->cols, &q.dest_row);
    q.rows_per_piece = source->cols >= PIECE_ELEMENTS ? 1 : PIECE_ELEMENTS / source->cols;
    if (q.rows_per_piece > source->rows)
        q.rows_per_piece = source->rows;
    size_t scratch = q.rows_per_piece * source->cols;
    q.scratch = ks_alloc_aligned((size_t)ks_pool_threads(pool) * scratch, sizeof(float));
    if (!q.scratch)
        return ks_fail_memory(err, scratch * sizeof(float), "quantizing");
    uint64_t pieces = (source->rows + q.rows_per_piece - 1) / q.rows_per_piece;
    ks_pool_for(pool, pieces, quantize_piece, &q);
    free(q.scratch);
    uint64_t bad = atomic_load(&q.bad_row);
    if (bad)
        return ks_fail(err, KS_BAD_INPUT,
                       "row %llu holds a NaN or an infinity, which no quantized type can store",
                       (unsigned long long)(bad - 1));
    return 0;
}

static const struct entry *find_made(const struct ks_store *s, const struct ks_matrix *source,
                                     enum ks_type type)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct entry *e = &s->entries[i];
        if (e->source == source->data && e->matrix.type == type && e->matrix.rows == source->rows &&
            e->matrix.cols == source->cols)
            return e;
    }
    return NULL;
}

int ks_store_quantize(struct ks_store *s, struct ks_pool *pool, const struct ks_matrix *source,
                      enum ks_type type, struct ks_matrix *out, struct ks_error *err)
{
    const struct entry *made = find_made(s, source, type);
    if (made) {
        *out = made->matrix;
        return 0;
    }
    struct entry e = {.matrix = {.type = type, .rows = source->rows, .cols = source->cols}};
    uint64_t bytes;
    if (!matrix_bytes(&e.matrix, &bytes))
        return ks_fail(err, KS_INTERNAL, "a shape that type %s cannot hold reached the quantizer",
                       ks_type_info(type)->name);
    e.owned = ks_alloc_aligned(bytes, 1);
    if (!e.owned)
        return ks_fail_memory(err, bytes, "a quantized tensor");
    e.matrix.data = e.owned;
    e.source = source->data;
    if (quantize(pool, source, type, e.owned, err)) {
        free(e.owned);
        return -1;
    }
    e.hash = ks_hash_bytes(e.owned, bytes);
    if (add_entry(s, &e, err)) {
        free(e.owned);
        return -1;
    }
    s->owned_bytes += bytes;
    *out = e.matrix;
    return 0;
}

#include "engine/quant/recode.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/quant/decode.h"

/* A piece has about this many elements: enough to keep a thread busy. */
#define PIECE_ELEMENTS 65536
/* Of a small matrix: as many threads as there are shall have work. */
#define PIECES_A_THREAD 4
#define F16_BEYOND      65520.0f /* from here on a half rounds to infinity */

struct recoding {
    const struct ks_matrix *source;
    enum ks_type type;
    const struct ks_encoder *encoder;
    const struct ks_importance *importance; /* or NULL */
    size_t source_row_bytes, dest_row_bytes, rows_per_piece;
    float *scratch; /* (threads, cols) */
    uint8_t *dest;
    atomic_size_t bad_row; /* the first with a weight that does not fit, or SIZE_MAX */
};

static bool fits(enum ks_type type, float weight)
{
    return fabsf(weight) < (type == KS_F16 ? F16_BEYOND : INFINITY); /* so is no NaN */
}

static void note_bad_row(struct recoding *r, size_t row)
{
    size_t seen = atomic_load(&r->bad_row);
    while (row < seen && !atomic_compare_exchange_weak(&r->bad_row, &seen, row))
        continue;
}

static void decode_row(const struct recoding *r, size_t row, float *out)
{
    ks_decode_row(r->source->type, r->source->data + row * r->source_row_bytes, out,
                  (size_t)r->source->cols);
}

static bool row_fits(enum ks_type type, const float *row, size_t cols)
{
    unsigned bad = 0; /* a sum, which is quicker than leaving early */
    for (size_t c = 0; c < cols; c++)
        bad += !fits(type, row[c]);
    return bad == 0;
}

/* The column weights of a row, NULL where there are none. */
static const float *importance_of(const struct recoding *r, size_t row)
{
    if (!r->importance)
        return NULL;
    size_t rows_a_slice = (size_t)r->source->rows / r->importance->slices;
    return r->importance->weights + row / rows_a_slice * (size_t)r->source->cols;
}

static void recode_piece(void *ctx, size_t piece, int worker)
{
    struct recoding *r = ctx;
    size_t cols = (size_t)r->source->cols, first = piece * r->rows_per_piece;
    size_t rows = (size_t)r->source->rows - first;
    if (rows > r->rows_per_piece)
        rows = r->rows_per_piece;
    float *weights = r->scratch + (size_t)worker * cols;
    for (size_t row = first; row < first + rows; row++) {
        decode_row(r, row, weights);
        if (!row_fits(r->type, weights, cols)) {
            note_bad_row(r, row);
            return;
        }
        ks_encode_rows(r->encoder, weights, 1, cols, importance_of(r, row),
                       r->dest + row * r->dest_row_bytes);
    }
}

static int report_bad_row(const struct recoding *r, size_t row, struct ks_error *err)
{
    size_t col = 0;
    decode_row(r, row, r->scratch);
    while (fits(r->type, r->scratch[col]))
        col++;
    return ks_fail(err, KS_BAD_INPUT, "row %zu, column %zu holds %g, which %s cannot hold", row,
                   col, (double)r->scratch[col], ks_type_info(r->type)->name);
}

static int prepare(struct recoding *r, const struct ks_pool *pool, struct ks_error *err)
{
    uint64_t cols = r->source->cols, source_row, dest_row;
    if (!ks_type_row_bytes(r->source->type, cols, &source_row) ||
        !ks_type_row_bytes(r->type, cols, &dest_row))
        return ks_fail(err, KS_INTERNAL, "rows of %llu weights are no whole blocks",
                       (unsigned long long)cols);
    r->source_row_bytes = (size_t)source_row;
    r->dest_row_bytes = (size_t)dest_row;
    r->rows_per_piece = cols >= PIECE_ELEMENTS ? 1 : PIECE_ELEMENTS / (size_t)cols;
    size_t threads = (size_t)ks_pool_threads(pool);
    size_t even = (size_t)r->source->rows / (threads * PIECES_A_THREAD) + 1;
    if (r->rows_per_piece > even)
        r->rows_per_piece = even;
    size_t floats = threads * (size_t)cols;
    r->scratch = ks_alloc_aligned(floats, sizeof *r->scratch);
    return r->scratch ? 0 : ks_fail_memory(err, floats * sizeof *r->scratch, "recoding");
}

int ks_recode(const struct ks_recode *how, const struct ks_matrix *source, enum ks_type type,
              uint8_t *dest, struct ks_error *err)
{
    struct recoding r = {.source = source, .type = type, .importance = how->importance};
    assert(!how->importance || source->rows % how->importance->slices == 0);
    atomic_init(&r.bad_row, SIZE_MAX);
    r.dest = dest;
    r.encoder = ks_encoders_get(how->encoders, type, err);
    if (!r.encoder || prepare(&r, how->pool, err))
        return -1;
    size_t pieces = ((size_t)source->rows + r.rows_per_piece - 1) / r.rows_per_piece;
    ks_pool_for(how->pool, pieces, recode_piece, &r);
    size_t bad = atomic_load(&r.bad_row);
    int failed = bad == SIZE_MAX ? 0 : report_bad_row(&r, bad, err);
    free(r.scratch);
    return failed;
}

#include "engine/quant/recode.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/quant/decode.h"
#include "engine/quant/encode/encode.h"

/* A piece has about this many elements: enough to keep a thread busy, few enough for their f32 to
 * stay in cache. */
#define PIECE_ELEMENTS 65536
#define F16_BEYOND     65520.0f /* from here on a half rounds to infinity */

struct recoding {
    const struct ks_matrix *source;
    enum ks_type type;
    size_t source_row_bytes, dest_row_bytes, rows_per_piece;
    float *scratch; /* (threads, rows_per_piece, cols) */
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

static void recode_piece(void *ctx, size_t piece, int worker)
{
    struct recoding *r = ctx;
    size_t cols = (size_t)r->source->cols, first = piece * r->rows_per_piece;
    size_t rows = (size_t)r->source->rows - first;
    if (rows > r->rows_per_piece)
        rows = r->rows_per_piece;
    float *weights = r->scratch + (size_t)worker * r->rows_per_piece * cols;
    for (size_t i = 0; i < rows; i++) {
        decode_row(r, first + i, weights + i * cols);
        if (!row_fits(r->type, weights + i * cols, cols)) {
            note_bad_row(r, first + i);
            return;
        }
    }
    ks_encode_rows(r->type, weights, rows, cols, NULL, r->dest + first * r->dest_row_bytes);
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
    if (r->rows_per_piece > r->source->rows)
        r->rows_per_piece = (size_t)r->source->rows;
    size_t floats = (size_t)ks_pool_threads(pool) * r->rows_per_piece * (size_t)cols;
    r->scratch = ks_alloc_aligned(floats, sizeof *r->scratch);
    return r->scratch ? 0 : ks_fail_memory(err, floats * sizeof *r->scratch, "recoding");
}

int ks_recode(struct ks_pool *pool, const struct ks_matrix *source, enum ks_type type,
              uint8_t *dest, struct ks_error *err)
{
    struct recoding r = {.source = source, .type = type, .dest = dest};
    atomic_init(&r.bad_row, SIZE_MAX);
    if (prepare(&r, pool, err))
        return -1;
    size_t pieces = ((size_t)source->rows + r.rows_per_piece - 1) / r.rows_per_piece;
    ks_pool_for(pool, pieces, recode_piece, &r);
    size_t bad = atomic_load(&r.bad_row);
    int failed = bad == SIZE_MAX ? 0 : report_bad_row(&r, bad, err);
    free(r.scratch);
    return failed;
}

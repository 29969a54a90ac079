/* Converting a model's matrices in memory, so that any file can be a reference of any type. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/pool.h"
#include "engine/model/object.h"
#include "engine/quant/decode.h"
#include "engine/quant/encode/encode.h"
#include "engine/quant/mix/mix.h"

#define CHUNK_ROWS 32      /* rows of one task of the pool */
#define F16_BEYOND 65520.0 /* from here on a half rounds to infinity */

struct conversion {
    enum ks_type to;
    struct ks_pool *pool;
    float *scratch;        /* (threads, scratch_floats) */
    size_t scratch_floats; /* of one worker: CHUNK_ROWS of the widest tensor */

    /* the tensor at hand */
    const struct ks_matrix *from;
    size_t from_row_bytes, to_row_bytes;
    uint8_t *out;
    atomic_size_t bad_row; /* the first row that cannot be converted, or SIZE_MAX */
};

static bool fits(const struct conversion *c, float value)
{
    return isfinite(value) && (c->to != KS_F16 || fabs((double)value) < F16_BEYOND);
}

static void note_bad_row(struct conversion *c, size_t row)
{
    size_t seen = atomic_load(&c->bad_row);
    while (row < seen && !atomic_compare_exchange_weak(&c->bad_row, &seen, row))
        continue;
}

static const uint8_t *source_row(const struct conversion *c, size_t row)
{
    return c->from->data + row * c->from_row_bytes;
}

static void convert_chunk(void *ctx, size_t i, int worker)
{
    struct conversion *c = ctx;
    size_t cols = (size_t)c->from->cols, first = i * CHUNK_ROWS;
    size_t rows = (size_t)c->from->rows - first;
    if (rows > CHUNK_ROWS)
        rows = CHUNK_ROWS;
    float *values = c->scratch + (size_t)worker * c->scratch_floats;
    for (size_t r = 0; r < rows; r++) {
        float *row = values + r * cols;
        ks_decode_row(c->from->type, source_row(c, first + r), row, cols);
        for (size_t k = 0; k < cols; k++) {
            if (!fits(c, row[k])) {
                note_bad_row(c, first + r);
                return;
            }
        }
    }
    ks_encode_rows(c->to, values, rows, cols, NULL, c->out + first * c->to_row_bytes);
}

static int report_bad_row(const struct conversion *c, const struct ks_model *m, const char *name,
                          struct ks_error *err)
{
    size_t row = atomic_load(&c->bad_row), col = 0;
    ks_decode_row(c->from->type, source_row(c, row), c->scratch, (size_t)c->from->cols);
    while (fits(c, c->scratch[col]))
        col++;
    return ks_fail(err, KS_BAD_INPUT,
                   "%s: tensor %s holds %g in row %zu, column %zu, which %s cannot hold", m->shown,
                   name, (double)c->scratch[col], row, col, ks_type_info(c->to)->name);
}

static int check_convertible(const struct conversion *c, const struct ks_model *m, size_t i,
                             struct ks_error *err)
{
    const struct ks_matrix *w = &m->tensors[i];
    const char *name = ks_model_tensor_name(m, i);
    uint64_t bytes;
    if (!ks_type_info(w->type)->decodes)
        return ks_fail(err, KS_UNSUPPORTED, "%s: tensor %s is of type %s, which cannot be decoded",
                       m->shown, name, ks_type_info(w->type)->name);
    if (!ks_type_row_bytes(c->to, w->cols, &bytes))
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: tensor %s has %llu columns, no whole number of %s's blocks of %u; "
                       "convert to F16, BF16 or F32 instead",
                       m->shown, name, (unsigned long long)w->cols, ks_type_info(c->to)->name,
                       ks_type_info(c->to)->block_elems);
    return 0;
}

static int convert_tensor(struct conversion *c, struct ks_model *m, size_t i, struct ks_error *err)
{
    const struct ks_matrix *w = &m->tensors[i];
    uint64_t from_row, to_row, bytes;
    if (!ks_type_row_bytes(w->type, w->cols, &from_row) ||
        !ks_type_row_bytes(c->to, w->cols, &to_row) || !ks_mul_u64(to_row, w->rows, &bytes))
        return ks_fail_memory(err, UINT64_MAX, "a converted tensor");
    c->out = m->converted[i] = ks_alloc_aligned((size_t)bytes, 1);
    if (!c->out)
        return ks_fail_memory(err, bytes, "a converted tensor");
    c->from = w;
    c->from_row_bytes = (size_t)from_row;
    c->to_row_bytes = (size_t)to_row;
    atomic_store(&c->bad_row, SIZE_MAX);
    ks_pool_for(c->pool, ((size_t)w->rows + CHUNK_ROWS - 1) / CHUNK_ROWS, convert_chunk, c);
    if (atomic_load(&c->bad_row) != SIZE_MAX)
        return report_bad_row(c, m, ks_model_tensor_name(m, i), err);
    m->tensors[i].data = c->out;
    m->tensors[i].type = c->to;
    return 0;
}

static bool to_convert(const struct conversion *c, const struct ks_model *m, size_t i)
{
    const struct ks_gguf_tensor *t = ks_gguf_tensor(m->gguf, i);
    const struct ks_mix_tensor candidate = {
        .name = t->name,
        .type = (enum ks_type)t->type,
        .n_dims = t->n_dims,
        .dims = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]},
    };
    return m->tensors[i].type != c->to && ks_mix_quantizable(&candidate);
}

/* Everything that can be refused is refused before the first byte is converted. */
static int prepare(struct conversion *c, struct ks_model *m, struct ks_error *err)
{
    size_t widest = 0;
    for (size_t i = 0; i < m->n_tensors; i++) {
        if (!to_convert(c, m, i))
            continue;
        if (check_convertible(c, m, i, err))
            return -1;
        if (m->tensors[i].cols > widest)
            widest = (size_t)m->tensors[i].cols;
    }
    c->pool = ks_pool_create(ks_threads_allowed(), err);
    if (!c->pool)
        return -1;
    c->scratch_floats = CHUNK_ROWS * widest;
    size_t floats = (size_t)ks_pool_threads(c->pool) * c->scratch_floats;
    c->scratch = ks_alloc_aligned(floats, sizeof(float));
    m->converted = calloc(m->n_tensors, sizeof *m->converted);
    if (!c->scratch || !m->converted)
        return ks_fail_memory(err, floats * sizeof(float), "converting tensors");
    return 0;
}

static int find_type(const char *name, enum ks_type *type, struct ks_error *err)
{
    const struct ks_type_info *found = ks_type_named(name);
    if (found && found->quantizes) {
        *type = found->type;
        return 0;
    }
    char known[512];
    size_t at = 0;
    const struct ks_type_info *t;
    for (uint32_t i = 0; (t = ks_type_at(i)) && at < sizeof known; i++) {
        if (t->quantizes)
            at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", t->name);
    }
    return ks_fail(err, found ? KS_UNSUPPORTED : KS_BAD_INPUT,
                   "a model cannot be converted to \"%s\"; it can to %s", name, known);
}

int ks_model_convert(struct ks_model *m, const char *type, struct ks_error *err)
{
    struct conversion c = {0};
    if (find_type(type, &c.to, err))
        return ks_fail_prefix(err, "%s", m->shown);
    int failed = prepare(&c, m, err);
    for (size_t i = 0; !failed && i < m->n_tensors; i++)
        failed = to_convert(&c, m, i) && convert_tensor(&c, m, i, err);
    free(c.scratch);
    ks_pool_destroy(c.pool);
    return failed ? -1 : 0;
}

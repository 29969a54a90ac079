/* What differs between the contents of two models. */
#include "engine/model/object.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/quant/decode.h"

/* A comparison under way. */
struct diff {
    struct ks_model *a, *b;
    int (*tell)(void *ctx, const struct ks_difference *d, struct ks_error *err);
    void *ctx;
    size_t n;
};

static int tell(struct diff *diff, const struct ks_difference *d, struct ks_error *err)
{
    diff->n++;
    return diff->tell(diff->ctx, d, err);
}

/* ------------------------------------------------------------------ metadata */

/* By bits: a NaN equals itself, and -0 is not 0. */
static bool same_datum(struct ks_datum x, struct ks_datum y)
{
    if (x.kind != y.kind)
        return false;
    switch (x.kind) {
    case KS_DATUM_STRING:
        return x.s.len == y.s.len && (x.s.len == 0 || memcmp(x.s.bytes, y.s.bytes, x.s.len) == 0);
    case KS_DATUM_BOOL:
        return x.b == y.b;
    case KS_DATUM_REAL:
        return memcmp(&x.f, &y.f, sizeof x.f) == 0;
    case KS_DATUM_SIGNED:
        return x.i == y.i;
    default:
        return x.u == y.u;
    }
}

/* Whether two entries differ; *d says in how many items. */
static bool entries_differ(const struct diff *diff, struct ks_difference *d)
{
    const struct ks_gguf_value *a = ks_gguf_value(diff->a->gguf, d->a);
    const struct ks_gguf_value *b = ks_gguf_value(diff->b->gguf, d->b);
    uint64_t n, m;
    if (strcmp(ks_gguf_value_kind(a), ks_gguf_value_kind(b)) != 0)
        return true;
    ks_model_metadata_is_array(diff->a, d->a, &n);
    ks_model_metadata_is_array(diff->b, d->b, &m);
    if (n != m)
        return true;
    for (uint64_t i = 0; i < n; i++) {
        if (same_datum(ks_model_metadata_datum(diff->a, d->a, i),
                       ks_model_metadata_datum(diff->b, d->b, i)))
            continue;
        if (d->items++ == 0)
            d->first_item = i;
    }
    return d->items > 0;
}

static size_t entry_named(const struct ks_model *m, const char *key)
{
    const struct ks_gguf_value *v = ks_gguf_find(m->gguf, key);
    return v ? (size_t)(v - ks_gguf_value(m->gguf, 0)) : KS_NOWHERE;
}

static int diff_metadata(struct diff *diff, struct ks_error *err)
{
    for (size_t i = 0; i < ks_gguf_n_values(diff->a->gguf); i++) {
        const char *key = ks_gguf_value(diff->a->gguf, i)->key;
        struct ks_difference d = {
            .kind = KS_DIFFERENCE_METADATA, .name = key, .a = i, .b = entry_named(diff->b, key)};
        if ((d.b == KS_NOWHERE || entries_differ(diff, &d)) && tell(diff, &d, err))
            return -1;
    }
    for (size_t i = 0; i < ks_gguf_n_values(diff->b->gguf); i++) {
        const char *key = ks_gguf_value(diff->b->gguf, i)->key;
        const struct ks_difference d = {
            .kind = KS_DIFFERENCE_METADATA, .name = key, .a = KS_NOWHERE, .b = i};
        if (entry_named(diff->a, key) == KS_NOWHERE && tell(diff, &d, err))
            return -1;
    }
    return 0;
}

/* ------------------------------------------------------------------ tokenizers */

/* ks_tokenizer_compare's warnings on their way; the first failure to tell ends them. */
struct warnings {
    struct diff *diff;
    struct ks_error *err;
    bool failed;
};

static int tell_text(struct diff *diff, const char *text, struct ks_error *err)
{
    const struct ks_difference d = {.kind = KS_DIFFERENCE_TOKENIZER,
                                    .name = "",
                                    .a = KS_NOWHERE,
                                    .b = KS_NOWHERE,
                                    .text = text};
    return tell(diff, &d, err);
}

static void on_warning(void *ctx, const char *text)
{
    struct warnings *w = ctx;
    if (!w->failed && tell_text(w->diff, text, w->err))
        w->failed = true;
}

/* A vocabulary that is refused is a difference only where the other's is not: what it consists of
 * is metadata, and was compared. */
static int diff_tokenizers(struct diff *diff, struct ks_error *err)
{
    struct ks_error of_a = {0}, of_b = {0}, found = {0};
    const struct ks_tokenizer *a = ks_model_tokenizer(diff->a, &of_a);
    const struct ks_tokenizer *b = ks_model_tokenizer(diff->b, &of_b);
    if (of_a.code == KS_NO_MEMORY || of_b.code == KS_NO_MEMORY) {
        *err = of_a.code == KS_NO_MEMORY ? of_a : of_b;
        return -1;
    }
    if (!a || !b)
        return a || b ? tell_text(diff, a ? of_b.text : of_a.text, err) : 0;
    struct warnings w = {.diff = diff, .err = err};
    if (ks_tokenizer_compare(a, b, on_warning, &w, &found) == 0)
        return w.failed ? -1 : 0;
    if (found.code != KS_NO_MEMORY)
        return tell_text(diff, found.text, err);
    *err = found;
    return -1;
}

/* ------------------------------------------------------------------ tensors */

struct sums {
    double a2, d2;
};

static void add_row(const float *a, const float *b, size_t n, struct sums *s,
                    struct ks_difference *d)
{
    for (size_t i = 0; i < n; i++) {
        double x = (double)a[i], e = (double)b[i] - x;
        s->a2 += x * x;
        s->d2 += e * e;
        d->unequal += memcmp(&a[i], &b[i], sizeof *a) != 0 && e != 0;
        if (fabs(e) > d->max_abs)
            d->max_abs = fabs(e);
    }
}

/* Fills what *d says of values. Rows are decoded one by one. */
static int measure(const struct ks_matrix *a, const struct ks_matrix *b, struct ks_difference *d,
                   struct ks_error *err)
{
    uint64_t a_bytes, b_bytes;
    float *rows = calloc((size_t)a->cols, 2 * sizeof *rows);
    if (!rows)
        return ks_fail_memory(err, 2 * a->cols * sizeof *rows, "two rows of a tensor");
    struct sums s = {0};
    ks_type_row_bytes(a->type, a->cols, &a_bytes);
    ks_type_row_bytes(b->type, b->cols, &b_bytes);
    for (uint64_t r = 0; r < a->rows; r++) {
        ks_decode_row(a->type, a->data + r * a_bytes, rows, (size_t)a->cols);
        ks_decode_row(b->type, b->data + r * b_bytes, rows + a->cols, (size_t)a->cols);
        add_row(rows, rows + a->cols, (size_t)a->cols, &s, d);
    }
    free(rows);
    d->values = true;
    d->rms_relative = s.d2 > 0 ? sqrt(s.d2 / s.a2) : 0;
    if (!isfinite(s.a2) || !isfinite(s.d2))
        d->rms_relative = d->max_abs = NAN;
    return 0;
}

/* Whether two tensors differ; *d says by how much. */
static int compare_tensors(const struct diff *diff, struct ks_difference *d, bool *differ,
                           struct ks_error *err)
{
    const struct ks_gguf_tensor *a = ks_gguf_tensor(diff->a->gguf, d->a);
    const struct ks_gguf_tensor *b = ks_gguf_tensor(diff->b->gguf, d->b);
    bool same_shape = memcmp(a->dims, b->dims, sizeof a->dims) == 0;
    *differ = !same_shape || a->n_dims != b->n_dims || a->type != b->type ||
              (a->bytes && memcmp(a->data, b->data, a->bytes) != 0);
    bool decode = ks_type_info(a->type)->decodes && ks_type_info(b->type)->decodes;
    if (!*differ || !same_shape || !decode || a->bytes == 0)
        return 0;
    return measure(&diff->a->tensors[d->a], &diff->b->tensors[d->b], d, err);
}

static size_t tensor_named(const struct ks_model *m, const char *name)
{
    const struct ks_gguf_tensor *t = ks_gguf_find_tensor(m->gguf, name);
    return t ? (size_t)(t - ks_gguf_tensor(m->gguf, 0)) : KS_NOWHERE;
}

static int diff_tensors(struct diff *diff, struct ks_error *err)
{
    for (size_t i = 0; i < diff->a->n_tensors; i++) {
        const char *name = ks_model_tensor_name(diff->a, i);
        struct ks_difference d = {
            .kind = KS_DIFFERENCE_TENSOR, .name = name, .a = i, .b = tensor_named(diff->b, name)};
        bool differ = true;
        if (d.b != KS_NOWHERE && compare_tensors(diff, &d, &differ, err))
            return -1;
        if (differ && tell(diff, &d, err))
            return -1;
    }
    for (size_t i = 0; i < diff->b->n_tensors; i++) {
        const char *name = ks_model_tensor_name(diff->b, i);
        const struct ks_difference d = {
            .kind = KS_DIFFERENCE_TENSOR, .name = name, .a = KS_NOWHERE, .b = i};
        if (tensor_named(diff->a, name) == KS_NOWHERE && tell(diff, &d, err))
            return -1;
    }
    return 0;
}

int ks_model_diff(struct ks_model *a, struct ks_model *b,
                  int (*tell_caller)(void *ctx, const struct ks_difference *d,
                                     struct ks_error *err),
                  void *ctx, size_t *n, struct ks_error *err)
{
    struct diff diff = {.a = a, .b = b, .tell = tell_caller, .ctx = ctx};
    if (diff_metadata(&diff, err) || diff_tokenizers(&diff, err) || diff_tensors(&diff, err))
        return -1;
    *n = diff.n;
    return 0;
}

/* Converting a model's matrices in memory, so that any file can be a reference of any type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/pool.h"
#include "engine/model/object.h"
#include "engine/quant/mix/mix.h"
#include "engine/quant/recode.h"

static int check_convertible(const struct ks_model *m, size_t i, enum ks_type to,
                             struct ks_error *err)
{
    const struct ks_matrix *w = &m->tensors[i];
    const char *name = ks_model_tensor_name(m, i);
    uint64_t bytes;
    if (!ks_type_info(w->type)->decodes)
        return ks_fail(err, KS_UNSUPPORTED, "%s: tensor %s is of type %s, which cannot be decoded",
                       m->shown, name, ks_type_info(w->type)->name);
    if (!ks_type_row_bytes(to, w->cols, &bytes))
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: tensor %s has %llu columns, no whole number of %s's blocks of %u; "
                       "convert to F16, BF16 or F32 instead",
                       m->shown, name, (unsigned long long)w->cols, ks_type_info(to)->name,
                       ks_type_info(to)->block_elems);
    return 0;
}

static int convert_tensor(struct ks_model *m, size_t i, enum ks_type to,
                          const struct ks_recode *how, struct ks_error *err)
{
    struct ks_matrix *w = &m->tensors[i];
    uint64_t row, bytes;
    if (!ks_type_row_bytes(to, w->cols, &row) || !ks_mul_u64(row, w->rows, &bytes))
        return ks_fail_memory(err, UINT64_MAX, "a converted tensor");
    uint8_t *out = m->converted[i] = ks_alloc_aligned((size_t)bytes, 1);
    if (!out)
        return ks_fail_memory(err, bytes, "a converted tensor");
    if (ks_recode(how, w, to, out, err)) {
        if (err->code == KS_BAD_INPUT)
            ks_fail_prefix(err, "%s: tensor %s", m->shown, ks_model_tensor_name(m, i));
        return -1;
    }
    w->data = out;
    w->type = to;
    return 0;
}

static bool to_convert(const struct ks_model *m, size_t i, enum ks_type to)
{
    const struct ks_gguf_tensor *t = ks_gguf_tensor(m->gguf, i);
    const struct ks_mix_tensor candidate = {
        .name = t->name,
        .type = (enum ks_type)t->type,
        .n_dims = t->n_dims,
        .dims = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]},
    };
    return m->tensors[i].type != to && ks_mix_quantizable(&candidate);
}

/* Not to what takes an importance matrix. */
static bool convertible_to(const struct ks_type_info *t)
{
    return t->quantizes && t->weighing != KS_MUST_BE_WEIGHED;
}

static int find_type(const char *name, enum ks_type *type, struct ks_error *err)
{
    const struct ks_type_info *found = ks_type_named(name);
    if (found && convertible_to(found)) {
        *type = found->type;
        return 0;
    }
    char known[512];
    size_t at = 0;
    const struct ks_type_info *t;
    for (uint32_t i = 0; (t = ks_type_at(i)) && at < sizeof known; i++) {
        if (convertible_to(t))
            at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", t->name);
    }
    bool weighed = found && found->quantizes; /* by weights that are not there */
    return ks_fail(err, found ? KS_UNSUPPORTED : KS_BAD_INPUT,
                   "a model cannot be converted to \"%s\"%s; it can to %s",
                   found ? found->name : name,
                   weighed ? ", which only an importance matrix makes of use" : "", known);
}

int ks_model_convert(struct ks_model *m, const char *type, struct ks_error *err)
{
    enum ks_type to;
    if (find_type(type, &to, err))
        return ks_fail_prefix(err, "%s", m->shown);
    /* What can be refused is refused before the first byte is converted. */
    for (size_t i = 0; i < m->n_tensors; i++)
        if (to_convert(m, i, to) && check_convertible(m, i, to, err))
            return -1;
    m->converted = calloc(m->n_tensors, sizeof *m->converted);
    if (!m->converted)
        return ks_fail_memory(err, m->n_tensors * sizeof *m->converted, "converting tensors");
    struct ks_encoders *encoders = ks_encoders_create(err);
    struct ks_pool *pool = encoders ? ks_pool_create(ks_threads_allowed(), err) : NULL;
    const struct ks_recode how = {.pool = pool, .encoders = encoders};
    int failed = pool ? 0 : -1;
    for (size_t i = 0; !failed && i < m->n_tensors; i++)
        if (to_convert(m, i, to))
            failed = convert_tensor(m, i, to, &how, err);
    ks_pool_destroy(pool);
    ks_encoders_destroy(encoders);
    return failed;
}

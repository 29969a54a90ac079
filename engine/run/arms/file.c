/*
 * An arm as a GGUF file. Metadata is the reference's; what says how the tensors are coded is said
 * anew, and what says how the file was split or quantized before is left out.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/gguf/write.h"
#include "engine/quant/mix/mix.h"
#include "engine/run/arms/arms.h"
#include "engine/run/arms/kv.h"

enum {
    QUANTIZATION_VERSION = 2, /* of the block formats, as the ecosystem counts them */
    TYPE_NUMBERS = 64,        /* above every enum ks_type */
};

struct making {
    struct ks_arm arm;
    const struct ks_gguf *gguf;
    struct ks_gguf_writer *out;
    struct ks_recode how;
    const struct ks_making_hooks *hooks;
};

static bool begins_with(const char *key, const char *prefix)
{
    return strncmp(key, prefix, strlen(prefix)) == 0;
}

static bool is_kept(const char *key)
{
    return strcmp(key, "general.file_type") != 0 &&
           strcmp(key, "general.quantization_version") != 0 && !begins_with(key, "split.") &&
           !begins_with(key, "quantize.imatrix.");
}

static enum ks_type type_of(const struct making *m, size_t i)
{
    return m->arm.types ? m->arm.types[i] : m->arm.tensors[i].type;
}

/* general.file_type: the preset's number, or that of the type most weights have. */
static uint32_t file_type(const struct making *m)
{
    uint64_t weights[TYPE_NUMBERS] = {0};
    enum ks_type most = KS_F32;
    for (size_t i = 0; i < ks_model_n_tensors(m->arm.model); i++)
        weights[type_of(m, i)] += m->arm.tensors[i].rows * m->arm.tensors[i].cols;
    for (int t = 0; t < TYPE_NUMBERS; t++)
        if (weights[t] > weights[most])
            most = (enum ks_type)t;
    return ks_mix_file_type(m->arm.spec->preset, most);
}

/* As llama-quantize tells of it; what the importance matrix does not tell is left out. */
static int write_imatrix(struct ks_gguf_writer *out, const struct ks_imatrix *imatrix,
                         struct ks_error *err)
{
    const char *dataset = ks_imatrix_dataset(imatrix);
    uint32_t chunks = ks_imatrix_chunks(imatrix);
    if (ks_gguf_write_str(out, "quantize.imatrix.file", ks_imatrix_shown(imatrix), err) ||
        (*dataset && ks_gguf_write_str(out, "quantize.imatrix.dataset", dataset, err)) ||
        ks_gguf_write_u32(out, "quantize.imatrix.entries_count", (uint32_t)ks_imatrix_n(imatrix),
                          err))
        return -1;
    return chunks ? ks_gguf_write_u32(out, "quantize.imatrix.chunks_count", chunks, err) : 0;
}

static int write_metadata(struct making *m, struct ks_error *err)
{
    const struct ks_imatrix *imatrix = m->arm.spec->imatrix;
    for (size_t i = 0; i < ks_gguf_n_values(m->gguf); i++) {
        const struct ks_gguf_value *v = ks_gguf_value(m->gguf, i);
        if (is_kept(v->key) && ks_gguf_write_value(m->out, v, err))
            return -1;
    }
    if (ks_gguf_write_u32(m->out, "general.quantization_version", QUANTIZATION_VERSION, err) ||
        ks_gguf_write_u32(m->out, "general.file_type", file_type(m), err))
        return -1;
    if (!imatrix)
        return 0;
    return write_imatrix(m->out, imatrix, err);
}

static int list_tensors(struct making *m, struct ks_error *err)
{
    for (size_t i = 0; i < ks_gguf_n_tensors(m->gguf); i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(m->gguf, i);
        if (ks_gguf_write_tensor(m->out, t->name, type_of(m, i), t->n_dims, t->dims, err))
            return -1;
    }
    return 0;
}

static int find_bytes(const struct making *m, size_t i, uint64_t *bytes, struct ks_error *err)
{
    const struct ks_matrix *w = &m->arm.tensors[i];
    uint64_t row;
    return ks_type_row_bytes(type_of(m, i), w->cols, &row) && ks_mul_u64(row, w->rows, bytes)
               ? 0
               : ks_fail_memory(err, UINT64_MAX, "a quantized tensor");
}

static int write_tensor(struct making *m, size_t i, struct ks_error *err)
{
    const struct ks_matrix *w = &m->arm.tensors[i];
    const struct ks_importance *importance = m->arm.importance;
    uint64_t bytes = 0;
    if (find_bytes(m, i, &bytes, err))
        return -1;
    if (type_of(m, i) == w->type)
        return ks_gguf_write_data(m->out, w->data, bytes, err);
    uint8_t *made = ks_alloc_aligned((size_t)bytes, 1);
    if (!made)
        return ks_fail_memory(err, bytes, "a quantized tensor");
    m->how.importance = importance && importance[i].weights ? &importance[i] : NULL;
    int failed = ks_recode(&m->how, w, type_of(m, i), made, err);
    if (failed)
        ks_fail_prefix(err, "tensor %s", ks_model_tensor_name(m->arm.model, i));
    else
        failed = ks_gguf_write_data(m->out, made, bytes, err);
    free(made);
    return failed;
}

static int write_all(struct making *m, struct ks_error *err)
{
    size_t n = ks_gguf_n_tensors(m->gguf);
    if (write_metadata(m, err) || list_tensors(m, err))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!m->hooks->progress(m->hooks->ctx, i, n))
            return ks_fail(err, KS_CANCELLED, "stopped; nothing was written");
        if (write_tensor(m, i, err))
            return -1;
    }
    return 0;
}

static int write_file(struct making *m, const char *path, struct ks_error *err)
{
    uint32_t alignment = 32;
    if (ks_gguf_get_u32(m->gguf, "general.alignment", &alignment, err) < 0)
        return -1;
    m->out = ks_gguf_writer_create(path, alignment, err);
    return m->out ? ks_gguf_writer_finish(m->out, write_all(m, err), err) : -1;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static int resolve(struct ks_arm *arm, const struct ks_arm_spec *recipe, struct ks_model *model,
                   const struct ks_making_hooks *hooks, struct ks_error *err)
{
    if (recipe->model)
        return ks_fail(err, KS_BAD_INPUT, "arm \"%s\" is a file already: %s", recipe->name,
                       ks_model_info(recipe->model)->shown);
    return ks_arm_resolve(arm, recipe, model, hooks->warn, hooks->ctx, err);
}

static struct ks_quantized sum_up(const struct ks_arm *arm)
{
    return (struct ks_quantized){arm->bytes, 8.0 * (double)arm->bytes / (double)arm->elements};
}

int ks_quantize_preview(struct ks_model *model, const struct ks_arm_spec *recipe,
                        const struct ks_making_hooks *hooks,
                        void (*tensor)(void *ctx, size_t i, const struct ks_tensor_info *becomes),
                        void *ctx, struct ks_quantized *out, struct ks_error *err)
{
    struct making m = {.gguf = ks_model_gguf(model)};
    if (resolve(&m.arm, recipe, model, hooks, err))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < ks_gguf_n_tensors(m.gguf) && !failed; i++) {
        struct ks_tensor_info info = ks_model_tensor_info(model, i);
        info.type = ks_type_info(type_of(&m, i))->name;
        failed = find_bytes(&m, i, &info.bytes, err);
        if (!failed)
            tensor(ctx, i, &info);
    }
    if (!failed)
        *out = sum_up(&m.arm);
    ks_arm_finish(&m.arm);
    return failed;
}

int ks_quantize(struct ks_model *model, const struct ks_arm_spec *recipe, const char *path,
                int threads, const struct ks_making_hooks *hooks, struct ks_quantized *out,
                struct ks_error *err)
{
    struct making m = {.gguf = ks_model_gguf(model), .hooks = hooks};
    if (is_same_file(ks_model_info(model)->path, path))
        return ks_fail(err, KS_BAD_INPUT, "%s: is the model itself; name another file", path);
    if (resolve(&m.arm, recipe, model, hooks, err))
        return -1;
    if (ks_kv_rounds(&m.arm.rounding) && hooks->warn)
        hooks->warn(hooks->ctx, "what keys and values are kept in is not in the file: whoever runs "
                                "it says so anew");
    if (m.arm.rounding.products && hooks->warn)
        hooks->warn(hooks->ctx, "a file holds weights alone; activations = \"q8\" is of runs");
    m.how.encoders = ks_encoders_create(err);
    m.how.pool =
        m.how.encoders ? ks_pool_create(threads ? threads : ks_threads_allowed(), err) : NULL;
    int failed = m.how.pool ? write_file(&m, path, err) : -1;
    if (!failed)
        *out = sum_up(&m.arm);
    ks_pool_destroy(m.how.pool);
    ks_encoders_destroy(m.how.encoders);
    ks_arm_finish(&m.arm);
    return failed;
}

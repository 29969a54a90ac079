#include "engine/run/arms/arms.h"

#include <stdlib.h>

#include "engine/quant/mix/mix.h"

static char *describe(const struct ks_arm_spec *spec, struct ks_error *err)
{
    struct ks_buf b = {0};
    const char *base = !spec || (!spec->preset && !spec->model) ? "reference" : spec->preset;
    int failed = base ? ks_buf_put(&b, base, strlen(base), err)
                      : ks_buf_printf(&b, err, "file %s", ks_model_info(spec->model)->shown);
    for (size_t i = 0; spec && !failed && i < spec->n_overrides; i++)
        failed =
            ks_buf_printf(&b, err, " + %s=%s", spec->overrides[i].regex, spec->overrides[i].type);
    if (failed) {
        ks_buf_finish(&b);
        return NULL;
    }
    return b.bytes;
}

/* Sums the sizes that the arm's tensors have under its types. */
static int sum_bytes(struct ks_arm *arm, struct ks_error *err)
{
    size_t n = ks_model_n_tensors(arm->model);
    for (size_t i = 0; i < n; i++) {
        struct ks_matrix m = arm->tensors[i];
        if (arm->types)
            m.type = arm->types[i];
        uint64_t row, bytes;
        if (!ks_type_row_bytes(m.type, m.cols, &row) || !ks_mul_u64(row, m.rows, &bytes))
            return ks_fail(err, KS_INTERNAL, "tensor %s cannot be %s",
                           ks_model_tensor_name(arm->model, i), ks_type_info(m.type)->name);
        arm->bytes += bytes;
        arm->elements += m.rows * m.cols;
    }
    return 0;
}

static int list_mix_tensors(struct ks_model *m, struct ks_mix_tensor **out, struct ks_error *err)
{
    size_t n = ks_model_n_tensors(m);
    struct ks_mix_tensor *tensors = calloc(n, sizeof *tensors);
    if (!tensors)
        return ks_fail_memory(err, n * sizeof *tensors, "resolving an arm");
    for (size_t i = 0; i < n; i++) {
        struct ks_tensor_info info = ks_model_tensor_info(m, i);
        tensors[i] = (struct ks_mix_tensor){
            .name = info.name, .type = ks_model_tensor(m, i)->type, .n_dims = info.n_dims};
        memcpy(tensors[i].dims, info.dims, sizeof info.dims);
    }
    *out = tensors;
    return 0;
}

static int resolve_mix(struct ks_arm *arm, const struct ks_arm_spec *spec,
                       void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    const struct ks_model_info *info = ks_model_info(arm->model);
    size_t n = ks_model_n_tensors(arm->model);
    struct ks_mix_tensor *tensors = NULL;
    struct ks_mix_override *overrides = calloc(spec->n_overrides + 1, sizeof *overrides);
    arm->types = calloc(n, sizeof *arm->types);
    if (!overrides || !arm->types) {
        free(overrides);
        return ks_fail_memory(err, n * sizeof *arm->types, "resolving an arm");
    }
    for (size_t i = 0; i < spec->n_overrides; i++)
        overrides[i] = (struct ks_mix_override){.regex = spec->overrides[i].regex,
                                                .type = spec->overrides[i].type};
    struct ks_mix mix = {.preset = spec->preset,
                         .overrides = overrides,
                         .n_overrides = spec->n_overrides,
                         .ordered = spec->overrides_ordered};
    struct ks_mix_model model = {.architecture = info->architecture,
                                 .layers = info->layers,
                                 .heads = info->heads,
                                 .kv_heads = info->kv_heads,
                                 .experts = ks_model_hparams(arm->model)->experts,
                                 .tied = info->tied};
    int failed = list_mix_tensors(arm->model, &tensors, err) ||
                 ks_mix_resolve(&mix, &model, tensors, n, arm->types, warn, ctx, err);
    free(tensors);
    free(overrides);
    return failed ? -1 : 0;
}

/* A file as an arm: its rows must be comparable with the reference's, token by token. */
static int check_file_arm(struct ks_model *file, struct ks_model *reference,
                          void (*warn)(void *ctx, const char *text), void *ctx,
                          struct ks_error *err)
{
    const struct ks_model_info *a = ks_model_info(reference), *b = ks_model_info(file);
    const struct ks_tokenizer *ta = ks_model_tokenizer(reference, err);
    const struct ks_tokenizer *tb = ta ? ks_model_tokenizer(file, err) : NULL;
    if (!tb)
        return -1;
    if (a->vocab != b->vocab)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: its head has %u rows, the reference %s has %u; rows of different width "
                       "cannot be compared",
                       b->shown, b->vocab, a->shown, a->vocab);
    if (ks_tokenizer_compare(ta, tb, warn, ctx, err))
        return ks_fail_prefix(err, "%s against the reference %s", b->shown, a->shown);
    return 0;
}

static int resolve(struct ks_arm *arm, const struct ks_arm_spec *spec, struct ks_model *reference,
                   void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    size_t n = ks_model_n_tensors(arm->model);
    arm->tensors = calloc(n, sizeof *arm->tensors);
    if (!arm->tensors)
        return ks_fail_memory(err, n * sizeof *arm->tensors, "an arm's list of tensors");
    for (size_t i = 0; i < n; i++)
        arm->tensors[i] = *ks_model_tensor(arm->model, i);
    arm->recipe = describe(spec, err);
    if (!arm->recipe)
        return -1;
    if (spec && spec->model && (spec->preset || spec->n_overrides))
        return ks_fail(err, KS_BAD_INPUT,
                       "a file arm takes no preset and no override: it is "
                       "measured as it is");
    if (spec && spec->model && check_file_arm(spec->model, reference, warn, ctx, err))
        return -1;
    if (spec && (spec->preset || spec->n_overrides) && resolve_mix(arm, spec, warn, ctx, err))
        return -1;
    return sum_bytes(arm, err);
}

int ks_arm_resolve(struct ks_arm *arm, const struct ks_arm_spec *spec, struct ks_model *reference,
                   void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    *arm = (struct ks_arm){.spec = spec, .model = spec && spec->model ? spec->model : reference};
    if (resolve(arm, spec, reference, warn, ctx, err) == 0)
        return 0;
    ks_arm_finish(arm);
    if (spec && spec->where)
        return ks_fail_prefix(err, "%s: arm \"%s\"", spec->where, spec->name);
    return spec ? ks_fail_prefix(err, "arm \"%s\"", spec->name) : -1;
}

static int build_tensor(struct ks_arm *arm, size_t i, struct ks_store *store, struct ks_pool *pool,
                        struct ks_error *err)
{
    struct ks_matrix *m = &arm->tensors[i];
    if (ks_store_intern(store, m, err))
        return -1;
    if (!arm->types || arm->types[i] == m->type)
        return 0;
    struct ks_matrix made;
    if (ks_store_quantize(store, pool, m, arm->types[i], &made, err))
        return ks_fail_prefix(err, "tensor %s", ks_model_tensor_name(arm->model, i));
    *m = made;
    return 0;
}

/* The store has hashed every tensor already. */
static int hash_arm(struct ks_arm *arm, const struct ks_store *store, size_t n,
                    struct ks_error *err)
{
    struct ks_hash *hashes = calloc(n, sizeof *hashes);
    if (!hashes)
        return ks_fail_memory(err, n * sizeof *hashes, "an arm's hashes");
    for (size_t i = 0; i < n; i++)
        hashes[i] = ks_store_hash(store, &arm->tensors[i]);
    arm->hash = ks_model_hash_with(arm->model, arm->tensors, hashes);
    free(hashes);
    return 0;
}

int ks_arm_build(struct ks_arm *arm, struct ks_store *store, struct ks_pool *pool, size_t positions,
                 bool (*progress)(void *ctx, size_t tensor, size_t n), void *ctx,
                 struct ks_error *err)
{
    size_t n = ks_model_n_tensors(arm->model);
    for (size_t i = 0; i < n; i++) {
        if (!progress(ctx, i, n))
            return ks_fail(err, KS_CANCELLED, "stopped");
        if (build_tensor(arm, i, store, pool, err))
            return -1;
    }
    if (hash_arm(arm, store, n, err))
        return -1;
    return ks_net_bind(&arm->net, arm->model, arm->tensors, positions, err);
}

void ks_arm_finish(struct ks_arm *arm)
{
    ks_net_finish(&arm->net);
    free(arm->tensors);
    free(arm->types);
    free(arm->recipe);
    *arm = (struct ks_arm){0};
}

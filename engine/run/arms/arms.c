#include "engine/run/arms/arms.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/quant/mix/mix.h"
#include "engine/run/arms/kv.h"

static bool names_kv(const struct ks_arm_spec *spec)
{
    return spec->kv_keys || spec->kv_values;
}

static char *describe(const struct ks_arm *arm, const struct ks_arm_spec *spec,
                      struct ks_error *err)
{
    struct ks_buf b = {0};
    const char *base = !spec || (!spec->preset && !spec->model) ? "reference" : spec->preset;
    int failed = base ? ks_buf_put(&b, base, strlen(base), err)
                      : ks_buf_printf(&b, err, "file %s", ks_model_info(spec->model)->shown);
    if (spec && spec->pure && !failed)
        failed = ks_buf_printf(&b, err, " (pure)");
    if (spec && spec->imatrix && !failed)
        failed = ks_buf_printf(&b, err, " (imatrix %s)", ks_imatrix_shown(spec->imatrix));
    for (size_t i = 0; spec && !failed && i < spec->n_overrides; i++)
        failed =
            ks_buf_printf(&b, err, " + %s=%s", spec->overrides[i].regex, spec->overrides[i].type);
    if (spec && names_kv(spec) && !failed)
        failed = ks_buf_printf(&b, err, " + kv ") || ks_kv_describe(&arm->rounding, &b, err);
    if (spec && spec->activations == KS_ACTIVATIONS_Q8 && !failed)
        failed = ks_buf_printf(&b, err, " + activations q8");
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

/* What a mix is resolved from. */
struct mix_input {
    struct ks_mix_tensor *tensors;
    bool *weighed;
    struct ks_mix_override *overrides;
};

static void mix_input_finish(struct mix_input *in)
{
    free(in->tensors);
    free(in->weighed);
    free(in->overrides);
}

static int mix_input_init(struct mix_input *in, const struct ks_arm *arm,
                          const struct ks_arm_spec *spec, struct ks_error *err)
{
    size_t n = ks_model_n_tensors(arm->model);
    in->weighed = calloc(n, sizeof *in->weighed);
    in->overrides = calloc(spec->n_overrides + 1, sizeof *in->overrides);
    if (!in->weighed || !in->overrides)
        return ks_fail_memory(err, n * sizeof *in->weighed, "resolving an arm");
    for (size_t i = 0; i < spec->n_overrides; i++)
        in->overrides[i] = (struct ks_mix_override){.regex = spec->overrides[i].regex,
                                                    .type = spec->overrides[i].type};
    return list_mix_tensors(arm->model, &in->tensors, err);
}

/* Looks up the weights of every matrix; an importance matrix that has none for any is another
 * model's. */
static int find_importance(struct ks_arm *arm, const struct ks_imatrix *m, struct mix_input *in,
                           struct ks_error *err)
{
    size_t n = ks_model_n_tensors(arm->model), found = 0;
    arm->importance = calloc(n, sizeof *arm->importance);
    if (!arm->importance)
        return ks_fail_memory(err, n * sizeof *arm->importance, "an arm's importance");
    for (size_t i = 0; i < n; i++) {
        const struct ks_mix_tensor *t = &in->tensors[i];
        if (!ks_mix_quantizable(t))
            continue;
        int there = ks_imatrix_find(m, t->name, t->dims[0], t->n_dims > 2 ? t->dims[2] : 1,
                                    &arm->importance[i], err);
        if (there < 0)
            return -1;
        in->weighed[i] = there > 0;
        found += in->weighed[i];
    }
    return found ? 0
                 : ks_fail(err, KS_BAD_INPUT,
                           "%s: has weights for no tensor of the model, but for %s and the like; "
                           "it was made from another model",
                           ks_imatrix_shown(m), ks_imatrix_name(m, 0));
}

/* The embedding and the head are left out of importance matrices as a rule. */
static void warn_of_unweighed(const struct ks_arm *arm, const struct ks_imatrix *m,
                              const struct mix_input *in, void (*warn)(void *ctx, const char *text),
                              void *ctx)
{
    size_t unweighed = 0;
    const char *first = NULL;
    for (size_t i = 0; i < ks_model_n_tensors(arm->model); i++) {
        const struct ks_mix_tensor *t = &in->tensors[i];
        if (in->weighed[i] || arm->types[i] == t->type || strncmp(t->name, "blk.", 4) != 0 ||
            ks_type_info(arm->types[i])->weighing == KS_UNWEIGHED)
            continue;
        unweighed++;
        first = first ? first : t->name;
    }
    char text[512];
    snprintf(text, sizeof text,
             "%s has no weights for %zu of the tensors, as %s; they are quantized without",
             ks_imatrix_shown(m), unweighed, first);
    if (unweighed && warn)
        warn(ctx, text);
}

static int resolve_mix(struct ks_arm *arm, const struct ks_arm_spec *spec,
                       void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    const struct ks_model_info *info = ks_model_info(arm->model);
    size_t n = ks_model_n_tensors(arm->model);
    struct mix_input in = {0};
    arm->types = calloc(n, sizeof *arm->types);
    int failed = arm->types ? mix_input_init(&in, arm, spec, err)
                            : ks_fail_memory(err, n * sizeof *arm->types, "resolving an arm");
    if (!failed && spec->imatrix)
        failed = find_importance(arm, spec->imatrix, &in, err);
    struct ks_mix mix = {.preset = spec->preset,
                         .overrides = in.overrides,
                         .n_overrides = spec->n_overrides,
                         .ordered = spec->overrides_ordered,
                         .pure = spec->pure,
                         .has_importance = spec->imatrix,
                         .weighed = in.weighed};
    struct ks_mix_model model = {.architecture = info->architecture,
                                 .layers = info->layers,
                                 .heads = info->heads,
                                 .kv_heads = info->kv_heads,
                                 .experts = ks_model_hparams(arm->model)->experts,
                                 .tied = info->tied};
    if (!failed)
        failed = ks_mix_resolve(&mix, &model, in.tensors, n, arm->types, warn, ctx, err);
    if (!failed && spec->imatrix)
        warn_of_unweighed(arm, spec->imatrix, &in, warn, ctx);
    mix_input_finish(&in);
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
    if (spec && names_kv(spec) && ks_kv_resolve(spec, arm->model, &arm->rounding, err))
        return -1;
    arm->rounding.products = spec && spec->activations == KS_ACTIVATIONS_Q8;
    arm->recipe = describe(arm, spec, err);
    if (!arm->recipe)
        return -1;
    if (spec && spec->model && (spec->preset || spec->n_overrides))
        return ks_fail(err, KS_BAD_INPUT,
                       "a file arm takes no preset and no override: it is "
                       "measured as it is");
    if (spec && spec->imatrix && !spec->preset && !spec->n_overrides)
        return ks_fail(err, KS_BAD_INPUT,
                       "an importance matrix is for quantizing: give a preset or overrides too");
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
    const struct ks_importance *importance =
        arm->importance && arm->importance[i].weights ? &arm->importance[i] : NULL;
    if (ks_store_quantize(store, pool, m, arm->types[i], importance, &made, err))
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
    if (ks_kv_rounds(&arm->rounding))
        arm->hash = ks_hash_join(arm->hash, ks_kv_hash(&arm->rounding));
    if (arm->rounding.products)
        arm->hash = ks_hash_join(arm->hash, ks_hash_bytes("activations q8", 14));
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
    if (ks_net_bind(&arm->net, arm->model, arm->tensors, positions, err))
        return -1;
    arm->net.rounding = arm->rounding;
    return 0;
}

void ks_arm_finish(struct ks_arm *arm)
{
    ks_net_finish(&arm->net);
    free(arm->tensors);
    free(arm->types);
    free(arm->importance);
    free(arm->recipe);
    *arm = (struct ks_arm){0};
}

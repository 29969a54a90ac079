/*
 * Binding works in two passes over the tensors: the first checks every name, type and shape and
 * sums the room that vectors need, the second fills the slots. So nothing is allocated by the word
 * of a file that the hyperparameters do not bear out.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/model/arch/arch.h"
#include "engine/model/object.h"
#include "engine/quant/decode.h"

struct binding {
    const struct ks_model *model;
    const struct ks_arch *arch;
    const struct ks_matrix *tensors;
    struct ks_net net;
    float *vectors; /* where the next decoded vector goes */
};

static size_t vector_floats(const struct ks_matrix *t)
{
    return ((size_t)t->cols + 15) & ~(size_t)15; /* each starts on a cache line */
}

static bool is_vector(const struct ks_role_info *role)
{
    return role->rows == KS_DIM_ONE;
}

static int find_role(const struct binding *b, size_t i, enum ks_role *role, uint32_t *layer,
                     struct ks_error *err)
{
    const char *name = ks_model_tensor_name(b->model, i);
    *role = ks_role_of(name, layer);
    uint64_t taken = b->arch->required | b->arch->optional;
    if (*role == KS_ROLE_COUNT || !(taken & KS_ROLE_BIT(*role)))
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: tensor %s has no place in architecture %s as this program computes it",
                       b->model->shown, name, b->arch->name);
    if (ks_role_info(*role)->per_layer && *layer >= b->model->hparams.layers)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is beyond the %u layers of %s.block_count",
                       b->model->shown, name, b->model->hparams.layers, b->arch->name);
    return 0;
}

static int check_tensor(const struct binding *b, size_t i, const struct ks_role_info *role,
                        struct ks_error *err)
{
    const struct ks_matrix *t = &b->tensors[i];
    const char *name = ks_model_tensor_name(b->model, i), *file = b->model->shown;
    uint64_t cols = ks_dim_size(role->cols, &b->model->hparams);
    uint64_t rows = ks_dim_size(role->rows, &b->model->hparams);
    const struct ks_type_info *type = ks_type_info(t->type);
    if (!type->decodes)
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: tensor %s is of type %s, which this program cannot compute with yet",
                       file, name, type->name);
    if (t->cols == cols && t->rows == rows)
        return 0;
    if (is_vector(role))
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is %llu x %llu, not a vector of %llu (%s)",
                       file, name, (unsigned long long)t->cols, (unsigned long long)t->rows,
                       (unsigned long long)cols, ks_dim_name(role->cols));
    return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is %llu x %llu, not %llu (%s) x %llu (%s)",
                   file, name, (unsigned long long)t->cols, (unsigned long long)t->rows,
                   (unsigned long long)cols, ks_dim_name(role->cols), (unsigned long long)rows,
                   ks_dim_name(role->rows));
}

static int check_all(const struct binding *b, size_t *floats, struct ks_error *err)
{
    *floats = 0;
    for (size_t i = 0; i < b->model->n_tensors; i++) {
        enum ks_role role;
        uint32_t layer;
        if (find_role(b, i, &role, &layer, err) || check_tensor(b, i, ks_role_info(role), err))
            return -1;
        if (is_vector(ks_role_info(role)))
            *floats += vector_floats(&b->tensors[i]);
    }
    return 0;
}

static char *slot_of(struct ks_net *net, const struct ks_role_info *role, uint32_t layer)
{
    char *base = role->per_layer ? (char *)&net->layers[layer] : (char *)net;
    return base + role->slot;
}

static bool slot_filled(struct ks_net *net, const struct ks_role_info *role, uint32_t layer)
{
    if (is_vector(role))
        return *(const float **)slot_of(net, role, layer) != NULL;
    return ((struct ks_matrix *)slot_of(net, role, layer))->data != NULL;
}

static void fill_slots(struct binding *b)
{
    for (size_t i = 0; i < b->model->n_tensors; i++) {
        uint32_t layer;
        const struct ks_role_info *role =
            ks_role_info(ks_role_of(ks_model_tensor_name(b->model, i), &layer));
        const struct ks_matrix *t = &b->tensors[i];
        char *slot = slot_of(&b->net, role, layer);
        if (is_vector(role)) {
            ks_decode_row(t->type, t->data, b->vectors, (size_t)t->cols);
            *(const float **)slot = b->vectors;
            b->vectors += vector_floats(t);
        } else {
            *(struct ks_matrix *)slot = *t;
        }
    }
}

static int check_missing(struct binding *b, struct ks_error *err)
{
    for (int i = 0; i < KS_ROLE_COUNT; i++) {
        enum ks_role role = (enum ks_role)i;
        const struct ks_role_info *info = ks_role_info(role);
        if (!(b->arch->required & KS_ROLE_BIT(role)))
            continue;
        uint32_t copies = info->per_layer ? b->model->hparams.layers : 1;
        for (uint32_t layer = 0; layer < copies; layer++) {
            if (slot_filled(&b->net, info, layer))
                continue;
            char name[64];
            ks_role_name(role, layer, name, sizeof name);
            return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is missing", b->model->shown, name);
        }
    }
    return 0;
}

static int allocate(struct ks_net *net, size_t floats, struct ks_error *err)
{
    size_t layers = net->hparams->layers, pairs = net->hparams->rope_dims / 2;
    size_t table;
    if (__builtin_mul_overflow(net->positions, pairs * sizeof(float), &table))
        return ks_fail_memory(err, UINT64_MAX, "the rope tables");
    net->layers = calloc(layers, sizeof *net->layers);
    net->memory = ks_alloc_aligned(floats, sizeof(float));
    net->rope_cos = ks_alloc_aligned(table, 1);
    net->rope_sin = ks_alloc_aligned(table, 1);
    if (!net->layers || !net->memory || !net->rope_cos || !net->rope_sin)
        return ks_fail_memory(err,
                              layers * sizeof *net->layers + floats * sizeof(float) + 2 * table,
                              "a model's layers and rope tables");
    return 0;
}

static int bind(struct binding *b, struct ks_error *err)
{
    struct ks_net *net = &b->net;
    size_t floats;
    if (check_all(b, &floats, err) || allocate(net, floats, err))
        return -1;
    b->vectors = net->memory;
    fill_slots(b);
    if (check_missing(b, err))
        return -1;
    if (!net->head.data)
        net->head = net->token_embd;
    if (ks_rope_tables(net->hparams, net->rope_factors, net->positions, net->rope_cos,
                       net->rope_sin, err))
        return ks_fail_prefix(err, "%s", b->model->shown);
    return 0;
}

int ks_net_bind(struct ks_net *net, const struct ks_model *m, const struct ks_matrix *tensors,
                size_t positions, struct ks_error *err)
{
    if (m->refusal.code != KS_OK) {
        *err = m->refusal;
        return -1;
    }
    struct binding b = {
        .model = m,
        .arch = ks_arch_find(m->hparams.architecture),
        .tensors = tensors,
        .net = {.hparams = &m->hparams, .positions = positions},
    };
    if (bind(&b, err)) {
        ks_net_finish(&b.net);
        return -1;
    }
    *net = b.net;
    return 0;
}

void ks_net_finish(struct ks_net *net)
{
    free(net->layers);
    free(net->memory);
    free(net->rope_cos);
    free(net->rope_sin);
    *net = (struct ks_net){0};
}

/* Every member is four bytes or a multiple, so there is no padding and the bits can be compared. */
static bool hparams_equal(const struct ks_hparams *a, const struct ks_hparams *b)
{
    return a == b || memcmp(a, b, sizeof *a) == 0;
}

static bool matrix_equal(const struct ks_matrix *a, const struct ks_matrix *b)
{
    return a->data == b->data && a->type == b->type && a->rows == b->rows && a->cols == b->cols;
}

static bool vector_equal(const float *a, const float *b, uint64_t n)
{
    if (!a || !b)
        return a == b;
    return a == b || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool tables_equal(const struct ks_net *a, const struct ks_net *b)
{
    uint64_t n = (uint64_t)(a->positions < b->positions ? a->positions : b->positions) *
                 (a->hparams->rope_dims / 2);
    return vector_equal(a->rope_cos, b->rope_cos, n) && vector_equal(a->rope_sin, b->rope_sin, n);
}

/* The roles tell what a layer or the net consists of, so a role added later is compared too. */
static bool slots_equal(const struct ks_net *a, const struct ks_net *b, bool per_layer,
                        uint64_t set, uint32_t layer)
{
    for (int i = 0; i < KS_ROLE_COUNT; i++) {
        const struct ks_role_info *role = ks_role_info((enum ks_role)i);
        if (role->per_layer != per_layer || !(set & KS_ROLE_BIT(i)))
            continue;
        const char *sa = slot_of((struct ks_net *)a, role, layer);
        const char *sb = slot_of((struct ks_net *)b, role, layer);
        bool equal = is_vector(role)
                         ? vector_equal(*(const float *const *)sa, *(const float *const *)sb,
                                        ks_dim_size(role->cols, a->hparams))
                         : matrix_equal((const struct ks_matrix *)sa, (const struct ks_matrix *)sb);
        if (!equal)
            return false;
    }
    return true;
}

bool ks_net_stage_equal(const struct ks_net *a, const struct ks_net *b, int stage)
{
    const uint64_t embedding = KS_ROLE_BIT(KS_ROLE_TOKEN_EMBD);
    const uint64_t ending = KS_ROLE_BIT(KS_ROLE_OUTPUT_NORM) | KS_ROLE_BIT(KS_ROLE_OUTPUT);
    if (!hparams_equal(a->hparams, b->hparams))
        return false;
    if (stage < 0)
        return slots_equal(a, b, false, embedding, 0);
    if ((uint32_t)stage >= a->hparams->layers)
        return slots_equal(a, b, false, ending, 0);
    return tables_equal(a, b) && slots_equal(a, b, true, UINT64_MAX, (uint32_t)stage);
}

/*
 * Binding works in two passes over the tensors: the first checks every name, type and shape and
 * sums the room that vectors need, the second fills the slots. So nothing is allocated by the word
 * of a file that the hyperparameters do not bear out.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/kernels/elementary/math.h"
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

static size_t vector_floats(uint64_t n)
{
    return ((size_t)n + 15) & ~(size_t)15; /* each starts on a cache line */
}

/* Whether a tensor is of a layer that nothing here computes. */
static bool is_spare(const struct binding *b, size_t i)
{
    const struct ks_hparams *h = &b->model->hparams;
    uint32_t layer;
    ks_role_of(b->arch, ks_model_tensor_name(b->model, i), &layer);
    return layer >= h->layers && layer - h->layers < h->spare_layers;
}

static int find_role(const struct binding *b, size_t i, enum ks_role *role, uint32_t *layer,
                     struct ks_error *err)
{
    const char *name = ks_model_tensor_name(b->model, i);
    const struct ks_hparams *h = &b->model->hparams;
    *role = ks_role_of(b->arch, name, layer);
    bool known = *role != KS_ROLE_COUNT, per_layer = known && ks_role_info(*role)->per_layer;
    if (per_layer && *layer >= h->layers)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is beyond the %u layers of %s.block_count",
                       b->model->shown, name, h->layers, b->arch->name);
    struct ks_parts parts = ks_arch_parts(b->arch, per_layer ? &h->layer[*layer] : NULL);
    uint64_t taken = parts.required | parts.optional;
    if (!known || !(taken & KS_PART_BIT(ks_role_info(*role)->part)))
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: tensor %s has no place in architecture %s as this program computes it",
                       b->model->shown, name, b->arch->name);
    return 0;
}

static int check_shape(const struct binding *b, size_t i, const struct ks_role_info *role,
                       uint32_t layer, struct ks_error *err)
{
    const struct ks_matrix *t = &b->tensors[i];
    const char *name = ks_model_tensor_name(b->model, i), *file = b->model->shown;
    uint64_t cols = ks_dim_size(role->cols, &b->model->hparams, layer);
    uint64_t rows = ks_dim_size(role->rows, &b->model->hparams, layer);
    uint64_t stacked = ks_gguf_tensor(b->model->gguf, i)->dims[2];
    if (role->stacked && stacked != b->model->hparams.experts)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s has %llu matrices, not %u (expert_count)",
                       file, name, (unsigned long long)stacked, b->model->hparams.experts);
    if (t->cols == cols && t->rows == rows)
        return 0;
    if (rows == 1)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is %llu x %llu, not a vector of %llu (%s)",
                       file, name, (unsigned long long)t->cols, (unsigned long long)t->rows,
                       (unsigned long long)cols, ks_dim_name(role->cols));
    return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is %llu x %llu, not %llu (%s) x %llu (%s)",
                   file, name, (unsigned long long)t->cols, (unsigned long long)t->rows,
                   (unsigned long long)cols, ks_dim_name(role->cols), (unsigned long long)rows,
                   ks_dim_name(role->rows));
}

static int check_tensor(const struct binding *b, size_t i, const struct ks_role_info *role,
                        uint32_t layer, struct ks_error *err)
{
    const struct ks_type_info *type = ks_type_info(b->tensors[i].type);
    if (!type->decodes)
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: tensor %s is of type %s, which this program cannot compute with yet",
                       b->model->shown, ks_model_tensor_name(b->model, i), type->name);
    return check_shape(b, i, role, layer, err);
}

static int check_all(const struct binding *b, size_t *floats, struct ks_error *err)
{
    *floats = 0;
    for (size_t i = 0; i < b->model->n_tensors; i++) {
        enum ks_role role;
        uint32_t layer;
        if (is_spare(b, i))
            continue;
        if (find_role(b, i, &role, &layer, err) ||
            check_tensor(b, i, ks_role_info(role), layer, err))
            return -1;
        if (ks_role_info(role)->vector)
            *floats += vector_floats(b->tensors[i].cols * b->tensors[i].rows);
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
    if (role->vector)
        return *(const float **)slot_of(net, role, layer) != NULL;
    return ((struct ks_matrix *)slot_of(net, role, layer))->data != NULL;
}

/* Decodes a vector to where the next one goes. */
static const float *decode_vector(struct binding *b, const struct ks_matrix *t)
{
    const float *vector = b->vectors;
    uint64_t row_bytes = 0;
    ks_type_row_bytes(t->type, t->cols, &row_bytes);
    for (uint64_t r = 0; r < t->rows; r++)
        ks_decode_row(t->type, t->data + r * row_bytes, b->vectors + r * t->cols, (size_t)t->cols);
    b->vectors += vector_floats(t->cols * t->rows);
    return vector;
}

/* A tensor, or the part of one that is a role's, in the role's slot. */
static void fill_slot(struct binding *b, enum ks_role role, uint32_t layer,
                      const struct ks_matrix *matrix, const float *vector)
{
    const struct ks_role_info *info = ks_role_info(role);
    char *slot = slot_of(&b->net, info, layer);
    if (info->vector)
        *(const float **)slot = vector;
    else
        *(struct ks_matrix *)slot = *matrix;
}

static void fill_pieces(struct binding *b, const struct ks_role_info *info, uint32_t layer,
                        struct ks_matrix matrix, const float *vector)
{
    uint64_t row_bytes = 0;
    ks_type_row_bytes(matrix.type, matrix.cols, &row_bytes);
    for (uint32_t i = 0; i < info->n_pieces; i++) {
        const struct ks_role_info *piece = ks_role_info(info->pieces[i]);
        const struct ks_hparams *h = b->net.hparams;
        if (info->vector) {
            fill_slot(b, info->pieces[i], layer, NULL, vector);
            vector += ks_dim_size(piece->cols, h, layer);
            continue;
        }
        matrix.rows = ks_dim_size(piece->rows, h, layer);
        fill_slot(b, info->pieces[i], layer, &matrix, NULL);
        matrix.data += matrix.rows * row_bytes;
    }
}

/* q, k and v may come in one or each by itself, but not both. */
static int check_vacant(struct binding *b, size_t i, const struct ks_role_info *info,
                        enum ks_role role, uint32_t layer, struct ks_error *err)
{
    const enum ks_role *roles = info->n_pieces ? info->pieces : &role;
    for (uint32_t p = 0; p < (info->n_pieces ? info->n_pieces : 1); p++) {
        if (slot_filled(&b->net, ks_role_info(roles[p]), layer))
            return ks_fail(err, KS_BAD_INPUT,
                           "%s: tensor %s is given twice, once as a part of another",
                           b->model->shown, ks_model_tensor_name(b->model, i));
    }
    return 0;
}

static int fill_slots(struct binding *b, struct ks_error *err)
{
    for (size_t i = 0; i < b->model->n_tensors; i++) {
        uint32_t layer;
        if (is_spare(b, i))
            continue;
        enum ks_role role = ks_role_of(b->arch, ks_model_tensor_name(b->model, i), &layer);
        const struct ks_role_info *info = ks_role_info(role);
        const struct ks_matrix *t = &b->tensors[i];
        if (check_vacant(b, i, info, role, layer, err))
            return -1;
        const float *vector = info->vector ? decode_vector(b, t) : NULL;
        if (info->n_pieces)
            fill_pieces(b, info, layer, *t, vector);
        else
            fill_slot(b, role, layer, t, vector);
    }
    return 0;
}

/* Whether another tensor holds what a role's would. */
static bool is_held(const struct ks_net *net, enum ks_role role, uint32_t layer)
{
    return (role == KS_ROLE_GATE_EXPERTS || role == KS_ROLE_UP_EXPERTS) &&
           net->layers[layer].gate_up_experts.data;
}

static int check_slot(struct binding *b, enum ks_role role, uint32_t layer, struct ks_error *err)
{
    const struct ks_role_info *info = ks_role_info(role);
    struct ks_parts parts =
        ks_arch_parts(b->arch, info->per_layer ? &b->model->hparams.layer[layer] : NULL);
    if (info->n_pieces || !(parts.required & KS_PART_BIT(info->part)) ||
        slot_filled(&b->net, info, layer) || is_held(&b->net, role, layer))
        return 0;
    char name[64];
    ks_role_name(b->arch, role, layer, name, sizeof name);
    return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is missing", b->model->shown, name);
}

static int check_missing(struct binding *b, struct ks_error *err)
{
    for (int i = 0; i < KS_ROLE_COUNT; i++) {
        enum ks_role role = (enum ks_role)i;
        uint32_t copies = ks_role_info(role)->per_layer ? b->model->hparams.layers : 1;
        for (uint32_t layer = 0; layer < copies; layer++) {
            if (check_slot(b, role, layer, err))
                return -1;
        }
    }
    return 0;
}

static bool rotates(const struct ks_hparams *h, uint32_t rope)
{
    for (uint32_t i = 0; i < h->layers; i++) {
        if (h->layer[i].rope == rope)
            return true;
    }
    return false;
}

static int allocate(struct ks_net *net, size_t floats, struct ks_error *err)
{
    size_t layers = net->hparams->layers;
    net->layers = calloc(layers, sizeof *net->layers);
    net->memory = ks_alloc_aligned(floats, sizeof(float));
    if (!net->layers || !net->memory)
        return ks_fail_memory(err, layers * sizeof *net->layers + floats * sizeof(float),
                              "a model's layers");
    return 0;
}

/* What divides the model's own frequencies. */
static const float *factors_of(const struct ks_net *net)
{
    if (net->rope_factors)
        return net->rope_factors;
    return net->positions > net->hparams->rope[0].original_context ? net->rope_long
                                                                   : net->rope_short;
}

static int make_table(struct ks_net *net, uint32_t i, struct ks_error *err)
{
    const struct ks_rope *rope = &net->hparams->rope[i];
    struct ks_rope_table *table = &net->rope[i];
    size_t bytes;
    if (!rotates(net->hparams, i))
        return 0;
    if (__builtin_mul_overflow(net->positions, rope->dims / 2 * sizeof(float), &bytes))
        return ks_fail_memory(err, UINT64_MAX, "the rope tables");
    table->cosine = ks_alloc_aligned(bytes, 1);
    table->sine = ks_alloc_aligned(bytes, 1);
    if (!table->cosine || !table->sine)
        return ks_fail_memory(err, 2 * bytes, "the rope tables");
    return ks_rope_tables(rope, i == 0 ? factors_of(net) : NULL, net->positions, table->cosine,
                          table->sine, err);
}

static int make_query_scale(struct ks_net *net, struct ks_error *err)
{
    const struct ks_hparams *h = net->hparams;
    if (h->temperature_scale == 0)
        return 0;
    net->query_scale = ks_alloc_aligned(net->positions, sizeof *net->query_scale);
    if (!net->query_scale)
        return ks_fail_memory(err, net->positions * sizeof *net->query_scale, "query scales");
    for (size_t p = 0; p < net->positions; p++) {
        double whole = (double)(p / h->rope[0].original_context);
        net->query_scale[p] = (float)(1 + (double)h->temperature_scale * ks_log(1 + whole));
    }
    return 0;
}

static int bind(struct binding *b, struct ks_error *err)
{
    struct ks_net *net = &b->net;
    size_t floats;
    if (check_all(b, &floats, err) || allocate(net, floats, err))
        return -1;
    b->vectors = net->memory;
    if (fill_slots(b, err) || check_missing(b, err))
        return -1;
    if (!net->head.data)
        net->head = net->token_embd;
    for (uint32_t i = 0; i < KS_ROPES; i++) {
        if (make_table(net, i, err))
            return ks_fail_prefix(err, "%s", b->model->shown);
    }
    return make_query_scale(net, err);
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
    free(net->query_scale);
    for (size_t i = 0; i < KS_ROPES; i++) {
        free(net->rope[i].cosine);
        free(net->rope[i].sine);
    }
    *net = (struct ks_net){0};
}

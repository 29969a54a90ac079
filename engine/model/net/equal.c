/* What two nets share: the same tensors, numbers and tables in a stage. */
#include <string.h>

#include "engine/model/arch/arch.h"

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

static bool tables_equal(const struct ks_net *a, const struct ks_net *b, uint32_t layer)
{
    uint32_t i = a->hparams->layer[layer].rope;
    if (i == KS_NO_ROPE)
        return true;
    const struct ks_rope_table *ta = &a->rope[i], *tb = &b->rope[i];
    uint64_t n = (uint64_t)(a->positions < b->positions ? a->positions : b->positions) *
                 (a->hparams->rope[i].dims / 2);
    return vector_equal(ta->cosine, tb->cosine, n) && vector_equal(ta->sine, tb->sine, n);
}

static bool slot_equal(const struct ks_net *a, const struct ks_net *b,
                       const struct ks_role_info *role, uint32_t layer)
{
    const char *base_a = role->per_layer ? (const char *)&a->layers[layer] : (const char *)a;
    const char *base_b = role->per_layer ? (const char *)&b->layers[layer] : (const char *)b;
    const char *sa = base_a + role->slot, *sb = base_b + role->slot;
    if (!role->vector)
        return matrix_equal((const struct ks_matrix *)sa, (const struct ks_matrix *)sb);
    return vector_equal(*(const float *const *)sa, *(const float *const *)sb,
                        ks_dim_size(role->cols, a->hparams, layer) *
                            ks_dim_size(role->rows, a->hparams, layer));
}

static bool rounding_equal(const struct ks_net *a, const struct ks_net *b, uint32_t layer)
{
    return a->hparams->layer[layer].mixer != KS_MIXER_ATTENTION ||
           (a->rounding.keys == b->rounding.keys && a->rounding.values == b->rounding.values);
}

/* The roles tell what a stage consists of, so one added later is compared too. What a rope table
 * was made from shows in the table. */
static bool role_of_stage(enum ks_role role, int stage, int layers)
{
    const struct ks_role_info *info = ks_role_info(role);
    if (info->n_pieces || info->part == KS_PART_ROPE_FREQS || info->part == KS_PART_ROPE_LONG)
        return false;
    if (info->per_layer)
        return stage >= 0 && stage < layers;
    return (role == KS_ROLE_TOKEN_EMBD) == (stage < 0) && (stage < 0 || stage >= layers);
}

bool ks_net_stage_equal(const struct ks_net *a, const struct ks_net *b, int stage)
{
    if (!hparams_equal(a->hparams, b->hparams))
        return false;
    int layers = (int)a->hparams->layers;
    uint32_t layer = stage < 0 || stage >= layers ? 0 : (uint32_t)stage;
    for (int i = 0; i < KS_ROLE_COUNT; i++) {
        if (role_of_stage((enum ks_role)i, stage, layers) &&
            !slot_equal(a, b, ks_role_info((enum ks_role)i), layer))
            return false;
    }
    if (stage >= 0 && a->rounding.products != b->rounding.products)
        return false;
    return stage < 0 || stage >= layers ||
           (tables_equal(a, b, layer) && rounding_equal(a, b, layer));
}

#include "tests/engine/model/samples.h"

#include "engine/model/arch/arch.h"
#include "engine/quant/decode.h"
#include "tests/engine/model/edit.h"

static struct ks_net bind(const struct ks_model *m, const struct ks_matrix *tensors,
                          size_t positions)
{
    struct ks_error err = {0};
    struct ks_net net = {0};
    if (ks_net_bind(&net, m, tensors, positions, &err))
        fail_msg("%s", err.text);
    return net;
}

static struct ks_net bind_own(const struct ks_model *m, size_t positions)
{
    return bind(m, ks_model_tensor(m, 0), positions);
}

/* The model's tensors, to be changed; malloc'ed. */
static struct ks_matrix *copy_tensors(const struct ks_model *m)
{
    size_t n = ks_model_n_tensors(m);
    struct ks_matrix *t = malloc(n * sizeof *t);
    assert_non_null(t);
    memcpy(t, ks_model_tensor(m, 0), n * sizeof *t);
    return t;
}

static const uint8_t *data_of(const struct ks_model *m, const char *name)
{
    return ks_model_tensor(m, tensor_index(m, name))->data;
}

static void every_tensor_takes_its_place(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-biases");
    struct ks_net net = bind_own(m, 4);
    const struct ks_net_layer *l = &net.layers[1];
    assert_ptr_equal(net.token_embd.data, data_of(m, "token_embd.weight"));
    assert_ptr_equal(l->attn_q.data, data_of(m, "blk.1.attn_q.weight"));
    assert_ptr_equal(l->attn_k.data, data_of(m, "blk.1.attn_k.weight"));
    assert_ptr_equal(l->attn_v.data, data_of(m, "blk.1.attn_v.weight"));
    assert_ptr_equal(l->attn_output.data, data_of(m, "blk.1.attn_output.weight"));
    assert_ptr_equal(l->ffn_gate.data, data_of(m, "blk.1.ffn_gate.weight"));
    assert_ptr_equal(l->ffn_up.data, data_of(m, "blk.1.ffn_up.weight"));
    assert_ptr_equal(l->ffn_down.data, data_of(m, "blk.1.ffn_down.weight"));
    assert_memory_equal(l->attn_norm, data_of(m, "blk.1.attn_norm.weight"), 64 * 4);
    assert_memory_equal(l->ffn_norm, data_of(m, "blk.1.ffn_norm.weight"), 64 * 4);
    assert_memory_equal(l->bias_q, data_of(m, "blk.1.attn_q.bias"), 64 * 4);
    assert_memory_equal(l->bias_k, data_of(m, "blk.1.attn_k.bias"), 32 * 4);
    assert_memory_equal(l->bias_v, data_of(m, "blk.1.attn_v.bias"), 32 * 4);
    assert_memory_equal(net.output_norm, data_of(m, "output_norm.weight"), 64 * 4);
    assert_null(l->bias_o);
    assert_null(l->bias_gate);
    assert_null(net.rope_factors);
    ks_net_finish(&net);
    ks_net_finish(&net);
    ks_model_unref(m);
}

static void a_tied_head_is_the_embeddings_own_bytes(void **state)
{
    (void)state;
    struct ks_model *tied = open_sample("llama-tied"), *untied = open_sample("llama-untied");
    struct ks_net a = bind_own(tied, 1), b = bind_own(untied, 1);
    assert_ptr_equal(a.head.data, a.token_embd.data);
    assert_int_equal(a.head.type, a.token_embd.type);
    assert_ptr_equal(b.head.data, data_of(untied, "output.weight"));
    ks_net_finish(&a);
    ks_net_finish(&b);
    ks_model_unref(tied);
    ks_model_unref(untied);
}

static void vectors_of_other_types_are_decoded(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    struct ks_matrix *tensors = copy_tensors(m);
    struct ks_matrix *norm = &tensors[tensor_index(m, "output_norm.weight")];
    uint16_t halves[64];
    for (size_t i = 0; i < 64; i++)
        halves[i] = ks_f32_to_f16(1.0f + (float)i / 64);
    *norm = (struct ks_matrix){KS_F16, 1, 64, (const uint8_t *)halves};
    struct ks_net net = bind(m, tensors, 1);
    for (size_t i = 0; i < 64; i++)
        assert_true(net.output_norm[i] == 1.0f + (float)i / 64);
    ks_net_finish(&net);
    free(tensors);
    ks_model_unref(m);
}

/* Whatever type the fused one has: its rows are whole blocks. */
static void a_fused_tensor_is_bound_as_its_parts(void **state)
{
    (void)state;
    static const char *const types[] = {NULL, "F16", "BF16"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct ks_model *m = open_model(sample_path("phi3", "gguf"), types[i]);
        struct ks_net net = bind_own(m, 4);
        const struct ks_net_layer *l = &net.layers[1];
        const struct ks_matrix *qkv = ks_model_tensor(m, tensor_index(m, "blk.1.attn_qkv.weight"));
        const struct ks_matrix *up = ks_model_tensor(m, tensor_index(m, "blk.1.ffn_up.weight"));
        uint64_t row = 0;
        assert_true(ks_type_row_bytes(qkv->type, 64, &row));
        assert_ptr_equal(l->attn_q.data, qkv->data);
        assert_ptr_equal(l->attn_k.data, qkv->data + 64 * row);
        assert_ptr_equal(l->attn_v.data, qkv->data + 96 * row);
        assert_ptr_equal(l->ffn_gate.data, up->data);
        assert_ptr_equal(l->ffn_up.data, up->data + 80 * row);
        assert_int_equal(l->attn_q.rows + l->attn_k.rows + l->attn_v.rows, qkv->rows);
        assert_int_equal(l->ffn_gate.rows + l->ffn_up.rows, up->rows);
        assert_int_equal(l->attn_v.type, qkv->type);
        ks_net_finish(&net);
        ks_model_unref(m);
    }
}

static void a_replaced_tensor_is_checked_like_the_files(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    struct ks_matrix *tensors = copy_tensors(m);
    struct ks_net net = {0};
    struct ks_error err;
    struct ks_matrix *up = &tensors[tensor_index(m, "blk.1.ffn_up.weight")];
    up->rows = 40;
    assert_int_equal(ks_net_bind(&net, m, tensors, 1, &err), -1);
    assert_says(&err, (const char *const[]){"llama-tied.gguf", "blk.1.ffn_up.weight", "64 x 40",
                                            "80 (feed_forward_length)", NULL});
    assert_null(net.layers);
    free(tensors);
    ks_model_unref(m);
}

/* Which stages of two nets differ, as bits: embedding, layer 0, layer 1, ..., end. */
static unsigned differing(const struct ks_net *a, const struct ks_net *b)
{
    unsigned bits = 0;
    for (int stage = -1; stage <= (int)a->hparams->layers; stage++) {
        assert_int_equal(ks_net_stage_equal(a, b, stage), ks_net_stage_equal(b, a, stage));
        if (!ks_net_stage_equal(a, b, stage))
            bits |= 1u << (stage + 1);
    }
    return bits;
}

struct change {
    const char *tensor;
    unsigned differing;
};

static void stages_differ_where_a_tensor_does(void **state)
{
    (void)state;
    const struct change changes[] = {
        {"token_embd.weight", 1},     {"blk.0.attn_norm.weight", 2},   {"blk.0.attn_q.weight", 2},
        {"blk.0.attn_k.bias", 2},     {"blk.0.ffn_down.weight", 2},    {"blk.1.attn_v.weight", 4},
        {"blk.1.ffn_norm.weight", 4}, {"blk.1.attn_output.weight", 4}, {"output_norm.weight", 8},
    };
    /* Another tensor's bytes: at another address, with other content. */
    float other[320 * 64];
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        other[i] = (float)(i % 7);
    struct ks_model *m = open_sample("llama-biases");
    struct ks_net a = bind_own(m, 3);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct ks_matrix *tensors = copy_tensors(m);
        tensors[tensor_index(m, changes[i].tensor)].data = (const uint8_t *)other;
        struct ks_net b = bind(m, tensors, 3);
        unsigned expected = changes[i].differing;
        if (strcmp(changes[i].tensor, "token_embd.weight") == 0)
            expected |= 8; /* it is the head too */
        if (differing(&a, &b) != expected)
            fail_msg("%s: stages %x differ", changes[i].tensor, differing(&a, &b));
        ks_net_finish(&b);
        free(tensors);
    }
    ks_net_finish(&a);
    ks_model_unref(m);
}

/* The stages that a tensor of a model belongs to, as `differing` tells them. */
static unsigned stages_of(const char *tensor, uint32_t layers, bool tied)
{
    unsigned layer, all = (2u << layers) - 2, end = 2u << layers;
    if (strcmp(tensor, "token_embd.weight") == 0)
        return 1 | (tied ? end : 0);
    if (strcmp(tensor, "rope_factors_long.weight") == 0)
        return 0; /* three positions are short */
    if (strncmp(tensor, "rope_", 5) == 0)
        return all;
    return sscanf(tensor, "blk.%u.", &layer) == 1 ? 2u << layer : end;
}

static void a_change_of_any_tensor_shows_in_its_stage_alone(void **state)
{
    (void)state;
    static const char *const samples[] = {
        "gemma2", "gemma3", "granite", "llama-biases", "mistral3",         "olmo2",
        "phi3",   "qwen2",  "qwen3",   "smollm3",      "llama-rope-llama3"};
    float *other = malloc(1 << 20);
    assert_non_null(other);
    for (size_t i = 0; i < (1 << 20) / sizeof *other; i++)
        other[i] = 1.0f + (float)(i % 7);
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        struct ks_model *m = open_sample(samples[s]);
        struct ks_net a = bind_own(m, 3);
        for (size_t i = 0; i < ks_model_n_tensors(m); i++) {
            const char *name = ks_model_tensor_name(m, i);
            struct ks_matrix *tensors = copy_tensors(m);
            tensors[i].data = (const uint8_t *)other;
            struct ks_net b = bind(m, tensors, 3);
            unsigned expected =
                stages_of(name, a.hparams->layers, a.head.data == a.token_embd.data);
            if (differing(&a, &b) != expected)
                fail_msg("%s: %s: stages %x differ, not %x", samples[s], name, differing(&a, &b),
                         expected);
            ks_net_finish(&b);
            free(tensors);
        }
        ks_net_finish(&a);
        ks_model_unref(m);
    }
    free(other);
}

static void equal_bindings_are_equal_in_every_stage(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-untied");
    struct ks_net a = bind_own(m, 3), b = bind_own(m, 8);
    assert_int_equal(differing(&a, &a), 0);
    assert_int_equal(differing(&a, &b), 0); /* the tables agree where both reach */
    ks_net_finish(&a);
    ks_net_finish(&b);
    ks_model_unref(m);
}

static void a_change_of_type_is_a_difference_at_the_same_address(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-untied");
    struct ks_matrix *tensors = copy_tensors(m);
    tensors[tensor_index(m, "blk.0.attn_q.weight")].type = KS_F16;
    struct ks_net a = bind_own(m, 1), b = bind(m, tensors, 1);
    assert_int_equal(differing(&a, &b), 2);
    ks_net_finish(&a);
    ks_net_finish(&b);
    free(tensors);
    ks_model_unref(m);
}

static void only_the_head_differs_where_a_tied_model_is_given_another(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-untied");
    struct ks_matrix *tensors = copy_tensors(m);
    tensors[tensor_index(m, "output.weight")].data = data_of(m, "token_embd.weight");
    struct ks_net a = bind_own(m, 1), b = bind(m, tensors, 1);
    assert_int_equal(differing(&a, &b), 8);
    ks_net_finish(&a);
    ks_net_finish(&b);
    free(tensors);
    ks_model_unref(m);
}

static void other_hyperparameters_differ_everywhere(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_SET_F32, .name = "llama.rope.freq_base", .f = 20000},
                                 {EDIT_END}};
    struct ks_model *m = open_sample("llama-tied");
    struct ks_model *n = open_model(edited(sample_path("llama-tied", "gguf"), edits), NULL);
    struct ks_net a = bind_own(m, 3), b = bind(n, ks_model_tensor(m, 0), 3);
    assert_int_equal(differing(&a, &b), 15);
    ks_net_finish(&a);
    ks_net_finish(&b);
    ks_model_unref(m);
    ks_model_unref(n);
    edit_finish();
}

static void other_rope_factors_differ_in_the_layers(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-rope-llama3");
    struct ks_matrix *tensors = copy_tensors(m);
    const float factors[8] = {1, 1, 1, 1, 2, 2, 2, 2};
    tensors[tensor_index(m, "rope_freqs.weight")].data = (const uint8_t *)factors;
    struct ks_net a = bind_own(m, 3), b = bind(m, tensors, 3);
    assert_int_equal(differing(&a, &b), 2 | 4);
    ks_net_finish(&a);
    ks_net_finish(&b);
    free(tensors);
    ks_model_unref(m);
}

static void an_arms_hash_follows_its_tensors(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    struct ks_matrix *tensors = copy_tensors(m);
    assert_true(ks_hash_equal(ks_model_hash(m), ks_model_hash_with(m, tensors, NULL)));
    tensors[3].data = tensors[2].data;
    assert_false(ks_hash_equal(ks_model_hash(m), ks_model_hash_with(m, tensors, NULL)));
    free(tensors);
    ks_model_unref(m);
}

static void names_and_roles_are_each_others_inverse(void **state)
{
    (void)state;
    for (int i = 0; i < KS_ROLE_COUNT; i++) {
        char name[64];
        uint32_t layer, expected = ks_role_info((enum ks_role)i)->per_layer ? 17 : 0;
        ks_role_name(NULL, (enum ks_role)i, 17, name, sizeof name);
        assert_int_equal(ks_role_of(NULL, name, &layer), i);
        assert_int_equal(layer, expected);
    }
    static const char *const none[] = {"",
                                       "blk.",
                                       "blk.1",
                                       "blk.1.",
                                       "blk..attn_q.weight",
                                       "blk.-1.attn_q.weight",
                                       "blk.+1.attn_q.weight",
                                       "blk.00.attn_q.weight",
                                       "attn_q.weight",
                                       "blk.0.output.weight",
                                       "blk.99999999999.attn_q.weight",
                                       "blk.0.attn_q.weight.weight"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        uint32_t layer;
        assert_int_equal(ks_role_of(NULL, none[i], &layer), KS_ROLE_COUNT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tensor_takes_its_place),
        cmocka_unit_test(a_tied_head_is_the_embeddings_own_bytes),
        cmocka_unit_test(vectors_of_other_types_are_decoded),
        cmocka_unit_test(a_fused_tensor_is_bound_as_its_parts),
        cmocka_unit_test(a_replaced_tensor_is_checked_like_the_files),
        cmocka_unit_test(stages_differ_where_a_tensor_does),
        cmocka_unit_test(a_change_of_any_tensor_shows_in_its_stage_alone),
        cmocka_unit_test(equal_bindings_are_equal_in_every_stage),
        cmocka_unit_test(a_change_of_type_is_a_difference_at_the_same_address),
        cmocka_unit_test(only_the_head_differs_where_a_tied_model_is_given_another),
        cmocka_unit_test(other_hyperparameters_differ_everywhere),
        cmocka_unit_test(other_rope_factors_differ_in_the_layers),
        cmocka_unit_test(an_arms_hash_follows_its_tensors),
        cmocka_unit_test(names_and_roles_are_each_others_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/engine/model/samples.h"

#include <math.h>

#include "engine/model/net/forward.h"
#include "engine/quant/decode.h"
#include "engine/quant/encode/encode.h"
#include "tests/engine/model/edit.h"

static uint64_t bytes_of(const struct ks_matrix *t)
{
    uint64_t row = 0;
    assert_true(ks_type_row_bytes(t->type, t->cols, &row));
    return row * t->rows;
}

static const struct ks_matrix *tensor(const struct ks_model *m, const char *name)
{
    return ks_model_tensor(m, tensor_index(m, name));
}

static void converting_gives_the_quantizers_own_bytes(void **state)
{
    (void)state;
    struct ks_model *made = open_model(test_data("model/model-even.gguf"), "q4_0");
    struct ks_model *file = open_model(test_data("model/arm-even-q4_0.gguf"), NULL);
    assert_int_equal(ks_model_n_tensors(made), ks_model_n_tensors(file));
    for (size_t i = 0; i < ks_model_n_tensors(file); i++) {
        const struct ks_matrix *a = ks_model_tensor(file, i);
        const struct ks_matrix *b = tensor(made, ks_model_tensor_name(file, i));
        assert_int_equal(a->type, b->type);
        assert_int_equal(bytes_of(a), bytes_of(b));
        assert_memory_equal(a->data, b->data, (size_t)bytes_of(a));
    }
    assert_int_equal(ks_model_info(made)->bytes, ks_model_info(file)->bytes);
    assert_int_equal(ks_model_info(made)->elements, ks_model_info(file)->elements);
    ks_model_unref(made);
    ks_model_unref(file);
}

static void vectors_stay_as_they_are(void **state)
{
    (void)state;
    struct ks_model *m = open_model(sample_path("llama-biases", "gguf"), "F16");
    for (size_t i = 0; i < ks_model_n_tensors(m); i++) {
        struct ks_tensor_info t = ks_model_tensor_info(m, i);
        assert_string_equal(t.type, t.n_dims == 1 ? "F32" : "F16");
    }
    ks_model_unref(m);
}

static void every_element_is_converted(void **state)
{
    (void)state;
    struct ks_model *from = open_sample("llama-tied");
    struct ks_model *to = open_model(sample_path("llama-tied", "gguf"), "BF16");
    const char *const names[] = {"token_embd.weight", "blk.1.ffn_down.weight"};
    for (size_t k = 0; k < 2; k++) {
        const struct ks_matrix *a = tensor(from, names[k]), *b = tensor(to, names[k]);
        const float *values = (const float *)(const void *)a->data;
        const uint16_t *halves = (const uint16_t *)(const void *)b->data;
        for (size_t i = 0; i < a->rows * a->cols; i++)
            assert_int_equal(halves[i], ks_f32_to_bf16(values[i]));
    }
    ks_model_unref(from);
    ks_model_unref(to);
}

static int keep_row(void *ctx, size_t position, const float *logits, size_t vocab,
                    struct ks_error *err)
{
    (void)err;
    memcpy((float *)ctx + position * vocab, logits, vocab * sizeof *logits);
    return 0;
}

static void a_model_decoded_to_f32_computes_the_same_bits(void **state)
{
    (void)state;
    const char *path = test_data("model/arm-even-q4_0.gguf");
    struct ks_model *q4 = open_model(path, NULL), *f32 = open_model(path, "F32");
    const int32_t ids[4] = {1, 20, 300, 4};
    float a[4 * SAMPLE_VOCAB], b[4 * SAMPLE_VOCAB];
    struct ks_error err;
    assert_int_equal(ks_model_logits(q4, ids, 4, 1, keep_row, a, &err), 0);
    assert_int_equal(ks_model_logits(f32, ids, 4, 1, keep_row, b, &err), 0);
    assert_memory_equal(a, b, sizeof a);
    assert_true(ks_model_info(f32)->bits_per_weight == 32.0);
    assert_false(ks_hash_equal(ks_model_hash(q4), ks_model_hash(f32)));
    ks_model_unref(q4);
    ks_model_unref(f32);
}

/* What the type's own encoder makes of the decoded rows. */
static void assert_encoded(const struct ks_matrix *from, const struct ks_matrix *to,
                           const struct ks_encoder *encoder, const char *name)
{
    size_t cols = (size_t)from->cols;
    uint64_t from_row = bytes_of(from) / from->rows, to_row = bytes_of(to) / to->rows;
    float row[512];
    uint8_t encoded[4 * 512];
    assert_true(cols <= 512);
    for (size_t r = 0; r < from->rows; r += 37) { /* a search costs its time */
        ks_decode_row(from->type, from->data + r * from_row, row, cols);
        ks_encode_rows(encoder, row, 1, cols, NULL, encoded);
        if (memcmp(encoded, to->data + r * to_row, (size_t)to_row) != 0)
            fail_msg("row %zu of %s is not what %s's encoder makes", r, name,
                     ks_type_info(to->type)->name);
    }
}

/* A file of all types, its matrices as many columns wide as the longest blocks. */
static void a_model_converts_to_every_type_that_needs_no_importance(void **state)
{
    (void)state;
    const char *path = test_data("model/llama-mixed-types.gguf");
    struct ks_error err;
    struct ks_encoders *encoders = ks_encoders_create(&err);
    struct ks_model *from = open_model(path, NULL);
    const struct ks_type_info *type;
    size_t converted = 0;
    for (uint32_t i = 0; (type = ks_type_at(i)); i++) {
        if (!type->quantizes || type->weighing == KS_MUST_BE_WEIGHED)
            continue;
        struct ks_model *to = open_model(path, type->name);
        const struct ks_encoder *encoder = ks_encoders_get(encoders, type->type, &err);
        for (size_t t = 0; t < ks_model_n_tensors(from); t++) {
            const struct ks_matrix *a = ks_model_tensor(from, t), *b = ks_model_tensor(to, t);
            assert_int_equal(b->type, a->rows > 1 ? type->type : a->type);
            if (a->type != b->type)
                assert_encoded(a, b, encoder, ks_model_tensor_name(from, t));
        }
        const int32_t ids[2] = {1, 20};
        float logits[2 * SAMPLE_VOCAB];
        assert_int_equal(ks_model_logits(to, ids, 2, 1, keep_row, logits, &err), 0);
        for (size_t v = 0; v < 2 * SAMPLE_VOCAB; v++)
            assert_true(fabsf(logits[v]) < 1e3f);
        ks_model_unref(to);
        converted++;
    }
    assert_int_equal(converted, 23);
    ks_model_unref(from);
    ks_encoders_destroy(encoders);
}

static void converting_to_the_type_it_has_changes_nothing(void **state)
{
    (void)state;
    const char *path = sample_path("llama-untied", "gguf");
    struct ks_model *a = open_model(path, NULL), *b = open_model(path, "F32");
    assert_true(ks_hash_equal(ks_model_hash(a), ks_model_hash(b)));
    ks_model_unref(a);
    ks_model_unref(b);
}

static void assert_refused(const char *path, const char *type, enum ks_code code,
                           const char *const *words)
{
    struct ks_error err = {0};
    assert_null(ks_model_open(path, "shown.gguf", type, &err));
    assert_says(&err, words);
    assert_says(&err, (const char *const[]){"shown.gguf", NULL});
    assert_int_equal(err.code, code);
}

static void types_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const char *path = sample_path("llama-tied", "gguf");
    assert_refused(path, "Q9_K", KS_BAD_INPUT,
                   (const char *const[]){"\"Q9_K\"", "F16", "Q8_0", "Q4_K", NULL});
    const char *const weighed[] = {"IQ1_S", "IQ2_XXS", "iq2_xs"};
    for (size_t i = 0; i < 3; i++)
        assert_refused(path, weighed[i], KS_UNSUPPORTED,
                       (const char *const[]){i == 2 ? "\"IQ2_XS\"" : weighed[i],
                                             "only an importance matrix", "IQ2_S", NULL});
    assert_refused(path, "Q4_K_M", KS_BAD_INPUT, (const char *const[]){"\"Q4_K_M\"", NULL});
    assert_refused(path, "Q8_0", KS_BAD_INPUT,
                   (const char *const[]){"ffn_down.weight", "80 columns", "Q8_0", "32", NULL});
    assert_refused(path, "Q4_K", KS_BAD_INPUT,
                   (const char *const[]){"token_embd.weight", "64 columns", "256", NULL});
}

static void weights_that_a_type_cannot_hold_are_refused(void **state)
{
    (void)state;
    const char *source = sample_path("llama-tied", "gguf");
    const struct edit nan[] = {
        {EDIT_POKE, .name = "blk.0.attn_q.weight", .u = 64 * 40 + 3, .f = 0.0f / 0.0f},
        {EDIT_POKE, .name = "blk.0.attn_k.weight", .u = 0, .f = 1},
        {EDIT_END}};
    assert_refused(edited(source, nan), "BF16", KS_BAD_INPUT,
                   (const char *const[]){"blk.0.attn_q.weight", "nan", "row 40", "column 3", NULL});
    const struct edit large[] = {
        {EDIT_POKE, .name = "blk.1.ffn_down.weight", .u = 80 * 63 + 79, .f = -65520}, {EDIT_END}};
    assert_refused(edited(source, large), "F16", KS_BAD_INPUT,
                   (const char *const[]){"blk.1.ffn_down.weight", "-65520", "row 63", "column 79",
                                         "F16", NULL});
    const struct edit fits[] = {
        {EDIT_POKE, .name = "blk.1.ffn_down.weight", .u = 80 * 63 + 79, .f = -65519}, {EDIT_END}};
    ks_model_unref(open_model(edited(source, fits), "F16"));
    ks_model_unref(open_model(edited(source, large), "BF16"));
    edit_finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converting_gives_the_quantizers_own_bytes),
        cmocka_unit_test(vectors_stay_as_they_are),
        cmocka_unit_test(every_element_is_converted),
        cmocka_unit_test(a_model_decoded_to_f32_computes_the_same_bits),
        cmocka_unit_test(a_model_converts_to_every_type_that_needs_no_importance),
        cmocka_unit_test(converting_to_the_type_it_has_changes_nothing),
        cmocka_unit_test(types_that_do_not_fit_are_refused),
        cmocka_unit_test(weights_that_a_type_cannot_hold_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

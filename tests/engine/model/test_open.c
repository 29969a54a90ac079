#include "tests/engine/model/samples.h"

#include <math.h>

#include "tests/engine/model/edit.h"

static void tells_what_a_model_is(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-rope-llama3");
    const struct ks_model_info *i = ks_model_info(m);
    assert_string_equal(i->name, "llama-rope-llama3");
    assert_string_equal(i->architecture, "llama");
    assert_int_equal(i->layers, 2);
    assert_int_equal(i->hidden, 64);
    assert_int_equal(i->heads, 4);
    assert_int_equal(i->kv_heads, 2);
    assert_int_equal(i->head_dim, 16);
    assert_int_equal(i->ffn, 80);
    assert_int_equal(i->vocab, 320);
    assert_int_equal(i->context, 256);
    assert_false(i->tied);
    assert_int_equal(i->n_tensors, 22);
    assert_int_equal(i->elements, 2 * 320 * 64 + 8 + 64 + 2 * (3 * 64 * 80 + 96 * 128 + 128));
    assert_int_equal(i->bytes, 4 * i->elements);
    assert_true(i->bits_per_weight == 32.0);
    assert_true(i->file_bytes > i->bytes);
    assert_string_equal(i->tokenizer_model, "gpt2");
    assert_string_equal(i->tokenizer_pre, "smollm");
    assert_null(i->chat_family);
    ks_model_unref(m);
}

static void a_file_without_output_weight_is_tied(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    assert_true(ks_model_info(m)->tied);
    ks_model_unref(m);
}

static void a_nameless_model_is_named_after_its_file(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_DROP_KEY, .name = "general.name"}, {EDIT_END}};
    const char *path = edited(sample_path("llama-tied", "gguf"), edits);
    struct ks_model *m = open_model(path, NULL);
    assert_string_equal(ks_model_info(m)->name, strrchr(path, '/') + 1);
    ks_model_unref(m);
    edit_finish();
}

static void messages_use_the_name_shown(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_DROP_KEY, .name = "llama.block_count"}, {EDIT_END}};
    struct ks_error err;
    const char *path = edited(sample_path("llama-tied", "gguf"), edits);
    assert_null(ks_model_open(path, "models/mine.gguf", NULL, &err));
    assert_string_equal(err.text, "models/mine.gguf: metadata key llama.block_count is missing; "
                                  "download the file again, or convert the model again");
    edit_finish();
}

static void a_missing_file_is_an_error_that_names_it(void **state)
{
    (void)state;
    struct ks_error err;
    assert_null(ks_model_open("/nowhere/m.gguf", NULL, NULL, &err));
    assert_int_equal(err.code, KS_SYSTEM);
    assert_says(&err, (const char *const[]){"/nowhere/m.gguf", "No such file", NULL});
}

static void lists_tensors_with_types_and_shapes(void **state)
{
    (void)state;
    struct ks_model *m = open_model(test_data("model/arm-even-q4_0.gguf"), NULL);
    struct ks_tensor_info t = ks_model_tensor_info(m, tensor_index(m, "blk.0.ffn_down.weight"));
    assert_string_equal(t.name, "blk.0.ffn_down.weight");
    assert_string_equal(t.type, "Q4_0");
    assert_int_equal(t.n_dims, 2);
    assert_int_equal(t.dims[0], 96);
    assert_int_equal(t.dims[1], 64);
    assert_int_equal(t.bytes, 64 * 3 * 18);
    t = ks_model_tensor_info(m, tensor_index(m, "output_norm.weight"));
    assert_string_equal(t.type, "F32");
    assert_int_equal(t.n_dims, 1);
    assert_int_equal(t.bytes, 64 * 4);
    ks_model_unref(m);
}

struct line {
    const char *key, *type, *text;
};

static void shows_metadata_as_lines(void **state)
{
    (void)state;
    const struct line expected[] = {
        {"general.architecture", "string", "llama"},
        {"llama.block_count", "u32", "2"},
        {"llama.rope.freq_base", "f32", "10000"},
        {"llama.attention.layer_norm_rms_epsilon", "f32", "9.99999997e-07"},
        {"tokenizer.ggml.token_type", "i32[]", "320: 1, 1, 1, 1, 1, 1, 1, 1, 1..."},
        {"tokenizer.ggml.tokens", "string[]", "320: !, \", #, $, %, &, ', (, )..."},
        {"tokenizer.ggml.add_bos_token", "bool", "false"},
    };
    struct ks_model *m = open_sample("llama-tied");
    size_t found = 0, i = 0;
    const char *key, *type;
    char text[34];
    for (; ks_model_metadata(m, i, &key, &type, text, sizeof text); i++) {
        assert_null(strchr(text, '\n'));
        for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
            if (strcmp(key, expected[k].key) != 0)
                continue;
            assert_string_equal(type, expected[k].type);
            assert_string_equal(text, expected[k].text);
            found++;
        }
    }
    assert_int_equal(i, 26);
    assert_int_equal(found, sizeof expected / sizeof *expected);
    ks_model_unref(m);
}

static void metadata_text_fits_any_buffer(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    const char *key, *type;
    char text[65];
    for (size_t size = 0; size < 64; size++) {
        for (size_t i = 0; ks_model_metadata(m, i, &key, &type, text, size); i++) {
            if (size)
                assert_true(strlen(text) < size);
        }
    }
    ks_model_unref(m);
}

static void control_characters_in_metadata_are_escaped(void **state)
{
    (void)state;
    const struct edit edits[] = {
        {EDIT_SET_STRING, .name = "general.name", .text = "a\nb\tc\x1b[31m"}, {EDIT_END}};
    struct ks_model *m = open_model(edited(sample_path("llama-tied", "gguf"), edits), NULL);
    const char *key = "", *type;
    char text[64];
    for (size_t i = 0; ks_model_metadata(m, i, &key, &type, text, sizeof text); i++) {
        if (strcmp(key, "general.name") == 0)
            assert_string_equal(text, "a\\nb\\tc\\x1b[31m");
    }
    ks_model_unref(m);
    edit_finish();
}

static void tokenizes_and_tells_tokens_bytes(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    struct ks_error err = {0};
    int32_t *ids;
    size_t n, len, total = 0;
    const char text[] = "There are the 12 words, in the other.";
    char back[sizeof text] = "";
    if (ks_model_tokenize(m, NULL, text, sizeof text - 1, 0, &ids, &n, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++) {
        const char *bytes = ks_model_token_bytes(m, ids[i], &len, &err);
        assert_non_null(bytes);
        assert_true(total + len < sizeof back);
        memcpy(back + total, bytes, len);
        total += len;
    }
    assert_string_equal(back, text);
    free(ids);
    ks_model_unref(m);
}

static void a_pre_that_is_not_known_is_refused(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    struct ks_error err = {0};
    int32_t *ids;
    size_t n;
    assert_int_equal(ks_model_tokenize(m, "no-such-pre", "a", 1, 0, &ids, &n, &err), -1);
    assert_says(&err, (const char *const[]){"no-such-pre", NULL});
    ks_model_unref(m);
}

static void ids_outside_the_vocabulary_have_no_bytes(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    struct ks_error err = {0};
    size_t len;
    assert_null(ks_model_token_bytes(m, 320, &len, &err));
    assert_says(&err, (const char *const[]){"llama-tied.gguf", "320", "0..319", NULL});
    assert_null(ks_model_token_bytes(m, -1, &len, &err));
    ks_model_unref(m);
}

static struct ks_hash hash_of(const struct edit *edits)
{
    struct ks_model *m = open_model(edited(sample_path("llama-untied", "gguf"), edits), NULL);
    struct ks_hash h = ks_model_hash(m);
    assert_true(ks_hash_equal(h, ks_model_hash(m)));
    ks_model_unref(m);
    edit_finish();
    return h;
}

static void the_hash_is_of_the_weights_alone(void **state)
{
    (void)state;
    const struct edit none[] = {{EDIT_END}};
    const struct edit key[] = {{EDIT_SET_STRING, .name = "general.name", .text = "another"},
                               {EDIT_END}};
    const struct edit weight[] = {{EDIT_POKE, .name = "output_norm.weight", .u = 63, .f = 0.5f},
                                  {EDIT_END}};
    const struct edit tensor[] = {{EDIT_ADD_VECTOR, .name = "rope_freqs.weight", .u = 8, .f = 1},
                                  {EDIT_END}};
    const struct edit name[] = {
        {EDIT_RENAME_TENSOR, .name = "blk.0.ffn_up.weight", .text = "blk.0.ffn_gate.weight"},
        {EDIT_RENAME_TENSOR, .name = "blk.0.ffn_gate.weight", .text = "blk.0.ffn_up.weight"},
        {EDIT_END}};
    struct ks_hash h = hash_of(none);
    assert_true(ks_hash_equal(h, hash_of(key)));
    assert_false(ks_hash_equal(h, hash_of(weight)));
    assert_false(ks_hash_equal(h, hash_of(tensor)));
    assert_false(ks_hash_equal(h, hash_of(name)));
}

static void a_vocabulary_without_weights_can_be_peeked_at_and_tokenize(void **state)
{
    (void)state;
    struct edit edits[24] = {{EDIT_END}};
    char names[20][64];
    struct ks_model *full = open_sample("llama-tied");
    for (size_t i = 0; i < ks_model_n_tensors(full); i++) {
        snprintf(names[i], sizeof names[i], "%s", ks_model_tensor_name(full, i));
        edits[i] = (struct edit){EDIT_DROP_TENSOR, .name = names[i]};
        edits[i + 1].kind = EDIT_END;
    }
    const char *path = edited(sample_path("llama-tied", "gguf"), edits);
    struct ks_error err = {0};
    assert_null(ks_model_open(path, NULL, NULL, &err));
    assert_says(&err, (const char *const[]){"token_embd.weight", "missing", NULL});
    struct ks_model *m = ks_model_peek(path, NULL, &err);
    assert_non_null(m);
    assert_int_equal(ks_model_info(m)->vocab, 320);
    assert_int_equal(ks_model_info(m)->layers, 2);
    assert_int_equal(ks_model_info(m)->n_tensors, 0);
    assert_true(ks_model_info(m)->bits_per_weight == 0.0);
    size_t len;
    assert_non_null(ks_model_token_bytes(m, 5, &len, &err));
    ks_model_unref(m);
    ks_model_unref(full);
    edit_finish();
}

static int no_row(void *ctx, size_t position, const float *logits, size_t vocab,
                  struct ks_error *err)
{
    (void)ctx, (void)position, (void)logits, (void)vocab, (void)err;
    fail_msg("a row of a model that cannot be computed");
    return -1;
}

static void what_was_peeked_at_is_refused_when_computed(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_SET_STRING, .name = "general.architecture", .text = "mamba"},
                                 {EDIT_END}};
    const char *path = edited(sample_path("llama-tied", "gguf"), edits);
    struct ks_error opened, computed, bound;
    assert_null(ks_model_open(path, NULL, NULL, &opened));
    struct ks_model *m = ks_model_peek(path, NULL, &computed);
    assert_non_null(m);
    assert_string_equal(ks_model_info(m)->architecture, "mamba");
    const int32_t id = 1;
    assert_int_equal(ks_model_logits(m, &id, 1, 1, no_row, NULL, &computed), -1);
    assert_string_equal(computed.text, opened.text);
    struct ks_net net;
    assert_int_equal(ks_net_bind(&net, m, ks_model_tensor(m, 0), 1, &bound), -1);
    assert_string_equal(bound.text, opened.text);
    ks_model_unref(m);
    edit_finish();
}

static void a_model_lives_until_its_last_reference_goes(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    assert_ptr_equal(ks_model_ref(m), m);
    ks_model_unref(m);
    assert_int_equal(ks_model_info(m)->layers, 2);
    ks_model_unref(m);
    ks_model_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_a_model_is),
        cmocka_unit_test(a_file_without_output_weight_is_tied),
        cmocka_unit_test(a_nameless_model_is_named_after_its_file),
        cmocka_unit_test(messages_use_the_name_shown),
        cmocka_unit_test(a_missing_file_is_an_error_that_names_it),
        cmocka_unit_test(lists_tensors_with_types_and_shapes),
        cmocka_unit_test(shows_metadata_as_lines),
        cmocka_unit_test(metadata_text_fits_any_buffer),
        cmocka_unit_test(control_characters_in_metadata_are_escaped),
        cmocka_unit_test(tokenizes_and_tells_tokens_bytes),
        cmocka_unit_test(a_pre_that_is_not_known_is_refused),
        cmocka_unit_test(ids_outside_the_vocabulary_have_no_bytes),
        cmocka_unit_test(the_hash_is_of_the_weights_alone),
        cmocka_unit_test(a_vocabulary_without_weights_can_be_peeked_at_and_tokenize),
        cmocka_unit_test(what_was_peeked_at_is_refused_when_computed),
        cmocka_unit_test(a_model_lives_until_its_last_reference_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

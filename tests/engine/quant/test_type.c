#include "tests/testing.h"

#include <jansson.h>
#include <string.h>

#include "engine/quant/type.h"

static void names_are_found_in_any_case(void **state)
{
    (void)state;
    assert_int_equal(ks_type_named("q4_k")->type, KS_Q4_K);
    assert_int_equal(ks_type_named("Q4_K")->type, KS_Q4_K);
    assert_int_equal(ks_type_named("bf16")->type, KS_BF16);
    assert_null(ks_type_named("q4_k_m"));
    assert_null(ks_type_named(""));
}

static void the_list_ends_and_agrees_with_the_numbers(void **state)
{
    (void)state;
    uint32_t n = 0;
    for (const struct ks_type_info *t; (t = ks_type_at(n)); n++) {
        assert_ptr_equal(ks_type_info((uint32_t)t->type), t);
        assert_ptr_equal(ks_type_named(t->name), t);
    }
    assert_int_equal(n, 32);
    assert_null(ks_type_at(n));
    assert_null(ks_type_at(UINT32_MAX));
    assert_null(ks_type_info(4));
    assert_null(ks_type_info(139));
    assert_null(ks_type_info(UINT32_MAX));
}

static void blocks_are_as_the_reference_writes_them(void **state)
{
    (void)state;
    json_error_t why;
    json_t *root = json_load_file(test_data("quant/quant.json"), 0, &why);
    assert_non_null(root);
    const char *name;
    json_t *entry;
    size_t n = 0;
    json_object_foreach(json_object_get(root, "types"), name, entry)
    {
        const struct ks_type_info *t = ks_type_named(name);
        assert_non_null(t);
        assert_int_equal(t->type, json_integer_value(json_object_get(entry, "ggml_type")));
        assert_int_equal(t->block_elems, json_integer_value(json_object_get(entry, "block")));
        assert_int_equal(t->block_bytes, json_integer_value(json_object_get(entry, "block_bytes")));
        n++;
    }
    assert_int_equal(n, 25);
    json_decref(root);
}

static void what_quantizes_also_decodes(void **state)
{
    (void)state;
    int decodes = 0, quantizes = 0;
    for (uint32_t i = 0; ks_type_at(i); i++) {
        const struct ks_type_info *t = ks_type_at(i);
        decodes += t->decodes;
        quantizes += t->quantizes;
        assert_true(t->decodes || !t->quantizes);
    }
    assert_int_equal(decodes, 26);
    assert_int_equal(quantizes, 26);
}

static void a_row_is_a_whole_number_of_blocks(void **state)
{
    (void)state;
    uint64_t bytes = 7;
    assert_true(ks_type_row_bytes(KS_Q4_K, 512, &bytes));
    assert_int_equal(bytes, 288);
    assert_false(ks_type_row_bytes(KS_Q4_K, 576, &bytes));
    assert_false(ks_type_row_bytes(KS_Q8_0, 240 + 8, &bytes));
    assert_false(ks_type_row_bytes((enum ks_type)999, 256, &bytes));
    assert_int_equal(bytes, 288);
    assert_true(ks_type_row_bytes(KS_F32, 3, &bytes));
    assert_int_equal(bytes, 12);
}

static void a_row_too_long_to_count_is_refused(void **state)
{
    (void)state;
    uint64_t bytes = 7;
    assert_false(ks_type_row_bytes(KS_F32, UINT64_MAX / 2, &bytes));
    assert_false(ks_type_row_bytes(KS_Q8_0, UINT64_MAX - 31, &bytes));
    assert_int_equal(bytes, 7);
}

static void numbers_of_forks_have_their_names_and_no_type(void **state)
{
    (void)state;
    int known_elsewhere = 0;
    for (uint32_t number = 0; number < 1000; number++) {
        const char *foreign = ks_type_foreign(number);
        if (!foreign)
            continue;
        known_elsewhere++;
        assert_null(ks_type_info(number));
    }
    assert_true(known_elsewhere >= 60);
    assert_string_equal(ks_type_foreign(139), "IQ4_K of ik_llama.cpp");
    assert_string_equal(ks_type_foreign(344), "IQ4_KS_R4 of ik_llama.cpp");
    assert_null(ks_type_foreign(12345));
    assert_null(ks_type_foreign(KS_Q4_K));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_any_case),
        cmocka_unit_test(the_list_ends_and_agrees_with_the_numbers),
        cmocka_unit_test(blocks_are_as_the_reference_writes_them),
        cmocka_unit_test(what_quantizes_also_decodes),
        cmocka_unit_test(numbers_of_forks_have_their_names_and_no_type),
        cmocka_unit_test(a_row_is_a_whole_number_of_blocks),
        cmocka_unit_test(a_row_too_long_to_count_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Two models held against each other. */
#include "tests/engine/model/samples.h"

#include <math.h>

#include "tests/engine/model/edit.h"

/* What was told, up to as many as a test looks at. */
struct told {
    struct ks_difference items[8];
    char names[8][64], text[256];
    size_t n;
};

static int keep(void *ctx, const struct ks_difference *d, struct ks_error *err)
{
    struct told *told = ctx;
    (void)err;
    assert_true(told->n < sizeof told->items / sizeof *told->items);
    snprintf(told->names[told->n], sizeof told->names[0], "%s", d->name);
    if (d->text)
        snprintf(told->text, sizeof told->text, "%s", d->text);
    told->items[told->n++] = *d;
    return 0;
}

/* llama-tied with one list of edits against it with another. */
static struct told compare(const struct edit *of_a, const struct edit *of_b)
{
    static const char sample[] = "model/llama-tied.gguf";
    struct ks_error err = {0};
    struct told told = {0};
    size_t n = 77;
    char source[1024];
    snprintf(source, sizeof source, "%s", test_data(sample));
    struct ks_model *a = ks_model_peek(edited(source, of_a), "a", &err);
    struct ks_model *b = ks_model_peek(edited(source, of_b), "b", &err);
    if (!a || !b || ks_model_diff(a, b, keep, &told, &n, &err))
        fail_msg("%s", err.text);
    assert_int_equal(n, told.n);
    ks_model_unref(a);
    ks_model_unref(b);
    edit_finish();
    return told;
}

static const struct edit none[] = {{EDIT_END}};

static void a_model_does_not_differ_from_its_copy(void **state)
{
    (void)state;
    assert_int_equal(compare(none, none).n, 0);
}

static void a_key_differs_by_value_by_type_and_by_being_there(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_SET_U32, .name = "general.file_type", .u = 7},
                                 {EDIT_SET_STRING, .name = "llama.context_length", .text = "long"},
                                 {EDIT_DROP_KEY, .name = "general.name"},
                                 {EDIT_SET_U32, .name = "zzz.new", .u = 1},
                                 {EDIT_END}};
    struct told told = compare(none, edits);
    assert_int_equal(told.n, 4);
    for (size_t i = 0; i < told.n; i++) {
        const struct ks_difference *d = &told.items[i];
        assert_int_equal(d->kind, KS_DIFFERENCE_METADATA);
        assert_int_equal(d->b == KS_NOWHERE, strcmp(told.names[i], "general.name") == 0);
        assert_int_equal(d->a == KS_NOWHERE, strcmp(told.names[i], "zzz.new") == 0);
        assert_int_equal(d->items, strcmp(told.names[i], "general.file_type") == 0);
    }
    assert_string_equal(told.names[3], "zzz.new");
}

/* The fills are powers of two and their sums exact: d = 0.5 of a = 2. */
static void values_are_told_relative_to_those_of_the_first(void **state)
{
    (void)state;
    const struct edit twos[] = {{EDIT_FILL, .name = "output_norm.weight", .f = 2}, {EDIT_END}};
    const struct edit more[] = {{EDIT_FILL, .name = "output_norm.weight", .f = 2.5F}, {EDIT_END}};
    struct told told = compare(twos, more);
    assert_int_equal(told.n, 1);
    assert_int_equal(told.items[0].kind, KS_DIFFERENCE_TENSOR);
    assert_true(told.items[0].values);
    assert_int_equal(told.items[0].unequal, 64);
    assert_true(told.items[0].rms_relative == 0.25);
    assert_true(told.items[0].max_abs == 0.5);
}

static void one_value_of_many_is_found(void **state)
{
    (void)state;
    const struct edit poked[] = {{EDIT_POKE, .name = "blk.1.ffn_up.weight", .u = 63, .f = -6},
                                 {EDIT_END}};
    struct told told = compare(none, poked);
    assert_int_equal(told.n, 1);
    assert_string_equal(told.names[0], "blk.1.ffn_up.weight");
    assert_int_equal(told.items[0].unequal, 1);
    assert_true(fabs(told.items[0].max_abs - 6) < 1); /* what stood there is small */
}

static void what_is_not_finite_or_against_nothing_is_said_so(void **state)
{
    (void)state;
    const struct edit zero[] = {{EDIT_FILL, .name = "output_norm.weight", .f = 0}, {EDIT_END}};
    const struct edit one[] = {{EDIT_FILL, .name = "output_norm.weight", .f = 1}, {EDIT_END}};
    const struct edit nan[] = {{EDIT_FILL, .name = "output_norm.weight", .f = NAN}, {EDIT_END}};
    const struct edit minus[] = {{EDIT_FILL, .name = "output_norm.weight", .f = -0.0F}, {EDIT_END}};
    assert_true(isinf(compare(zero, one).items[0].rms_relative));
    assert_true(isnan(compare(one, nan).items[0].rms_relative));
    assert_int_equal(compare(nan, nan).n, 0);
    struct told told = compare(zero, minus);
    assert_int_equal(told.n, 1); /* other bytes, though equal in value */
    assert_true(told.items[0].unequal == 0 && told.items[0].rms_relative == 0);
}

static void shapes_and_names_differ_without_values(void **state)
{
    (void)state;
    const struct edit edits[] = {
        {EDIT_RENAME_TENSOR, .name = "blk.0.attn_k.weight", .text = "blk.0.other.weight"},
        {EDIT_RESHAPE, .name = "blk.0.ffn_up.weight", .u = 32, .rows = 160},
        {EDIT_END}};
    struct told told = compare(none, edits);
    assert_int_equal(told.n, 3);
    for (size_t i = 0; i < told.n; i++) {
        assert_int_equal(told.items[i].kind, KS_DIFFERENCE_TENSOR);
        assert_false(told.items[i].values);
    }
    assert_int_equal(told.items[2].a, KS_NOWHERE);
    assert_string_equal(told.names[2], "blk.0.other.weight");
}

static void tokenizers_are_told_as_a_run_would(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_SET_STRING, .name = "tokenizer.ggml.pre", .text = "qwen2"},
                                 {EDIT_END}};
    const struct edit broken[] = {{EDIT_SET_STRING, .name = "tokenizer.ggml.model", .text = "bert"},
                                  {EDIT_END}};
    struct told told = compare(none, edits);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.items[1].kind, KS_DIFFERENCE_TOKENIZER);
    assert_non_null(strstr(told.text, "smollm"));
    assert_non_null(strstr(told.text, "qwen2"));
    told = compare(none, broken);
    assert_int_equal(told.n, 2);
    assert_non_null(strstr(told.text, "bert"));
    assert_int_equal(compare(broken, broken).n, 0);
}

static int refuse(void *ctx, const struct ks_difference *d, struct ks_error *err)
{
    (void)ctx, (void)d;
    return ks_fail(err, KS_CANCELLED, "enough");
}

static void who_listens_may_end_it(void **state)
{
    (void)state;
    struct ks_error err = {0};
    size_t n = 77;
    struct ks_model *a = open_sample("gemma2"), *b = open_sample("gemma3");
    assert_int_equal(ks_model_diff(a, b, refuse, NULL, &n, &err), -1);
    assert_int_equal(err.code, KS_CANCELLED);
    assert_int_equal(n, 77);
    ks_model_unref(a);
    ks_model_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_does_not_differ_from_its_copy),
        cmocka_unit_test(a_key_differs_by_value_by_type_and_by_being_there),
        cmocka_unit_test(values_are_told_relative_to_those_of_the_first),
        cmocka_unit_test(one_value_of_many_is_found),
        cmocka_unit_test(what_is_not_finite_or_against_nothing_is_said_so),
        cmocka_unit_test(shapes_and_names_differ_without_values),
        cmocka_unit_test(tokenizers_are_told_as_a_run_would),
        cmocka_unit_test(who_listens_may_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/testing.h"

#include <string.h>

#include "engine/quant/mix/mix.h"

/* A small untied model of two layers, as it lies in a file. */
static const struct ks_mix_tensor tensors[] = {
    {"token_embd.weight", KS_F16, 2, {256, 320}},
    {"blk.0.attn_norm.weight", KS_F32, 1, {256}},
    {"blk.0.attn_q.weight", KS_F16, 2, {256, 256}},
    {"blk.0.attn_v.weight", KS_F16, 2, {256, 256}},
    {"blk.0.attn_output.weight", KS_F16, 2, {256, 256}},
    {"blk.0.ffn_down.weight", KS_F16, 2, {736, 256}},
    {"blk.1.attn_q.weight", KS_F16, 2, {256, 256}},
    {"blk.1.Attn_V.weight", KS_F16, 2, {256, 256}},
    {"output_norm.weight", KS_F32, 1, {256}},
    {"output.weight", KS_F16, 2, {256, 320}},
};
enum { N = sizeof tensors / sizeof *tensors };

static const struct ks_mix_model model = {
    .architecture = "llama", .layers = 2, .heads = 4, .kv_heads = 4};
static const struct ks_mix_model tied = {
    .architecture = "llama", .layers = 2, .heads = 4, .kv_heads = 4, .tied = true};

struct outcome {
    int failed, warnings;
    enum ks_type types[N];
    struct ks_error err;
    char warning[1024]; /* the last */
};

static void keep_warning(void *ctx, const char *text)
{
    struct outcome *o = ctx;
    o->warnings++;
    snprintf(o->warning, sizeof o->warning, "%s", text);
}

static struct outcome run(const char *preset, bool ordered, const struct ks_mix_override *overrides,
                          size_t n)
{
    struct ks_mix mix = {
        .preset = preset, .overrides = overrides, .n_overrides = n, .ordered = ordered};
    struct outcome o = {0};
    o.failed = ks_mix_resolve(&mix, &model, tensors, N, o.types, keep_warning, &o, &o.err);
    return o;
}

static struct outcome run_one(const char *regex, const char *type)
{
    const struct ks_mix_override one = {regex, type};
    return run(NULL, false, &one, 1);
}

static enum ks_type type_of(const struct outcome *o, const char *name)
{
    for (size_t i = 0; i < N; i++)
        if (strcmp(tensors[i].name, name) == 0)
            return o->types[i];
    fail_msg("no tensor %s", name);
    return KS_F32;
}

static void assert_refused(const struct outcome *o, const char *essential)
{
    assert_int_equal(o->failed, -1);
    assert_int_equal(o->err.code, KS_BAD_INPUT);
    if (!strstr(o->err.text, essential))
        fail_msg("\"%s\" is not in \"%s\"", essential, o->err.text);
}

static void overrides_alone_leave_the_rest_as_it_is(void **state)
{
    (void)state;
    struct outcome o = run_one("blk\\.0\\..*", "q2_k");
    assert_int_equal(o.failed, 0);
    assert_int_equal(o.warnings, 0);
    assert_int_equal(type_of(&o, "blk.0.attn_q.weight"), KS_Q2_K);
    assert_int_equal(type_of(&o, "blk.0.attn_norm.weight"), KS_F32);
    assert_int_equal(type_of(&o, "blk.1.attn_q.weight"), KS_F16);
    assert_int_equal(type_of(&o, "token_embd.weight"), KS_F16);
}

static void an_overridden_tensor_falls_back_by_its_shape(void **state)
{
    (void)state;
    struct outcome o = run_one("ffn_down", "Q2_K");
    assert_int_equal(type_of(&o, "blk.0.ffn_down.weight"), KS_Q4_0);
}

static void expressions_match_anywhere_in_the_lowered_name(void **state)
{
    (void)state;
    struct outcome o = run_one("1\\.attn_v", "Q8_0");
    assert_int_equal(o.failed, 0);
    assert_int_equal(type_of(&o, "blk.1.Attn_V.weight"), KS_Q8_0);
    o = run_one("Attn_V", "Q8_0");
    assert_refused(&o, "`Attn_V`: matches no tensor");
}

static void overrides_apply_under_presets_of_floats_too(void **state)
{
    (void)state;
    const struct ks_mix_override one = {"attn_q", "Q8_0"};
    struct outcome o = run("BF16", false, &one, 1);
    assert_int_equal(type_of(&o, "blk.0.attn_q.weight"), KS_Q8_0);
    assert_int_equal(type_of(&o, "output.weight"), KS_BF16);
    assert_int_equal(type_of(&o, "output_norm.weight"), KS_F32);
}

static void the_first_of_a_list_wins(void **state)
{
    (void)state;
    const struct ks_mix_override two[] = {{"blk\\.0", "Q8_0"}, {"attn_q", "Q6_K"}};
    struct outcome o = run(NULL, true, two, 2);
    assert_int_equal(o.failed, 0);
    assert_int_equal(o.warnings, 0);
    assert_int_equal(type_of(&o, "blk.0.attn_q.weight"), KS_Q8_0);
    assert_int_equal(type_of(&o, "blk.1.attn_q.weight"), KS_Q6_K);
}

static void two_keyed_patterns_on_one_tensor_are_refused(void **state)
{
    (void)state;
    const struct ks_mix_override two[] = {{"blk\\.0", "Q8_0"}, {"attn_q", "Q6_K"}};
    struct outcome o = run(NULL, false, two, 2);
    assert_refused(&o, "`blk\\.0` and `attn_q` both match tensor blk.0.attn_q.weight");
    assert_refused(&o, "list of {regex, type} pairs");
}

static void a_pattern_that_matches_nothing_is_refused(void **state)
{
    (void)state;
    struct outcome o = run_one("atn_q", "Q8_0");
    assert_refused(&o, "override `atn_q`: matches no tensor of the model");
    o = run_one("norm", "Q8_0");
    assert_refused(&o, "override `norm`: matches only tensors that are never quantized");
    assert_refused(&o, "_norm.weight");
}

static void an_unknown_type_gets_a_suggestion(void **state)
{
    (void)state;
    struct outcome o = run_one("attn_q", "q5k");
    assert_refused(&o, "override `attn_q`: unknown tensor type `q5k`; did you mean `Q5_K`?");
    o = run_one("attn_q", "Q5_K_M");
    assert_refused(&o, "`Q5_K_M` is a preset");
    assert_refused(&o, "`Q5_K`");
    o = run_one("attn_q", "something");
    assert_refused(&o, "unknown tensor type `something`; types are named like");
}

static void a_broken_expression_is_refused_with_its_place(void **state)
{
    (void)state;
    struct outcome o = run_one("attn_(q", "Q8_0");
    assert_refused(&o, "override `attn_(q`: not a regular expression, at offset 7");
}

static void an_expression_that_backtracks_without_end_is_given_up(void **state)
{
    (void)state;
    static char name[200];
    memset(name, 'a', sizeof name - 3);
    strcat(name, "cb");
    struct ks_mix_tensor t = {name, KS_F16, 2, {256, 256}};
    struct ks_mix_override one = {"^(a|aa|aaa)*b", "Q8_0"};
    struct ks_mix mix = {.overrides = &one, .n_overrides = 1};
    struct outcome o = {0};
    o.failed = ks_mix_resolve(&mix, &model, &t, 1, o.types, NULL, NULL, &o.err);
    assert_refused(&o, "gave up on tensor aaa");
    assert_refused(&o, "match limit");
}

static void output_that_hits_attn_output_too_is_warned_of(void **state)
{
    (void)state;
    struct outcome o = run_one("output", "Q8_0");
    assert_int_equal(o.failed, 0);
    assert_int_equal(type_of(&o, "blk.0.attn_output.weight"), KS_Q8_0);
    assert_int_equal(type_of(&o, "output.weight"), KS_Q8_0);
    assert_int_equal(o.warnings, 1);
    assert_non_null(strstr(o.warning, "matches blk.0.attn_output.weight as well as output.weight"));
    o = run_one("attn_output", "Q8_0");
    assert_int_equal(o.warnings, 0);
    o = run_one("^output\\.weight$", "Q8_0");
    assert_int_equal(o.warnings, 0);
}

static void output_in_a_tied_model_is_warned_of(void **state)
{
    (void)state;
    struct ks_mix_override one = {"output", "Q8_0"};
    struct ks_mix mix = {.overrides = &one, .n_overrides = 1};
    struct outcome o = {0};
    o.failed = ks_mix_resolve(&mix, &tied, tensors, N - 1, o.types, keep_warning, &o, &o.err);
    assert_int_equal(o.failed, 0);
    assert_int_equal(o.warnings, 1);
    assert_non_null(strstr(o.warning, "this model's head is token_embd.weight"));
}

static void a_pattern_behind_another_is_warned_of(void **state)
{
    (void)state;
    const struct ks_mix_override two[] = {{"attn", "Q8_0"}, {"attn_q", "Q6_K"}};
    struct outcome o = run(NULL, true, two, 2);
    assert_int_equal(o.failed, 0);
    assert_int_equal(o.warnings, 1);
    assert_non_null(strstr(o.warning, "`attn_q`: an earlier pattern takes every tensor"));
}

static void an_override_to_what_cannot_be_made_is_refused_with_its_tensor(void **state)
{
    (void)state;
    struct outcome o = run_one("blk\\.1\\.attn_q", "q1_0");
    assert_int_equal(o.failed, -1);
    assert_int_equal(o.err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(o.err.text, "tensor blk.1.attn_q.weight would be Q1_0"));
}

static void columns_no_type_fits_are_refused_with_their_tensor(void **state)
{
    (void)state;
    struct ks_mix_tensor t = {"blk.0.ffn_up.weight", KS_F16, 2, {100, 8}};
    struct ks_mix_override one = {"ffn_up", "Q8_0"};
    struct ks_mix mix = {.overrides = &one, .n_overrides = 1};
    struct outcome o = {0};
    o.failed = ks_mix_resolve(&mix, &model, &t, 1, o.types, NULL, NULL, &o.err);
    assert_refused(&o, "tensor blk.0.ffn_up.weight: 100 columns are no multiple of 32");
    one.type = "Q4_K";
    o.failed = ks_mix_resolve(&mix, &model, &t, 1, o.types, NULL, NULL, &o.err);
    assert_int_equal(o.failed, 0);
    assert_int_equal(o.types[0], KS_F16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overrides_alone_leave_the_rest_as_it_is),
        cmocka_unit_test(an_overridden_tensor_falls_back_by_its_shape),
        cmocka_unit_test(expressions_match_anywhere_in_the_lowered_name),
        cmocka_unit_test(overrides_apply_under_presets_of_floats_too),
        cmocka_unit_test(the_first_of_a_list_wins),
        cmocka_unit_test(two_keyed_patterns_on_one_tensor_are_refused),
        cmocka_unit_test(a_pattern_that_matches_nothing_is_refused),
        cmocka_unit_test(an_unknown_type_gets_a_suggestion),
        cmocka_unit_test(a_broken_expression_is_refused_with_its_place),
        cmocka_unit_test(an_expression_that_backtracks_without_end_is_given_up),
        cmocka_unit_test(output_that_hits_attn_output_too_is_warned_of),
        cmocka_unit_test(output_in_a_tied_model_is_warned_of),
        cmocka_unit_test(a_pattern_behind_another_is_warned_of),
        cmocka_unit_test(an_override_to_what_cannot_be_made_is_refused_with_its_tensor),
        cmocka_unit_test(columns_no_type_fits_are_refused_with_their_tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

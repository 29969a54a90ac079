/* What is said of a model's architecture. */
#include "tests/engine/model/samples.h"

#include "tests/engine/model/edit.h"

struct expected {
    const char *sample, *trait, *text;
};

static const struct expected lines[] = {
    {"llama-tied", "attention", "all positions"},
    {"llama-tied", "scales", "scores by 0.25"},
    {"gemma3", "attention", "the last 16 positions (layers 0-4, 6); all positions (layer 5)"},
    {"gemma3", "rope",
     "base 1000000 over 32 dimensions, halves paired; with a window base 10000 over 32 dimensions"},
    {"gemma3", "norm",
     "RMS, epsilon 1e-06, before the blocks, behind the blocks, of q and k by head"},
    {"gemma2", "scales", "embedding by 8, scores by 0.25, logits capped at 8"},
    {"smollm3", "rope", "base 2000000 over 16 dimensions, adjacent pairs; none in layer 3"},
    {"mistral3", "rope",
     "base 1000000 over 32 dimensions, YaRN scaling by 4 from 32 positions, adjacent pairs"},
    {"llama-rope-linear", "rope",
     "base 10000 over 16 dimensions, linear scaling by 4, adjacent pairs"},
    {"llama-rope-llama3", "rope",
     "base 10000 over 16 dimensions, adjacent pairs, frequencies divided by rope_freqs"},
    {"phi3-long", "rope",
     "base 10000 over 8 dimensions, halves paired, frequencies divided by factors, others beyond "
     "32 positions"},
    {"phi2", "norm", "LayerNorm, epsilon 1e-05, one before attention and MLP side by side"},
    {"stablelm", "norm", "LayerNorm, epsilon 1e-05, before the blocks"},
    {"stablelm-parallel", "norm",
     "LayerNorm, epsilon 1e-05, one before attention and MLP side by side, of q and k by head, "
     "each its own"},
    {"olmo2", "norm", "RMS, epsilon 1e-05, behind the blocks, of q and k as a whole"},
    {"nemotron", "mlp", "squared ReLU"},
    {"gpt-oss", "mlp", "clamped SiLU gate; 2 of 4 experts of 64 each"},
    {"gpt-oss", "attention",
     "the last 16 positions (layer 0); all positions (layer 1); a sink beside each head's "
     "scores"},
    {"qwen2moe", "mlp", "SiLU gate; 3 of 6 experts of 40 each; a shared expert of 72"},
    {"gemma4-experts", "attention",
     "the last 16 positions (layers 0, 2); all positions (layers 1, 3); heads of 16 (layers 0, "
     "2); heads of 32 (layers 1, 3)"},
    {"gemma4-experts", "norm",
     "RMS, epsilon 1e-06, before the blocks, behind the blocks, of q and k by head, of v by head "
     "without a gain"},
    {"gemma4-experts", "mlp",
     "GELU gate; 2 of 4 experts of 24 each; a dense MLP of 80 beside them"},
    {"lfm2", "attention", "short convolution (layers 0, 2); all positions (layer 1)"},
    {"qwen35", "attention", "gated delta net (layers 0-2); all positions (layer 3); gated"},
};

static void check_line(const struct ks_model *m, const struct expected *e)
{
    const char *name;
    char text[256];
    for (size_t i = 0; ks_model_trait(m, i, &name, text, sizeof text); i++) {
        if (strcmp(name, e->trait) != 0)
            continue;
        assert_string_equal(text, e->text);
        return;
    }
    fail_msg("%s: nothing is said of %s", e->sample, e->trait);
}

static void an_architecture_is_told_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct ks_model *m = open_sample(lines[i].sample);
        check_line(m, &lines[i]);
        ks_model_unref(m);
    }
}

static void a_granite_may_switch_its_rope_off(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_SET_FALSE, .name = "granite.rope.scaling.finetuned"},
                                 {EDIT_END}};
    struct ks_model *m = open_model(edited(sample_path("granite", "gguf"), edits), NULL);
    check_line(m, &(struct expected){"granite", "rope", "none in layers 0-1"});
    ks_model_unref(m);
    edit_finish();
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("gemma3");
    const char *name;
    char text[10];
    assert_true(ks_model_trait(m, 0, &name, text, sizeof text));
    assert_string_equal(text, "the last ");
    assert_false(ks_model_trait(m, 0, &name, text, 0));
    ks_model_unref(m);
}

static void nothing_is_told_of_a_model_that_cannot_be_computed(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_SET_STRING, .name = "general.architecture", .text = "mamba"},
                                 {EDIT_END}};
    struct ks_error err;
    struct ks_model *m = ks_model_peek(edited(sample_path("gemma3", "gguf"), edits), NULL, &err);
    const char *name;
    char text[64];
    assert_non_null(m);
    assert_false(ks_model_trait(m, 0, &name, text, sizeof text));
    ks_model_unref(m);
    edit_finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_architecture_is_told_in_words),
        cmocka_unit_test(a_granite_may_switch_its_rope_off),
        cmocka_unit_test(what_does_not_fit_is_cut),
        cmocka_unit_test(nothing_is_told_of_a_model_that_cannot_be_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whole vocabularies of other kinds, against llama.cpp's ids. */
#include "tests/engine/text/expected.h"
#include "tests/engine/text/files.h"

static void check_model(const char *file, const char *kind)
{
    char path[128];
    snprintf(path, sizeof path, "text/%s", file);
    struct ks_error err;
    struct ks_gguf *g = open_file(path);
    struct ks_tokenizer *t = ks_tokenizer_create(g, NULL, &err);
    if (!t)
        fail_msg("%s", err.text);
    ks_gguf_close(g);
    json_t *expected = read_json("text/model-expected.json");
    json_t *strings = read_json("text/strings.json");
    check_all_strings(t, json_object_get(expected, file), strings, file);
    assert_string_equal(ks_tokenizer_kind(t), kind);
    json_decref(expected);
    json_decref(strings);
    ks_tokenizer_destroy(t);
}

static void sentencepiece_with_a_space_prefix(void **state)
{
    (void)state;
    check_model("spm-1000.gguf", "spm");
}

static void sentencepiece_without_a_space_prefix(void **state)
{
    (void)state;
    check_model("spm-1000-nospace.gguf", "spm");
}

static void sentencepiece_with_user_defined_runs_as_gemma_has(void **state)
{
    (void)state;
    check_model("spm-gemma-like-1000.gguf", "spm");
}

static void gemma_4_merges_over_utf_8(void **state)
{
    (void)state;
    check_model("bpe-gemma4.gguf", "gemma4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentencepiece_with_a_space_prefix),
        cmocka_unit_test(sentencepiece_without_a_space_prefix),
        cmocka_unit_test(sentencepiece_with_user_defined_runs_as_gemma_has),
        cmocka_unit_test(gemma_4_merges_over_utf_8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Byte-level BPE: every known pre, against llama.cpp's ids. */
#include "tests/engine/text/expected.h"

#include "engine/text/split/pre.h"
#include "tests/engine/text/files.h"

static struct ks_gguf *vocabulary;
static json_t *expected, *strings;

static int open_files(void **state)
{
    (void)state;
    vocabulary = open_file("text/bpe-2048.gguf");
    expected = read_json("text/bpe-expected.json");
    strings = read_json("text/strings.json");
    return 0;
}

static int close_files(void **state)
{
    (void)state;
    ks_gguf_close(vocabulary);
    json_decref(expected);
    json_decref(strings);
    return 0;
}

static void ids_are_those_of_the_oracle(void **state)
{
    const char *name = *(const char **)*state;
    const json_t *want = json_object_get(expected, name);
    assert_non_null(want);
    const char *same = json_string_value(json_object_get(want, "same_as"));
    if (same)
        want = json_object_get(expected, same);
    struct ks_error err;
    struct ks_tokenizer *t = ks_tokenizer_create(vocabulary, name, &err);
    if (!t)
        fail_msg("%s", err.text);
    check_all_strings(t, want, strings, name);
    ks_tokenizer_destroy(t);
}

static void every_pre_of_the_oracle_is_known(void **state)
{
    (void)state;
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(expected, name, value)
    {
        if (!ks_pre_find(name, strlen(name)))
            fail_msg("%s is not known", name);
        n++;
    }
    assert_null(ks_pre_at(n));
    assert_non_null(ks_pre_at(n - 1));
}

int main(void)
{
    static struct CMUnitTest tests[256];
    static char names[256][96];
    static const char *pres[256];
    size_t n = 0;
    for (; ks_pre_at(n); n++) {
        pres[n] = ks_pre_at(n)->name;
        snprintf(names[n], sizeof names[n], "pre_%s_gives_the_ids_of_llama_cpp", pres[n]);
        tests[n] = (struct CMUnitTest){
            .name = names[n], .test_func = ids_are_those_of_the_oracle, .initial_state = &pres[n]};
    }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_pre_of_the_oracle_is_known);
    return _cmocka_run_group_tests("bpe", tests, n, open_files, close_files);
}

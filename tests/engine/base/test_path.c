#include "tests/testing.h"

#include "engine/base/path.h"

static void the_file_stands_behind_the_last_slash(void **state)
{
    (void)state;
    assert_string_equal(ks_path_file("models/a.b/x.gguf"), "x.gguf");
    assert_string_equal(ks_path_file("x.gguf"), "x.gguf");
    assert_string_equal(ks_path_file("models/"), "");
}

static void a_stem_is_the_file_without_its_ending(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"models/x.gguf", "x"}, {"a.b/name", "name"}, {"x.tar.gz", "x.tar"},
        {".hidden", ".hidden"}, {"dir/.x.lua", ".x"}, {"dir/", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *stem = ks_path_stem(cases[i][0]);
        assert_string_equal(stem, cases[i][1]);
        free(stem);
    }
}

static void endings_are_found_in_any_case(void **state)
{
    (void)state;
    assert_true(ks_path_ends("A.TXT", ".txt"));
    assert_true(ks_path_ends(".txt", ".txt"));
    assert_false(ks_path_ends("txt", ".txt"));
    assert_false(ks_path_ends("a.txt.gz", ".txt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_stands_behind_the_last_slash),
        cmocka_unit_test(a_stem_is_the_file_without_its_ending),
        cmocka_unit_test(endings_are_found_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

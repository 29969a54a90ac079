#include "tests/testing.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/caches.h"
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

static void caches_lie_where_xdg_says(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"/x", "/home/a", "/x/kldscope"},
        {"x", "/home/a", "/home/a/.cache/kldscope"},
        {"", "/home/a", "/home/a/.cache/kldscope"},
        {"/x", "", "/x/kldscope"},
    };
    struct ks_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("XDG_CACHE_HOME", cases[i][0], 1);
        setenv("HOME", cases[i][1], 1);
        char *folder = ks_caches_folder(&err);
        assert_string_equal(folder, cases[i][2]);
        free(folder);
    }
    setenv("XDG_CACHE_HOME", "x", 1);
    setenv("HOME", "y", 1);
    assert_null(ks_caches_folder(&err));
    assert_non_null(strstr(err.text, "XDG_CACHE_HOME"));
}

static void a_folder_is_made_with_those_it_lies_in(void **state)
{
    (void)state;
    char top[] = "/tmp/kldscope-path-XXXXXX", path[64], file[96];
    struct stat st;
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/a/b", top);
    assert_int_equal(ks_caches_make(path), 0);
    assert_int_equal(ks_caches_make(path), 0);
    assert_true(stat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    snprintf(file, sizeof file, "%s/file", path);
    fclose(fopen(file, "w"));
    snprintf(file, sizeof file, "%s/file/below", path);
    assert_int_equal(ks_caches_make(file), -1);
    snprintf(file, sizeof file, "%s/file", path);
    unlink(file);
    rmdir(path);
    snprintf(path, sizeof path, "%s/a", top);
    rmdir(path);
    rmdir(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_stands_behind_the_last_slash),
        cmocka_unit_test(a_stem_is_the_file_without_its_ending),
        cmocka_unit_test(endings_are_found_in_any_case),
        cmocka_unit_test(caches_lie_where_xdg_says),
        cmocka_unit_test(a_folder_is_made_with_those_it_lies_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

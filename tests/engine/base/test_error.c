#include "tests/testing.h"

#include <errno.h>
#include <string.h>

#include "engine/base/error.h"

static void fills_code_and_text(void **state)
{
    (void)state;
    struct ks_error err = {0};
    assert_int_equal(ks_fail(&err, KS_BAD_INPUT, "%s: line %d", "a.lua", 7), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_string_equal(err.text, "a.lua: line 7");
}

static void tells_what_the_system_said(void **state)
{
    (void)state;
    struct ks_error err = {0};
    errno = ENOENT;
    ks_fail_errno(&err, "%s", "x.gguf");
    assert_int_equal(err.code, KS_SYSTEM);
    assert_string_equal(err.text, "x.gguf: No such file or directory");
}

static void puts_the_callers_place_in_front(void **state)
{
    (void)state;
    struct ks_error err = {0};
    ks_fail(&err, KS_UNSUPPORTED, "type Q9 is not known");
    ks_fail_prefix(&err, "%s", "m.gguf");
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_string_equal(err.text, "m.gguf: type Q9 is not known");
}

static void puts_advice_behind(void **state)
{
    (void)state;
    struct ks_error err = {0};
    ks_fail(&err, KS_BAD_INPUT, "x.gguf: key a is missing");
    assert_int_equal(ks_fail_advice(&err, "convert the model again"), -1);
    assert_string_equal(err.text, "x.gguf: key a is missing; convert the model again");
    assert_int_equal(err.code, KS_BAD_INPUT);
}

static void cuts_long_text_and_shows_it(void **state)
{
    (void)state;
    struct ks_error err = {0};
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ks_fail(&err, KS_BAD_INPUT, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
    ks_fail_prefix(&err, "%s", longer);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_code_and_text),
        cmocka_unit_test(tells_what_the_system_said),
        cmocka_unit_test(puts_the_callers_place_in_front),
        cmocka_unit_test(puts_advice_behind),
        cmocka_unit_test(cuts_long_text_and_shows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

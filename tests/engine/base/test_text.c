#include "tests/testing.h"

#include <string.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

static void control_characters_become_spaces(void **state)
{
    (void)state;
    char text[] = "a\nb\tc\033[2Jd\177e\xC2\x9B"
                  "2Jf\xC2\xA0g\xC3\xA9";
    ks_text_one_line(text);
    assert_string_equal(text, "a b c [2Jd e  2Jf\xC2\xA0g\xC3\xA9");
}

static void printable_is_utf_8_without_controls(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "plain ~", "\xC3\xA9", "\xE2\x96\x81", "\xF0\x9F\x98\x80", "\xC2\xA0"};
    static const char *const bad[] = {
        "\n",       "\033",         "\177",         "\xC2\x9B",
        "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xC3",     "\x80",         "a\xFF",        "\xE2\x96"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(ks_text_printable(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(ks_text_printable(bad[i]));
}

/* A model file whose architecture is "\033]0;x\a" must not set somebody's window title. */
static void errors_are_one_line_whatever_they_quote(void **state)
{
    (void)state;
    struct ks_error err;
    ks_fail(&err, KS_BAD_INPUT, "%s: what a name\n", "a\033]0;x\a");
    assert_string_equal(err.text, "a ]0;x : what a name ");
    ks_fail_prefix(&err, "%s", "file\r");
    assert_string_equal(err.text, "file : a ]0;x : what a name ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_become_spaces),
        cmocka_unit_test(printable_is_utf_8_without_controls),
        cmocka_unit_test(errors_are_one_line_whatever_they_quote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

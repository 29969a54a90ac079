/* Reports whose memory runs out at every point there is. */
#include "tests/testing.h"

#include <jansson.h>

#include "tests/engine/report/sample.h"
#include "tests/failing_memory.h"

/* Makes the report with ever more memory until it succeeds; returns how often it did not. */
static long failures(const struct ks_snapshot *s, bool json)
{
    for (long left = 0;; left++) {
        struct ks_error err = {0};
        allocations_left = left;
        char *text = json ? ks_report_json(s, true, &err) : ks_report_table(s, 100, &err);
        allocations_left = -1;
        if (text) {
            assert_int_equal(err.code, KS_OK);
            free(text);
            return left;
        }
        assert_int_equal(err.code, KS_NO_MEMORY);
    }
}

static void a_table_without_memory_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    assert_in_range(failures(&s.snapshot, false), 20, 200);
}

static void json_without_memory_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.arm_facts[Q8].name = "\xFF";
    json_set_alloc_funcs(__wrap_malloc, free); /* jansson is a shared library */
    assert_in_range(failures(&s.snapshot, true), 500, 2000);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_without_memory_is_an_error),
        cmocka_unit_test(json_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

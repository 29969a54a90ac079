#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/engine.h"

struct seen {
    size_t n;
    char group[16];
};

static void see(void *ctx, const struct ks_bench_row *row)
{
    struct seen *s = ctx;
    assert_string_equal(row->group, s->group);
    assert_true(row->name[0] && row->unit[0]);
    assert_true(isfinite(row->value) && row->value > 0.0);
    assert_true(isnan(row->limit) == !row->limit_name);
    s->n++;
}

static void a_group_asked_for_is_measured_alone(void **state)
{
    (void)state;
    struct seen s = {0, "limits"};
    struct ks_error err;
    assert_int_equal(ks_bench("limits", NULL, 2, see, &s, &err), 0);
    assert_int_equal(s.n, 3);
}

static void an_unknown_group_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    struct seen s = {0};
    struct ks_error err;
    assert_int_equal(ks_bench("matmull", NULL, 1, see, &s, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "matmull"));
    assert_non_null(strstr(err.text, "attention"));
    assert_int_equal(s.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_asked_for_is_measured_alone),
        cmocka_unit_test(an_unknown_group_is_refused_with_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

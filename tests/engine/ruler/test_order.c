#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/ruler/order.h"
#include "engine/ruler/tally.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Many zeros, a few infinities, the rest all over the place. */
static double draw(uint64_t *seed)
{
    uint64_t kind = ks_random_below(seed, 10);
    if (kind < 3)
        return 0;
    if (kind == 3)
        return (double)ks_random_below(seed, 5);
    if (kind == 4 && ks_random_below(seed, 20) == 0)
        return INFINITY;
    return ldexp((double)(ks_random_next(seed) >> 11), -60);
}

static void hundred_values_have_the_ranks_of_the_convention(void **state)
{
    (void)state;
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = (i * 37 % 100) / 100.0;
    assert_true(ks_quantile(values, 100, 0.5) == 0.49);
    assert_true(ks_quantile(values, 100, 0.99) == 0.98);
    assert_true(ks_quantile(values, 100, 1) == 0.99);
    assert_true(ks_quantile(values, 100, 0) == 0);
}

static void seven_values_have_the_ranks_of_the_convention(void **state)
{
    (void)state;
    double values[] = {6, 2, 4, 0, 5, 1, 3};
    assert_true(ks_quantile(values, 7, 0.5) == 3);
    assert_true(ks_quantile(values, 7, 0.99) == 6);
    assert_true(ks_quantile(values, 7, 1) == 6);
    assert_true(ks_quantile(values, 7, 0) == 0);
}

static void nearest_ranks_are_exact_for_the_quantiles_we_report(void **state)
{
    (void)state;
    /* in thousandths, so that ceil(q n) can be had in integers */
    static const size_t thousandths[] = {500, 900, 950, 990, 999};
    static const double q[] = {0.5, 0.9, 0.95, 0.99, 0.999};
    for (size_t n = 1; n < 100000; n += n < 3000 ? 1 : 997) {
        for (int i = 0; i < 5; i++)
            assert_int_equal(ks_nearest_rank(q[i], n), (n * thousandths[i] + 999) / 1000);
    }
    assert_int_equal(ks_nearest_rank(NAN, 5), 1);
    assert_int_equal(ks_nearest_rank(2, 5), 5);
}

static void selecting_agrees_with_sorting(void **state)
{
    (void)state;
    uint64_t seed = 21;
    double values[500], sorted[500];
    for (size_t n = 1; n <= 500; n += 7) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = values[i] = draw(&seed);
        qsort(sorted, n, sizeof *sorted, ascending);
        for (double q = 0; q <= 1; q += 0.125)
            assert_true(ks_quantile(values, n, q) == sorted[ks_nearest_rank(q, n) - 1]);
    }
}

static void equal_and_sorted_values_do_not_make_selecting_slow(void **state)
{
    (void)state;
    size_t n = 1 << 20; /* quadratic time would be hours */
    double *values = malloc(n * sizeof *values);
    memset(values, 0, n * sizeof *values);
    assert_true(ks_quantile(values, n, 0.99) == 0);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)i;
    assert_true(ks_quantile(values, n, 0.5) == (double)(n / 2 - 1));
    free(values);
}

static void piles_know_the_ranks_of_all_their_values_at_any_time(void **state)
{
    (void)state;
    enum { MOST = 30000, PILES = 3 };
    static const double q[] = {0, 0.001, 0.5, 0.9, 0.99, 0.999, 1};
    double *all = malloc(MOST * sizeof *all), *batch = malloc(MOST * sizeof *batch), found[7];
    struct ks_order piles[PILES] = {0};
    struct ks_error err;
    uint64_t seed = 22;
    size_t n = 0;
    for (int round = 0; round < 120; round++) {
        struct ks_order *pile = &piles[ks_random_below(&seed, PILES)];
        size_t more = ks_random_below(&seed, round % 10 ? 200 : 1000);
        for (size_t i = 0; i < more; i++)
            all[n + i] = batch[i] = draw(&seed);
        assert_int_equal(ks_order_reserve(pile, more, &err), 0);
        ks_order_add(pile, batch, more);
        n += more;
        assert_true(n < MOST);
        qsort(all, n, sizeof *all, ascending);
        if (n == 0)
            continue;
        assert_int_equal(ks_order_quantiles(piles, PILES, q, 7, found, &err), 0);
        for (int i = 0; i < 7; i++)
            assert_true(found[i] == all[ks_nearest_rank(q[i], n) - 1]);
        for (int p = 0; p < PILES; p++)
            assert_in_range(piles[p].n_runs, 0, 16); /* lengths double */
    }
    for (int p = 0; p < PILES; p++)
        ks_order_finish(&piles[p]);
    free(all);
    free(batch);
}

static void too_many_values_are_refused(void **state)
{
    (void)state;
    struct ks_order pile = {0};
    struct ks_error err;
    assert_int_equal(ks_order_reserve(&pile, SIZE_MAX - 5, &err), -1);
    assert_int_equal(err.code, KS_NO_MEMORY);
    ks_order_finish(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hundred_values_have_the_ranks_of_the_convention),
        cmocka_unit_test(seven_values_have_the_ranks_of_the_convention),
        cmocka_unit_test(nearest_ranks_are_exact_for_the_quantiles_we_report),
        cmocka_unit_test(selecting_agrees_with_sorting),
        cmocka_unit_test(equal_and_sorted_values_do_not_make_selecting_slow),
        cmocka_unit_test(piles_know_the_ranks_of_all_their_values_at_any_time),
        cmocka_unit_test(too_many_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

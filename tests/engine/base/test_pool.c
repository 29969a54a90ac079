#include "tests/testing.h"

#include <stdatomic.h>

#include "engine/base/pool.h"

struct counting {
    atomic_int hits[1000];
    atomic_int bad_worker;
    int threads;
};

static void count(void *ctx, size_t i, int worker)
{
    struct counting *c = ctx;
    atomic_fetch_add(&c->hits[i], 1);
    if (worker < 0 || worker >= c->threads)
        atomic_store(&c->bad_worker, 1);
}

static void every_index_runs_once_for_any_thread_count(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 7};
    for (size_t t = 0; t < 3; t++) {
        struct ks_error err;
        struct ks_pool *pool = ks_pool_create(threads[t], &err);
        assert_non_null(pool);
        assert_int_equal(ks_pool_threads(pool), threads[t]);
        struct counting c = {.threads = threads[t]};
        for (size_t n = 0; n <= 1000; n += 37)
            ks_pool_for(pool, n, count, &c);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(c.hits[i], 27 - i / 37); /* the loops with n = 37 j > i, j <= 27 */
        assert_int_equal(c.bad_worker, 0);
        ks_pool_destroy(pool);
    }
}

static void no_threads_is_refused(void **state)
{
    (void)state;
    struct ks_error err;
    assert_null(ks_pool_create(0, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
}

static void at_least_one_thread_is_allowed(void **state)
{
    (void)state;
    assert_true(ks_threads_allowed() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_runs_once_for_any_thread_count),
        cmocka_unit_test(no_threads_is_refused),
        cmocka_unit_test(at_least_one_thread_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

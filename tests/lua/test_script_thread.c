#include "tests/testing.h"

#include <stdatomic.h>
#include <time.h>

#include "lua/script/thread.h"

/* What a thread owns here: jobs read what to do from it. */
struct owner {
    struct ks_script_thread *thread;
    int count;
    int busy_ms;
    bool clock_stopped, was_late;
    atomic_bool let_go;
    atomic_int *freed;
};

static void sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static void free_owner(void *ctx)
{
    struct owner *o = ctx;
    atomic_fetch_add(o->freed, 1);
    free(o);
}

static struct owner *start(atomic_int *freed)
{
    struct ks_error err;
    struct owner *o = calloc(1, sizeof *o);
    assert_non_null(o);
    o->freed = freed;
    o->thread = ks_script_thread_create(o, free_owner, &err);
    assert_non_null(o->thread);
    return o;
}

static void count(void *ctx)
{
    struct owner *o = ctx;
    o->count++;
}

static void be_busy(void *ctx)
{
    struct owner *o = ctx;
    if (o->clock_stopped)
        ks_script_thread_stop_clock(o->thread);
    sleep_ms(o->busy_ms);
    if (o->clock_stopped)
        ks_script_thread_start_clock(o->thread);
    o->was_late = ks_script_thread_late(o->thread);
}

static void be_stuck(void *ctx)
{
    struct owner *o = ctx;
    while (!atomic_load(&o->let_go))
        sleep_ms(1);
}

static void jobs_run_one_after_another_and_the_owner_is_freed(void **state)
{
    (void)state;
    atomic_int freed = 0;
    struct owner *o = start(&freed);
    for (int i = 0; i < 1000; i++)
        assert_true(ks_script_thread_run(o->thread, count, 10000));
    assert_int_equal(o->count, 1000);
    ks_script_thread_destroy(o->thread);
    assert_int_equal(freed, 1);
    ks_script_thread_destroy(NULL);
}

static void a_job_can_tell_that_it_is_late(void **state)
{
    (void)state;
    atomic_int freed = 0;
    struct owner *o = start(&freed);
    o->busy_ms = 0;
    assert_true(ks_script_thread_run(o->thread, be_busy, 60000));
    assert_false(o->was_late);
    o->busy_ms = 1005; /* within the tenth of grace that a busy machine may eat up */
    if (ks_script_thread_run(o->thread, be_busy, 1000)) {
        assert_true(o->was_late);
        ks_script_thread_destroy(o->thread);
    }
}

static void time_with_the_clock_stopped_does_not_count(void **state)
{
    (void)state;
    atomic_int freed = 0;
    struct owner *o = start(&freed);
    o->clock_stopped = true;
    o->busy_ms = 700;
    assert_true(ks_script_thread_run(o->thread, be_busy, 500));
    assert_false(o->was_late);
    ks_script_thread_destroy(o->thread);
}

static void an_abandoned_thread_frees_what_it_owns_if_it_ever_ends(void **state)
{
    (void)state;
    atomic_int freed = 0;
    struct owner *o = start(&freed);
    atomic_bool *let_go = &o->let_go; /* the test's only way to end the job, and only that */
    assert_false(ks_script_thread_run(o->thread, be_stuck, 50));
    assert_int_equal(freed, 0);
    atomic_store(let_go, true);
    for (int i = 0; i < 10000 && atomic_load(&freed) == 0; i++)
        sleep_ms(1);
    assert_int_equal(freed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_one_after_another_and_the_owner_is_freed),
        cmocka_unit_test(a_job_can_tell_that_it_is_late),
        cmocka_unit_test(time_with_the_clock_stopped_does_not_count),
        cmocka_unit_test(an_abandoned_thread_frees_what_it_owns_if_it_ever_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

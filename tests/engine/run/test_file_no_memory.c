/* Memory that runs out while a run file is read, and while two are joined. */
#include "tests/testing.h"

#include "tests/failing_memory.h"

#include "tests/engine/run/plans.h"

static char file_path[] = "/tmp/kldscope-run-XXXXXX.kld";

static struct ks_plan *plan_into_file(bool resume)
{
    struct ks_plan *plan = make_plan(1, 128);
    add_arm(plan, "layer", "blk\\.1\\.attn_", "Q4_0");
    set(&plan->out, file_path);
    plan->resume = resume;
    return plan;
}

/* Every allocation of ours fails once; SQLite's are its own library's, and stay. */
static void reading_is_an_error_until_there_is_memory(void **state)
{
    (void)state;
    ks_snapshot_release(run_to_end(plan_into_file(false)));
    long failures = 0;
    for (;; failures++) {
        struct ks_error err = {0};
        atomic_store(&allocations_left, failures);
        struct ks_saved *saved = ks_saved_open(file_path, &err);
        bool ran_out = atomic_load(&allocations_left) == 0;
        atomic_store(&allocations_left, -1);
        if (!saved) {
            assert_int_equal(err.code, KS_NO_MEMORY);
            continue;
        }
        const struct ks_snapshot *s = ks_saved_snapshot(saved);
        assert_int_equal(s->state, KS_RUN_DONE);
        ks_snapshot_release(s);
        ks_saved_close(saved);
        if (!ran_out)
            break;
    }
    assert_true(failures > 20);
    unlink(file_path);
}

static bool goes_on(void *ctx, size_t done, size_t n)
{
    (void)ctx;
    return done <= n;
}

static void joining_leaves_no_file_until_there_is_memory(void **state)
{
    (void)state;
    char joined[sizeof file_path + 8], second[sizeof file_path + 8];
    snprintf(joined, sizeof joined, "%s.joined", file_path);
    snprintf(second, sizeof second, "%s.second", file_path);
    for (uint32_t i = 1; i <= 2; i++) {
        struct ks_plan *plan = plan_into_file(false);
        plan->shard = (struct ks_shard){i, 2};
        free(plan->out);
        set(&plan->out, i == 1 ? file_path : second);
        ks_snapshot_release(run_to_end(plan));
    }
    const char *const from[] = {file_path, second};
    const struct ks_making_hooks hooks = {.progress = goes_on};
    long failures = 0;
    for (bool ran_out = true; ran_out; failures++) {
        struct ks_error err = {0};
        atomic_store(&allocations_left, failures);
        int failed = ks_merge(from, 2, joined, &hooks, &err);
        ran_out = atomic_load(&allocations_left) == 0;
        atomic_store(&allocations_left, -1);
        assert_int_equal(err.code, failed ? KS_NO_MEMORY : KS_OK);
        assert_int_equal(unlink(joined) == 0, !failed);
    }
    assert_true(failures > 20);
    unlink(file_path);
    unlink(second);
}

static int prepare(void **state)
{
    (void)state;
    write_corpus();
    int fd = mkstemps(file_path, 4);
    return fd < 0 ? -1 : close(fd) || unlink(file_path);
}

static int clean(void **state)
{
    (void)state;
    return unlink(corpus_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_is_an_error_until_there_is_memory),
        cmocka_unit_test(joining_leaves_no_file_until_there_is_memory),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}

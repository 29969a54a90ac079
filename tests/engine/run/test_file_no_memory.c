/* Memory that runs out while a run file is read. */
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
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}

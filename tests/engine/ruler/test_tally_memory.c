/* A tally whose memory runs out at every point there is, and who carries on after each. */
#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/ruler/tally.h"
#include "tests/failing_memory.h"

enum { WINDOWS = 90, LENGTH = 40 };

static void fill(struct ks_ref_row *ref, struct ks_arm_row *arm, int window)
{
    for (int i = 0; i < LENGTH; i++) {
        ref[i] = (struct ks_ref_row){.measurement = true, .logprob = -1 - i, .n_top = 10};
        arm[i] = (struct ks_arm_row){.measurement = true, .logprob = -2 - i, .overlap = 9};
        arm[i].kld = ((window * 31 + i * 17) % 101) / 50.0;
    }
}

static int add(struct ks_tally *t, int window, struct ks_error *err)
{
    struct ks_ref_row ref[LENGTH];
    struct ks_arm_row arm[LENGTH];
    const int32_t offsets[LENGTH] = {0};
    fill(ref, arm, window);
    struct ks_tally_window w = {(uint32_t)window % 2, (uint32_t)window, offsets};
    return ks_tally_add(t, &w, ref, arm, LENGTH, err);
}

/* Every call that needs memory fails first at its first allocation, then at its second ..., until
 * it succeeds. Returns how often it failed. */
static int rule_with_failures(bool failures, struct ks_numbers *out)
{
    struct ks_error err;
    struct ks_tally *t = NULL;
    int failed = 0;
    for (long left = 0; !t; left++) {
        allocations_left = failures ? left : -1;
        t = ks_tally_create(2, WINDOWS, WINDOWS * LENGTH, &err);
        failed += !t;
    }
    for (int w = 0; w < WINDOWS; w++) {
        int rc = -1;
        for (long left = 0; rc; left++) {
            allocations_left = failures ? left : -1;
            rc = add(t, w, &err);
            if (rc)
                assert_int_equal(err.code, KS_NO_MEMORY);
            failed += rc != 0;
        }
    }
    int rc = -1;
    for (long left = 0; rc; left++) {
        allocations_left = failures ? left : -1;
        rc = ks_tally_read(t, out, &err);
        failed += rc != 0;
    }
    allocations_left = -1;
    ks_tally_destroy(t);
    return failed;
}

static void running_out_of_memory_is_an_error_that_changes_nothing(void **state)
{
    (void)state;
    struct ks_corpus_numbers corpora[2][2];
    float trend[2][WINDOWS];
    struct ks_numbers a = {.corpora = corpora[0], .trend = trend[0]};
    struct ks_numbers b = {.corpora = corpora[1], .trend = trend[1]};
    assert_int_equal(rule_with_failures(false, &a), 0);
    assert_in_range(rule_with_failures(true, &b), 20, 1000);
    assert_memory_equal(corpora[0], corpora[1], sizeof corpora[0]);
    assert_memory_equal(trend[0], trend[1], sizeof trend[0]);
    b.corpora = a.corpora;
    b.trend = a.trend;
    assert_memory_equal(&a, &b, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_out_of_memory_is_an_error_that_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

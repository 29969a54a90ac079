/* Shards: that their join is one run's file to the bit, and that what is no whole is refused. */
#include "tests/testing.h"

#include <fcntl.h>

#include "engine/runfile/runfile.h"
#include "tests/engine/run/plans.h"

enum { WINDOW = 64, FILES = 4 };

static char folder[] = "/tmp/kldscope-merge-XXXXXX";
static char paths[FILES][64]; /* of shards; the last is what comes of them */
#define OUT paths[FILES - 1]

static struct ks_plan *plan_of(uint32_t number, uint32_t of)
{
    struct ks_plan *plan = make_plan(2, WINDOW);
    add_usual_arms(plan);
    plan->shard = (struct ks_shard){number, of};
    return plan;
}

static const struct ks_snapshot *run_into(struct ks_plan *plan, const char *path)
{
    set(&plan->out, path);
    return run_to_end(plan);
}

static void run_shards(uint32_t of)
{
    for (uint32_t i = 1; i <= of; i++)
        ks_snapshot_release(run_into(plan_of(i, of), paths[i - 1]));
}

static bool goes_on(void *ctx, size_t done, size_t n)
{
    (void)ctx;
    (void)done;
    (void)n;
    return true;
}

static bool stops(void *ctx, size_t done, size_t n)
{
    (void)ctx;
    return done < n / 2;
}

static const char *const first_two[] = {paths[0], paths[1]};

static void merge_fails(const char *const *from, size_t n, const char *const words[])
{
    struct ks_error err = {0};
    struct ks_making_hooks hooks = {.progress = goes_on};
    assert_int_equal(ks_merge(from, n, OUT, &hooks, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    for (int i = 0; words[i]; i++)
        if (!strstr(err.text, words[i]))
            fail_msg("\"%s\" lacks \"%s\"", err.text, words[i]);
    assert_int_not_equal(access(OUT, F_OK), 0);
}

static const struct ks_snapshot *merged(size_t n)
{
    struct ks_error err;
    struct ks_making_hooks hooks = {.progress = goes_on};
    const char *from[FILES];
    for (size_t i = 0; i < n; i++)
        from[i] = paths[n - 1 - i]; /* the order of files is nobody's business */
    if (ks_merge(from, n, OUT, &hooks, &err))
        fail_msg("%s", err.text);
    struct ks_saved *saved = ks_saved_open(OUT, &err);
    if (!saved)
        fail_msg("%s", err.text);
    const struct ks_snapshot *s = ks_saved_snapshot(saved);
    ks_saved_close(saved);
    return s;
}

static void assert_same_json(const struct ks_snapshot *a, const struct ks_snapshot *b)
{
    struct ks_error err;
    char *json_a = ks_report_json(a, false, &err), *json_b = ks_report_json(b, false, &err);
    assert_string_equal(json_a, json_b);
    free(json_a);
    free(json_b);
}

static int remove_files(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++)
        unlink(paths[i]);
    return 0;
}

/* ------------------------------------------------------------------ what is joined */

static void joined_shards_are_one_run_to_the_bit(void **state)
{
    (void)state;
    const struct ks_snapshot *whole = run_to_end(plan_of(0, 0));
    for (uint32_t of = 1; of <= 3; of++) {
        run_shards(of);
        const struct ks_snapshot *s = merged(of);
        assert_same_results(whole, s);
        assert_same_json(whole, s);
        assert_int_equal(s->tokens, whole->tokens);
        ks_snapshot_release(s);
        remove_files(state);
    }
    ks_snapshot_release(whole);
}

static void the_worst_positions_of_all_are_those_of_one_run(void **state)
{
    (void)state;
    struct ks_error err;
    size_t n[2];
    struct ks_runfile_worst *worst[2];
    run_shards(2);
    ks_snapshot_release(merged(2));
    ks_snapshot_release(run_into(plan_of(0, 0), paths[2]));
    for (int i = 0; i < 2; i++) {
        struct ks_runfile *f = ks_runfile_open(i ? OUT : paths[2], &err);
        assert_non_null(f);
        worst[i] = calloc(KS_RUNFILE_WORST, sizeof *worst[i]);
        assert_int_equal(ks_runfile_read_worst(f, 1, worst[i], &n[i], &err), 0);
        ks_runfile_close(f);
    }
    assert_int_equal(n[0], KS_RUNFILE_WORST);
    assert_int_equal(n[1], KS_RUNFILE_WORST);
    assert_memory_equal(worst[0], worst[1], n[0] * sizeof *worst[0]);
    free(worst[0]);
    free(worst[1]);
}

static void stop_after_two(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    (void)ctx;
    if (now->windows == 2)
        ks_run_stop(run, "long enough");
}

static void a_shard_goes_on_like_a_run(void **state)
{
    (void)state;
    const struct ks_snapshot *whole = run_to_end(plan_of(0, 0));
    run_shards(2);
    unlink(paths[1]);
    struct ks_plan *plan = plan_of(2, 2);
    plan->hooks.on_window = stop_after_two;
    const struct ks_snapshot *s = run_into(plan, paths[1]);
    assert_int_equal(s->state, KS_RUN_STOPPED);
    ks_snapshot_release(s);
    merge_fails(first_two, 2, (const char *[]){paths[1], "shard 2/2 has 2 of", "--resume", NULL});
    plan = plan_of(2, 2);
    plan->resume = true;
    ks_snapshot_release(run_into(plan, paths[1]));
    s = merged(2);
    assert_same_json(whole, s);
    ks_snapshot_release(s);
    ks_snapshot_release(whole);
}

static void a_shard_tells_that_it_is_one(void **state)
{
    (void)state;
    struct ks_error err;
    const struct ks_snapshot *s = run_to_end(plan_of(2, 3));
    char words[80], *json = ks_report_json(s, false, &err), *table = ks_report_table(s, 0, &err);
    assert_true(s->positions < s->facts->n && s->windows < s->facts->all_windows);
    assert_int_equal(s->windows, (s->facts->all_windows - 2) / 3 + 1);
    assert_non_null(strstr(json, "\"shard\""));
    snprintf(words, sizeof words, "its %zu of %zu windows alone", s->windows,
             s->facts->all_windows);
    assert_non_null(strstr(table, words));
    free(json);
    free(table);
    ks_snapshot_release(s);
}

/* ------------------------------------------------------------------ what is refused */

static void windows_in_both_files_are_refused(void **state)
{
    (void)state;
    run_shards(2);
    const char *const twice[] = {paths[0], paths[1], paths[0]};
    merge_fails(twice, 3, (const char *[]){"window 1 is in both", paths[0], NULL});
}

static void missing_shards_are_named(void **state)
{
    (void)state;
    run_shards(3);
    const char *const only[] = {paths[1]};
    merge_fails(only, 1, (const char *[]){"in none of the files", "1/3, 3/3", NULL});
    merge_fails(first_two, 2, (const char *[]){"of shard 3/3", NULL});
}

static void other_manifests_are_refused_by_name(void **state)
{
    (void)state;
    ks_snapshot_release(run_into(plan_of(1, 2), paths[0]));
    struct ks_plan *plan = plan_of(2, 2);
    plan->seed = 7;
    ks_snapshot_release(run_into(plan, paths[1]));
    merge_fails(first_two, 2,
                (const char *[]){paths[0], paths[1],
                                 "the seed is 0 in the first and 7 in the second", NULL});
    unlink(paths[1]);
    plan = plan_of(2, 2);
    free(plan->arms[1].overrides[0].type);
    set(&plan->arms[1].overrides[0].type, "Q4_0");
    ks_snapshot_release(run_into(plan, paths[1]));
    merge_fails(first_two, 2,
                (const char *[]){"an arm, number 2 (all)", "recipe is", "Q8_0", "Q4_0", NULL});
}

static void drop_at_two(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    (void)ctx;
    if (now->windows == 2)
        ks_run_drop(run, 2, "hopeless");
}

static void an_arm_that_a_shard_dropped_is_refused(void **state)
{
    (void)state;
    struct ks_error err;
    ks_snapshot_release(run_into(plan_of(1, 2), paths[0]));
    struct ks_plan *plan = plan_of(2, 2);
    plan->hooks.on_window = drop_at_two;
    const struct ks_snapshot *s = run_into(plan, paths[1]);
    merge_fails(first_two, 2,
                (const char *[]){paths[1], "layer", "dropped after 2", "hopeless", NULL});
    struct ks_saved *saved = ks_saved_open(paths[1], &err); /* and is as the run told it */
    assert_non_null(saved);
    const struct ks_snapshot *again = ks_saved_snapshot(saved);
    assert_same_json(s, again);
    assert_int_equal(again->arms[2].numbers.n_trend, 2);
    ks_snapshot_release(again);
    ks_snapshot_release(s);
    ks_saved_close(saved);
}

static void a_file_that_is_written_is_refused(void **state)
{
    (void)state;
    struct ks_error err;
    bool fresh;
    run_shards(2);
    struct ks_runfile *writer = ks_runfile_resume(paths[1], &fresh, &err);
    assert_non_null(writer);
    merge_fails(first_two, 2, (const char *[]){paths[1], "another process is writing", NULL});
    ks_runfile_close(writer);
}

static void a_file_that_is_there_is_not_overwritten(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_making_hooks hooks = {.progress = goes_on};
    run_shards(2);
    close(open(OUT, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(ks_merge(first_two, 2, OUT, &hooks, &err), -1);
    assert_non_null(strstr(err.text, OUT));
    assert_non_null(strstr(err.text, "already"));
    assert_int_equal(access(OUT, F_OK), 0);
}

static void an_interrupt_leaves_no_file(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_making_hooks hooks = {.progress = stops};
    run_shards(2);
    assert_int_equal(ks_merge(first_two, 2, OUT, &hooks, &err), -1);
    assert_int_equal(err.code, KS_CANCELLED);
    assert_int_not_equal(access(OUT, F_OK), 0);
}

/* Flips that are not noticed lie in what nobody reads; then the join is as if they were not. */
static void a_damaged_shard_is_an_error_or_changes_nothing(void **state)
{
    (void)state;
    struct ks_error err;
    size_t len, refused = 0, flips = 24;
    struct ks_making_hooks hooks = {.progress = goes_on};
    const struct ks_snapshot *whole = run_to_end(plan_of(0, 0));
    run_shards(2);
    char *bytes = test_read_file(paths[1], &len);
    uint64_t random = 5;
    for (size_t i = 0; i < flips; i++) {
        size_t at = (size_t)ks_random_below(&random, len);
        int fd = open(paths[1], O_WRONLY);
        char flipped = (char)(bytes[at] ^ (1 << ks_random_below(&random, 8)));
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
        if (ks_merge(first_two, 2, OUT, &hooks, &err)) {
            refused++;
            if (!strstr(err.text, paths[1]))
                fail_msg("\"%s\" names another file", err.text);
            assert_int_not_equal(access(OUT, F_OK), 0);
        } else {
            unlink(OUT);
            const struct ks_snapshot *s = merged(2);
            assert_same_json(whole, s);
            ks_snapshot_release(s);
            unlink(OUT);
        }
        assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t)at), 1);
        close(fd);
    }
    assert_true(refused > flips / 3);
    print_message("# %zu of %zu flips refused\n", refused, flips);
    free(bytes);
    ks_snapshot_release(whole);
}

static void a_shard_without_a_window_is_refused(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_run *run = ks_run_create(plan_of(900, 1000), &err);
    assert_non_null(run);
    assert_int_equal(ks_run_start(run, &err), 0);
    assert_int_equal(ks_run_join(run, &err), -1);
    assert_non_null(strstr(err.text, "shard 900/1000"));
    ks_run_destroy(run);
    assert_null(ks_run_create(plan_of(3, 2), &err));
    assert_non_null(strstr(err.text, "1/2 to 2/2"));
}

static int make_folder(void **state)
{
    (void)state;
    write_corpus();
    if (!mkdtemp(folder))
        return -1;
    for (int i = 0; i < FILES; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%c.kld", folder, 'a' + i);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(corpus_path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(joined_shards_are_one_run_to_the_bit, remove_files),
        cmocka_unit_test_teardown(the_worst_positions_of_all_are_those_of_one_run, remove_files),
        cmocka_unit_test_teardown(a_shard_goes_on_like_a_run, remove_files),
        cmocka_unit_test_teardown(a_shard_tells_that_it_is_one, remove_files),
        cmocka_unit_test_teardown(windows_in_both_files_are_refused, remove_files),
        cmocka_unit_test_teardown(missing_shards_are_named, remove_files),
        cmocka_unit_test_teardown(other_manifests_are_refused_by_name, remove_files),
        cmocka_unit_test_teardown(an_arm_that_a_shard_dropped_is_refused, remove_files),
        cmocka_unit_test_teardown(a_file_that_is_written_is_refused, remove_files),
        cmocka_unit_test_teardown(a_file_that_is_there_is_not_overwritten, remove_files),
        cmocka_unit_test_teardown(an_interrupt_leaves_no_file, remove_files),
        cmocka_unit_test_teardown(a_damaged_shard_is_an_error_or_changes_nothing, remove_files),
        cmocka_unit_test_teardown(a_shard_without_a_window_is_refused, remove_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* Run files: that nothing of a run is lost, and that a file that is not whole is never believed. */
#include "tests/testing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "engine/runfile/runfile.h"
#include "tests/engine/run/plans.h"

enum { WINDOW = 64 };

static char file_path[] = "/tmp/kldscope-run-XXXXXX/a.kld";
static char copy_path[] = "/tmp/kldscope-run-XXXXXX/b.kld";

static struct ks_plan *plan_into(const char *path, bool resume)
{
    struct ks_plan *plan = make_plan(2, WINDOW);
    add_usual_arms(plan);
    set(&plan->out, path);
    plan->resume = resume;
    return plan;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(file_path);
    unlink(copy_path);
    return 0;
}

static const struct ks_snapshot *saved_snapshot(const char *path)
{
    struct ks_error err;
    struct ks_saved *saved = ks_saved_open(path, &err);
    if (!saved)
        fail_msg("%s", err.text);
    const struct ks_snapshot *s = ks_saved_snapshot(saved);
    ks_saved_close(saved);
    return s;
}

static char *json_of(const struct ks_snapshot *s)
{
    struct ks_error err;
    char *json = ks_report_json(s, false, &err);
    if (!json)
        fail_msg("%s", err.text);
    return json;
}

static void assert_same_json(const struct ks_snapshot *a, const struct ks_snapshot *b)
{
    char *json_a = json_of(a), *json_b = json_of(b);
    assert_string_equal(json_a, json_b);
    free(json_a);
    free(json_b);
}

static void fails_with(struct ks_plan *plan, const char *const words[])
{
    struct ks_error err;
    struct ks_run *run = ks_run_create(plan, &err);
    if (run && ks_run_start(run, &err) == 0 && ks_run_join(run, &err) == 0)
        fail_msg("the run was not refused");
    ks_run_destroy(run);
    for (int i = 0; words[i]; i++)
        if (!strstr(err.text, words[i]))
            fail_msg("\"%s\" lacks \"%s\"", err.text, words[i]);
}

/* ------------------------------------------------------------------ what a run leaves */

static void a_file_tells_what_the_run_told(void **state)
{
    (void)state;
    const struct ks_snapshot *run = run_to_end(plan_into(file_path, false));
    const struct ks_snapshot *saved = saved_snapshot(file_path);
    assert_same_results(run, saved);
    assert_same_json(run, saved);
    struct ks_error err;
    char *table = ks_report_table(run, 0, &err), *again = ks_report_table(saved, 0, &err);
    assert_string_equal(table, again);
    free(table);
    free(again);
    for (size_t t = 0; t < run->facts->arms[1].n_types; t++)
        assert_string_equal(run->facts->arms[1].types[t], saved->facts->arms[1].types[t]);
    assert_true(saved->n_log > 0 && strstr(saved->log[saved->n_log - 1].text, "windows done"));
    assert_int_equal(saved->elapsed_ns, run->elapsed_ns);
    ks_snapshot_release(run);
    ks_snapshot_release(saved);
}

static void a_finished_run_is_one_file(void **state)
{
    (void)state;
    char journal[sizeof file_path + 8];
    ks_snapshot_release(run_to_end(plan_into(file_path, false)));
    static const char *const endings[] = {"-wal", "-shm", "-journal"};
    for (int i = 0; i < 3; i++) {
        snprintf(journal, sizeof journal, "%s%s", file_path, endings[i]);
        assert_int_not_equal(access(journal, F_OK), 0);
    }
}

static void a_file_that_is_there_is_not_overwritten(void **state)
{
    (void)state;
    ks_snapshot_release(run_to_end(plan_into(file_path, false)));
    fails_with(plan_into(file_path, false),
               (const char *[]){file_path, "already", "--resume", NULL});
    ks_snapshot_release(saved_snapshot(file_path));
}

static void a_run_that_never_began_leaves_no_file(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_into(file_path, false);
    free(plan->corpora[0].paths[0]);
    plan->corpora[0].paths[0] = strdup("/nowhere/words.txt");
    fails_with(plan, (const char *[]){"words.txt", "No such file", NULL});
    assert_int_not_equal(access(file_path, F_OK), 0);
}

/* Log-probabilities of a list fall, and where the target is in it, its own is that. */
static void assert_good_list(const struct ks_runfile_worst *w, const int32_t *top,
                             const float *logprob, double of_target)
{
    assert_int_equal(w->n_top, 10);
    for (int i = 0; i < w->n_top; i++) {
        assert_true(logprob[i] <= (i ? logprob[i - 1] : 0));
        if (top[i] == w->target)
            assert_true(logprob[i] == (float)of_target);
    }
}

/* Counts the positions of an arm with a larger KLD than `kld`. */
static size_t count_worse(struct ks_runfile *f, size_t arm, double kld)
{
    struct ks_error err;
    struct ks_runfile_window w;
    size_t n = 0;
    bool there = true;
    for (size_t id = 0; there; id++) {
        const struct ks_arm_row *rows;
        bool scored;
        assert_int_equal(ks_runfile_read_window(f, id, 10, &w, &there, &err), 0);
        if (!there)
            break;
        assert_int_equal(ks_runfile_read_scores(f, id, arm, w.n, &rows, &scored, &err), 0);
        for (size_t i = 0; i < w.n; i++)
            n += rows[i].kld > kld;
    }
    return n;
}

static void the_worst_positions_are_kept_with_both_top_lists(void **state)
{
    (void)state;
    struct ks_error err;
    size_t n;
    struct ks_runfile_worst *worst = calloc(KS_RUNFILE_WORST, sizeof *worst);
    ks_snapshot_release(run_to_end(plan_into(file_path, false)));
    struct ks_runfile *f = ks_runfile_open(file_path, &err);
    assert_non_null(f);
    assert_int_equal(ks_runfile_read_worst(f, 0, worst, &n, &err), 0);
    assert_int_equal(n, 0); /* the arm that is the reference */
    assert_int_equal(ks_runfile_read_worst(f, 1, worst, &n, &err), 0);
    assert_int_equal(n, KS_RUNFILE_WORST);
    size_t worse = 0;
    for (size_t i = 0; i < n; i++)
        worse += worst[i].kld > worst[n - 1].kld;
    assert_int_equal(count_worse(f, 1, worst[n - 1].kld), worse); /* none of those is missing */
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || worst[i].kld <= worst[i - 1].kld);
        assert_good_list(&worst[i], worst[i].ref_top, worst[i].ref_top_logprob,
                         worst[i].ref_logprob);
        assert_good_list(&worst[i], worst[i].arm_top, worst[i].arm_top_logprob,
                         worst[i].arm_logprob);
    }
    ks_runfile_close(f);
    free(worst);
}

/* ------------------------------------------------------------------ going on */

/* A hook that ends the run after so many windows, and one that drops an arm. */
struct steering {
    size_t stop_after, drop_after, calls;
};

static void steer(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    struct steering *s = ctx;
    s->calls++;
    if (s->drop_after && now->windows == s->drop_after)
        ks_run_drop(run, 2, "hopeless");
    if (s->stop_after && now->windows == s->stop_after)
        ks_run_stop(run, "long enough");
}

static const struct ks_snapshot *steered(struct steering *s, bool resume)
{
    struct ks_plan *plan = plan_into(file_path, resume);
    plan->hooks.ctx = s;
    plan->hooks.on_window = steer;
    return run_to_end(plan);
}

static void a_stopped_run_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    const struct ks_snapshot *whole = run_to_end(plan_into(copy_path, false));
    const size_t stops[] = {1, 2, 7, 20};
    for (size_t i = 0; i < 4; i++) {
        struct steering first = {.stop_after = stops[i]};
        const struct ks_snapshot *s = steered(&first, i > 0);
        assert_int_equal(s->state, KS_RUN_STOPPED);
        assert_int_equal(s->windows, stops[i]);
        const struct ks_snapshot *saved = saved_snapshot(file_path);
        assert_same_json(s, saved);
        ks_snapshot_release(s);
        ks_snapshot_release(saved);
    }
    const struct ks_snapshot *s = run_to_end(plan_into(file_path, true));
    assert_same_results(whole, s);
    assert_same_json(whole, s);
    const struct ks_snapshot *saved = saved_snapshot(file_path);
    assert_same_json(whole, saved);
    ks_snapshot_release(saved);
    ks_snapshot_release(whole);
    ks_snapshot_release(s);
}

static void going_on_with_a_finished_run_tells_it_again(void **state)
{
    (void)state;
    const struct ks_snapshot *first = run_to_end(plan_into(file_path, false));
    const struct ks_snapshot *again = run_to_end(plan_into(file_path, true));
    assert_same_json(first, again);
    ks_snapshot_release(first);
    ks_snapshot_release(again);
}

static void going_on_with_nothing_is_a_beginning(void **state)
{
    (void)state;
    const struct ks_snapshot *first = run_to_end(plan_into(file_path, true));
    assert_int_equal(first->state, KS_RUN_DONE);
    close(open(copy_path, O_CREAT | O_WRONLY, 0600)); /* killed before anything was written */
    const struct ks_snapshot *second = run_to_end(plan_into(copy_path, true));
    assert_same_json(first, second);
    ks_snapshot_release(first);
    ks_snapshot_release(second);
}

/* A hook sees each window once, in a run that was taken up again too, and what it dropped stays
 * dropped after the same window. */
static void a_dropped_arm_stays_dropped(void **state)
{
    (void)state;
    struct steering s = {.drop_after = 5, .stop_after = 9};
    ks_snapshot_release(steered(&s, false));
    s = (struct steering){.drop_after = 5};
    const struct ks_snapshot *hooked = steered(&s, true);
    assert_int_equal(s.calls, hooked->facts->windows);
    assert_int_equal(hooked->arms[2].state, KS_ARM_DROPPED);
    assert_int_equal(hooked->arms[2].numbers.n_trend, 5);
    const struct ks_snapshot *alone = run_to_end(plan_into(file_path, true)); /* without the hook */
    assert_same_json(hooked, alone);
    const struct ks_snapshot *saved = saved_snapshot(file_path);
    assert_same_json(hooked, saved);
    assert_string_equal(saved->arms[2].why, "hopeless");
    ks_snapshot_release(saved);
    ks_snapshot_release(hooked);
    ks_snapshot_release(alone);
}

static struct ks_plan *other_plan(int which)
{
    struct ks_plan *plan = plan_into(file_path, true);
    switch (which) {
    case 0:
        plan->window = WINDOW + 1;
        plan->context_min = WINDOW / 2;
        break;
    case 1:
        plan->seed = 7;
        break;
    case 2:
        free(plan->corpora[1].name);
        plan->corpora[1].name = strdup("other");
        break;
    case 3:
        free(plan->arms[1].overrides[0].type);
        plan->arms[1].overrides[0].type = strdup("Q4_0");
        break;
    case 4:
        plan->top_k = 5;
        break;
    default:
        add_arm(plan, "more", "attn_", "Q8_0");
    }
    return plan;
}

static void what_the_file_was_not_made_of_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const words[][6] = {
        {"the window is 64 in the file and 65 now", NULL},
        {"the seed is 0 in the file and 7 now", NULL},
        {"a corpus, number 2 (second)", "the name is second in the file and other now", NULL},
        {"an arm, number 2 (all)", "recipe is", "Q8_0", "Q4_0", NULL},
        {"the top_k is 10 in the file and 5 now", NULL},
        {"the number of arms is 4 in the file and 5 now", NULL},
    };
    struct steering s = {.stop_after = 3};
    const struct ks_snapshot *before = steered(&s, false);
    for (int i = 0; i < 6; i++) {
        fails_with(other_plan(i), words[i]);
        fails_with(other_plan(i), (const char *[]){file_path, "--out", NULL});
    }
    const struct ks_snapshot *after = saved_snapshot(file_path);
    assert_same_json(before, after);
    ks_snapshot_release(before);
    ks_snapshot_release(after);
}

static void a_second_writer_is_refused(void **state)
{
    (void)state;
    struct ks_error err;
    ks_snapshot_release(run_to_end(plan_into(file_path, false)));
    bool fresh;
    struct ks_runfile *first = ks_runfile_resume(file_path, &fresh, &err);
    assert_non_null(first);
    assert_false(fresh);
    fails_with(plan_into(file_path, true), (const char *[]){file_path, "another process", NULL});
    ks_runfile_close(first);
    ks_snapshot_release(run_to_end(plan_into(file_path, true)));
}

static const struct ks_snapshot *follow(struct ks_saved *saved)
{
    size_t windows = 0;
    for (;;) {
        struct ks_error err;
        bool news;
        if (ks_saved_refresh(saved, &news, &err))
            fail_msg("%s", err.text);
        const struct ks_snapshot *s = ks_saved_snapshot(saved);
        assert_true(s->windows >= windows);
        windows = s->windows;
        if (s->state >= KS_RUN_DONE && !ks_saved_is_written(saved))
            return s;
        ks_snapshot_release(s);
        usleep(5000);
    }
}

/* The run's process and the reader's are two, as they are in life. */
static void a_reader_follows_a_run_of_another_process(void **state)
{
    (void)state;
    struct ks_error err;
    pid_t writer = fork();
    if (writer == 0) {
        struct ks_run *run = ks_run_create(plan_into(file_path, false), &err);
        _exit(!run || ks_run_start(run, &err) || ks_run_join(run, &err));
    }
    assert_true(writer > 0);
    struct ks_saved *saved = NULL;
    while (!(saved = ks_saved_open(file_path, &err)))
        usleep(2000);
    const struct ks_snapshot *followed = follow(saved);
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    assert_int_equal(followed->state, KS_RUN_DONE);
    const struct ks_snapshot *again = saved_snapshot(file_path);
    assert_same_json(followed, again);
    ks_snapshot_release(followed);
    ks_snapshot_release(again);
    ks_saved_close(saved);
}

/* ------------------------------------------------------------------ files that are not whole */

static void write_file(const char *path, const char *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

static void is_refused(const char *const words[])
{
    struct ks_error err = {0};
    struct ks_saved *saved = ks_saved_open(copy_path, &err);
    assert_null(saved);
    for (int i = 0; words[i]; i++)
        if (!strstr(err.text, words[i]))
            fail_msg("\"%s\" lacks \"%s\"", err.text, words[i]);
    fails_with(plan_into(copy_path, true), words);
}

static void what_is_no_run_file_is_refused_by_name(void **state)
{
    (void)state;
    size_t len;
    ks_snapshot_release(run_to_end(plan_into(file_path, false)));
    char *bytes = test_read_file(file_path, &len);
    write_file(copy_path, "window,kld\n1,0.5\n", 17);
    is_refused((const char *[]){copy_path, "no run file", NULL});
    bytes[68] ^= 1; /* the application's id */
    write_file(copy_path, bytes, len);
    is_refused((const char *[]){copy_path, "a database, but no run file", NULL});
    bytes[68] ^= 1;
    bytes[63] = 9; /* the schema's version */
    write_file(copy_path, bytes, len);
    is_refused((const char *[]){copy_path, "version 9", "up to 1", "newer", NULL});
    unlink(copy_path);
    assert_int_equal(mkdir(copy_path, 0700), 0);
    is_refused((const char *[]){copy_path, NULL});
    rmdir(copy_path);
    struct ks_error err;
    assert_null(ks_saved_open(copy_path, &err));
    assert_non_null(strstr(err.text, "No such file"));
    free(bytes);
}

/* The report of the file at copy_path is `whole`, or there is none. */
static bool reads_as(const char *whole)
{
    struct ks_error err = {0};
    struct ks_saved *saved = ks_saved_open(copy_path, &err);
    if (!saved) {
        assert_true(err.code == KS_BAD_INPUT || err.code == KS_SYSTEM);
        if (!strstr(err.text, copy_path))
            fail_msg("\"%s\" names no file", err.text);
        return false;
    }
    const struct ks_snapshot *s = ks_saved_snapshot(saved);
    char *json = json_of(s);
    if (strcmp(json, whole) != 0)
        fail_msg("a damaged file was believed");
    free(json);
    ks_snapshot_release(s);
    ks_saved_close(saved);
    return true;
}

static void a_truncated_file_is_refused(void **state)
{
    (void)state;
    size_t len;
    const struct ks_snapshot *run = run_to_end(plan_into(file_path, false));
    char *whole = json_of(run), *bytes = test_read_file(file_path, &len);
    for (size_t i = 1; i < 30; i++) {
        write_file(copy_path, bytes, len * i / 30);
        assert_false(reads_as(whole));
    }
    for (size_t cut = 1; cut < 5000; cut += 1500) {
        write_file(copy_path, bytes, len - cut);
        assert_false(reads_as(whole));
    }
    free(whole);
    free(bytes);
    ks_snapshot_release(run);
}

/* Flips that are not noticed lie in what nobody reads: views, free pages, other sessions. */
static void a_flipped_bit_is_an_error_or_changes_nothing(void **state)
{
    (void)state;
    size_t len, refused = 0, flips = 250;
    const struct ks_snapshot *run = run_to_end(plan_into(file_path, false));
    char *whole = json_of(run), *bytes = test_read_file(file_path, &len);
    uint64_t random = 3;
    for (size_t i = 0; i < flips; i++) {
        size_t at = (size_t)ks_random_below(&random, len);
        char mask = (char)(1 << ks_random_below(&random, 8));
        bytes[at] = (char)(bytes[at] ^ mask);
        write_file(copy_path, bytes, len);
        bytes[at] = (char)(bytes[at] ^ mask);
        refused += !reads_as(whole);
    }
    assert_true(refused > flips / 3);
    print_message("# %zu of %zu flips refused\n", refused, flips);
    free(whole);
    free(bytes);
    ks_snapshot_release(run);
}

/* Every checksum holds: it is what the file says that no run writes. */
static void put_after_the_last(const struct ks_runfile_window *window)
{
    struct ks_error err;
    struct ks_arena a = {0};
    struct ks_runfile_progress p;
    bool fresh;
    struct ks_runfile *f = ks_runfile_resume(file_path, &fresh, &err);
    assert_non_null(f);
    assert_int_equal(ks_runfile_begin(f, &err), 0);
    assert_int_equal(ks_runfile_read_progress(f, &a, &p, &err), 0);
    struct ks_runfile_window w = *window;
    w.id = p.windows++;
    assert_int_equal(ks_runfile_put_window(f, &w, &err), 0);
    assert_int_equal(ks_runfile_put_progress(f, &p, &err), 0);
    assert_int_equal(ks_runfile_commit(f, &err), 0);
    ks_runfile_close(f);
    ks_arena_finish(&a);
}

static void more_positions_than_a_run_has_are_damage(void **state)
{
    (void)state;
    enum { MANY = 1 << 14 };
    static const int32_t zeros[MANY + 1];
    static const struct ks_ref_row rows[MANY];
    struct ks_error err = {0};
    struct steering steering = {.stop_after = 2};
    const struct ks_snapshot *s = steered(&steering, false);
    assert_true(s->facts->n < MANY);
    ks_snapshot_release(s);
    put_after_the_last(&(struct ks_runfile_window){
        .rows = MANY, .n = MANY, .tokens = zeros, .offsets = zeros, .ref = rows});
    assert_null(ks_saved_open(file_path, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    if (!strstr(err.text, file_path) || !strstr(err.text, "positions, but only"))
        fail_msg("%s", err.text);
}

static int make_folder(void **state)
{
    (void)state;
    write_corpus();
    char folder[] = "/tmp/kldscope-run-XXXXXX";
    if (!mkdtemp(folder))
        return -1;
    memcpy(file_path, folder, sizeof folder - 1);
    memcpy(copy_path, folder, sizeof folder - 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char folder[sizeof file_path];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(file_path) - strlen("/a.kld")), file_path);
    unlink(corpus_path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(more_positions_than_a_run_has_are_damage, remove_files),
        cmocka_unit_test_teardown(a_file_tells_what_the_run_told, remove_files),
        cmocka_unit_test_teardown(a_finished_run_is_one_file, remove_files),
        cmocka_unit_test_teardown(a_file_that_is_there_is_not_overwritten, remove_files),
        cmocka_unit_test_teardown(a_run_that_never_began_leaves_no_file, remove_files),
        cmocka_unit_test_teardown(the_worst_positions_are_kept_with_both_top_lists, remove_files),
        cmocka_unit_test_teardown(a_stopped_run_goes_on_to_the_same_bits, remove_files),
        cmocka_unit_test_teardown(going_on_with_a_finished_run_tells_it_again, remove_files),
        cmocka_unit_test_teardown(going_on_with_nothing_is_a_beginning, remove_files),
        cmocka_unit_test_teardown(a_dropped_arm_stays_dropped, remove_files),
        cmocka_unit_test_teardown(what_the_file_was_not_made_of_is_refused_by_name, remove_files),
        cmocka_unit_test_teardown(a_second_writer_is_refused, remove_files),
        cmocka_unit_test_teardown(a_reader_follows_a_run_of_another_process, remove_files),
        cmocka_unit_test_teardown(what_is_no_run_file_is_refused_by_name, remove_files),
        cmocka_unit_test_teardown(a_truncated_file_is_refused, remove_files),
        cmocka_unit_test_teardown(a_flipped_bit_is_an_error_or_changes_nothing, remove_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

#include "tests/testing.h"

#include <poll.h>
#include <string.h>

#include "engine/run/board/board.h"

static struct ks_board *make_board(void)
{
    struct ks_error err;
    struct ks_board *b = ks_board_create(&err);
    assert_non_null(b);
    return b;
}

static const struct ks_snapshot *publish(struct ks_board *b)
{
    struct ks_error err;
    struct ks_draft *d = ks_draft_create(&err);
    assert_non_null(d);
    assert_int_equal(ks_board_publish(b, d, &err), 0);
    return ks_board_snapshot(b);
}

static void a_log_keeps_its_newest_lines_and_counts_the_others(void **state)
{
    (void)state;
    struct ks_board *b = make_board();
    for (int i = 0; i < 300; i++)
        ks_board_note(b, KS_LOG_INFO, "line %d", i);
    const struct ks_snapshot *s = publish(b);
    assert_int_equal(s->n_log, 256);
    assert_int_equal(s->log_lost, 44);
    assert_string_equal(s->log[0].text, "line 44");
    assert_string_equal(s->log[255].text, "line 299");
    ks_snapshot_release(s);
    ks_board_destroy(b);
}

static void a_note_is_one_line_whatever_it_quotes(void **state)
{
    (void)state;
    struct ks_board *b = make_board();
    ks_board_note(b, KS_LOG_WARNING, "arm %s", "a\033[2Jb\n");
    const struct ks_snapshot *s = publish(b);
    assert_string_equal(s->log[0].text, "arm a [2Jb ");
    ks_snapshot_release(s);
    ks_board_destroy(b);
}

static void a_snapshot_outlives_its_board_and_never_changes(void **state)
{
    (void)state;
    struct ks_board *b = make_board();
    ks_board_note(b, KS_LOG_INFO, "first");
    const struct ks_snapshot *s = publish(b);
    ks_board_note(b, KS_LOG_INFO, "second");
    const struct ks_snapshot *later = publish(b);
    assert_true(later->serial > s->serial);
    assert_int_equal(later->n_log, 2);
    ks_board_destroy(b);
    assert_int_equal(s->n_log, 1);
    assert_string_equal(s->log[0].text, "first");
    ks_snapshot_release(later);
    ks_snapshot_release(s);
}

static bool wakes(const struct ks_board *b)
{
    struct pollfd fd = {.fd = ks_board_wake_fd(b), .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static void the_descriptor_wakes_for_what_is_newer_alone(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_board *b = make_board();
    assert_false(wakes(b));
    assert_int_equal(ks_board_publish(b, ks_draft_create(&err), &err), 0);
    assert_true(wakes(b));
    ks_snapshot_release(ks_board_snapshot(b));
    assert_false(wakes(b));
    ks_board_destroy(b);
}

static void drops_are_taken_once_and_in_their_order(void **state)
{
    (void)state;
    struct ks_board *b = make_board();
    size_t arm;
    char why[8];
    assert_false(ks_board_next_drop(b, &arm, why, sizeof why));
    ks_board_ask_drop(b, 3, "a long reason");
    ks_board_ask_drop(b, 1, "why");
    assert_true(ks_board_next_drop(b, &arm, why, sizeof why));
    assert_int_equal(arm, 3);
    assert_string_equal(why, "a long ");
    assert_true(ks_board_next_drop(b, &arm, why, sizeof why));
    assert_int_equal(arm, 1);
    assert_string_equal(why, "why");
    assert_false(ks_board_next_drop(b, &arm, why, sizeof why));
    ks_board_destroy(b);
}

/* 64 were once taken, and the others forgotten. */
static void as_many_drops_are_taken_as_are_asked_for_each_arm_once(void **state)
{
    (void)state;
    struct ks_board *b = make_board();
    size_t arm;
    char why[8];
    for (size_t twice = 0; twice < 2; twice++)
        for (size_t i = 0; i < 500; i++)
            ks_board_ask_drop(b, i, twice ? "again" : "first");
    for (size_t i = 0; i < 500; i++) {
        assert_true(ks_board_next_drop(b, &arm, why, sizeof why));
        assert_int_equal(arm, i);
        assert_string_equal(why, "first");
    }
    assert_false(ks_board_next_drop(b, &arm, why, sizeof why));
    const struct ks_snapshot *s = publish(b);
    assert_int_equal(s->n_log, 0);
    ks_snapshot_release(s);
    ks_board_destroy(b);
}

static void a_stop_ends_a_pause(void **state)
{
    (void)state;
    struct ks_board *b = make_board();
    ks_board_ask_pause(b, true);
    assert_true(ks_board_pausing(b));
    ks_board_ask_stop(b, "enough");
    assert_false(ks_board_pausing(b));
    assert_true(ks_board_stopping(b));
    ks_board_wait(b); /* returns at once */
    ks_board_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_keeps_its_newest_lines_and_counts_the_others),
        cmocka_unit_test(a_note_is_one_line_whatever_it_quotes),
        cmocka_unit_test(a_snapshot_outlives_its_board_and_never_changes),
        cmocka_unit_test(the_descriptor_wakes_for_what_is_newer_alone),
        cmocka_unit_test(drops_are_taken_once_and_in_their_order),
        cmocka_unit_test(as_many_drops_are_taken_as_are_asked_for_each_arm_once),
        cmocka_unit_test(a_stop_ends_a_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

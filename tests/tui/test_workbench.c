/* How the workbench behaves: what a key, a click or a new snapshot changes. */
#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "tests/tui/fake_snapshot.h"
#include "tui/screen/columns.h"
#include "tui/screen/screen.h"

#define SECOND 1000000000

struct bench {
    struct fake_source fake;
    struct ks_tui_source source;
    struct ks_screen screen;
    struct ks_grid grid;
    int64_t now_ns;
};

static void draw(struct bench *b)
{
    ks_screen_draw(&b->screen, &b->grid);
}

static void bench_open(struct bench *b, enum fake_kind kind, int width, int height)
{
    struct ks_error err;
    *b = (struct bench){
        .fake = {.kind = kind, .windows = 148, .n_log = 14, .serial = 1, .wake_fd = -1},
        .grid = {.ascii = true},
    };
    b->source = fake_source_of(&b->fake);
    assert_int_equal(ks_screen_init(&b->screen, &b->source, true, &err), 0);
    assert_int_equal(ks_grid_resize(&b->grid, width, height, &err), 0);
    draw(b);
}

/* Every snapshot that was taken must have been given back. */
static void bench_close(struct bench *b)
{
    ks_screen_finish(&b->screen);
    ks_grid_finish(&b->grid);
    assert_int_equal(b->fake.held, 0);
    fake_source_finish(&b->fake);
}

static void key(struct bench *b, uint32_t k)
{
    struct ks_event event = {.kind = KS_EVENT_KEY, .key = k};
    ks_screen_event(&b->screen, &event, b->now_ns);
    draw(b);
}

static void keys(struct bench *b, const char *text)
{
    for (; *text; text++)
        key(b, (unsigned char)*text);
}

static void mouse(struct bench *b, enum ks_event_kind kind, int x, int y)
{
    struct ks_event event = {.kind = kind, .x = x, .y = y};
    ks_screen_event(&b->screen, &event, b->now_ns);
    draw(b);
}

static void pass_window(struct bench *b)
{
    struct ks_error err;
    b->fake.windows++;
    b->fake.n_log++;
    b->fake.serial++;
    assert_int_equal(ks_screen_refresh(&b->screen, &err), 0);
    draw(b);
}

/* Finds text in the picture; fails the test where it is not. */
static void find(struct bench *b, const char *text, int *x, int *y)
{
    struct ks_buf out = {0};
    struct ks_error err;
    assert_int_equal(ks_grid_dump(&b->grid, &out, &err), 0);
    char *at = strstr(out.bytes, text);
    if (!at)
        fail_msg("\"%s\" is not on the screen:\n%s", text, out.bytes);
    *at = '\0';
    *y = 0;
    char *line = out.bytes;
    for (char *end; (end = strchr(line, '\n')); line = end + 1)
        ++*y;
    *x = (int)strlen(line);
    ks_buf_finish(&out);
}

static bool on_screen(struct bench *b, const char *text)
{
    struct ks_buf out = {0};
    struct ks_error err;
    assert_int_equal(ks_grid_dump(&b->grid, &out, &err), 0);
    bool there = strstr(out.bytes, text) != NULL;
    ks_buf_finish(&out);
    return there;
}

static const char *selected_name(const struct bench *b)
{
    return ks_screen_shown(&b->screen)->facts->arms[b->screen.selected].name;
}

static void the_selection_follows_the_arm_when_the_order_turns(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    keys(&b, "j");
    assert_string_equal(selected_name(&b), "q6_k");
    keys(&b, "S");
    assert_string_equal(selected_name(&b), "q6_k");
    keys(&b, "sss");
    pass_window(&b);
    assert_string_equal(selected_name(&b), "q6_k");
    bench_close(&b);
}

static void arms_without_a_value_are_last_in_both_directions(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    for (int turn = 0; turn < 2; turn++, keys(&b, "S")) {
        size_t last = b.screen.rows[b.screen.n_rows - 1];
        assert_string_equal(b.screen.now->facts->arms[last].name, "q2_k");
    }
    bench_close(&b);
}

static void s_goes_through_every_column_that_sorts_and_the_scenarios_order(void **state)
{
    (void)state;
    struct bench b;
    size_t sorts = 0;
    for (size_t i = 0; ks_column_at(i); i++)
        sorts += ks_column_at(i)->value || ks_column_at(i)->kind == KS_COLUMN_NAME;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    size_t first = b.screen.sort;
    bool unsorted = false;
    for (size_t i = 0; i < sorts + 1; i++) {
        keys(&b, "s");
        if (!ks_column_at(b.screen.sort)) {
            unsorted = true;
            for (size_t row = 0; row < b.screen.n_rows; row++)
                assert_int_equal(b.screen.rows[row], row);
        }
    }
    assert_true(unsorted);
    assert_int_equal(b.screen.sort, first);
    bench_close(&b);
}

static void a_click_on_a_head_sorts_by_it_and_a_second_one_turns_it(void **state)
{
    (void)state;
    struct bench b;
    int x, y;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    find(&b, "BITS", &x, &y);
    mouse(&b, KS_EVENT_CLICK, x, y);
    assert_int_equal(b.screen.sort, ks_column_index("BITS"));
    assert_false(b.screen.descending);
    mouse(&b, KS_EVENT_CLICK, x, y);
    assert_true(b.screen.descending);
    bench_close(&b);
}

static void a_click_selects_an_arm_focuses_a_pane_and_presses_a_hint(void **state)
{
    (void)state;
    struct bench b;
    int x, y;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    find(&b, "q5_k_m", &x, &y);
    mouse(&b, KS_EVENT_CLICK, x + 20, y);
    assert_string_equal(selected_name(&b), "q5_k_m");
    find(&b, "3 log", &x, &y);
    mouse(&b, KS_EVENT_CLICK, x, y + 2);
    assert_int_equal(b.screen.focus, KS_PANE_LOG);
    find(&b, "?:help", &x, &y);
    mouse(&b, KS_EVENT_CLICK, x, y);
    assert_true(b.screen.help);
    bench_close(&b);
}

static void the_wheel_moves_what_it_is_over(void **state)
{
    (void)state;
    struct bench b;
    int x, y;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    find(&b, "q5_k_m", &x, &y);
    mouse(&b, KS_EVENT_WHEEL_DOWN, x, y);
    assert_string_equal(selected_name(&b), "q6_k");
    find(&b, "3 log", &x, &y);
    mouse(&b, KS_EVENT_WHEEL_UP, x, y + 2);
    assert_string_equal(selected_name(&b), "q6_k");
    assert_non_null(b.screen.log_held);
    mouse(&b, KS_EVENT_WHEEL_DOWN, x, y + 2);
    assert_null(b.screen.log_held);
    bench_close(&b);
}

static void the_filter_narrows_while_one_types_and_escape_takes_it_back(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    keys(&b, "/Q4_k");
    assert_int_equal(b.screen.n_rows, 2);
    keys(&b, "_m+");
    assert_int_equal(b.screen.n_rows, 0);
    key(&b, KS_KEY_BACKSPACE);
    assert_int_equal(b.screen.n_rows, 2);
    key(&b, KS_KEY_ESCAPE);
    assert_int_equal(b.screen.n_rows, 6);
    keys(&b, "/output.weight\r"); /* in a recipe */
    assert_int_equal(b.screen.n_rows, 1);
    assert_string_equal(selected_name(&b), "q4_k_m-out8");
    key(&b, KS_KEY_ESCAPE);
    assert_int_equal(b.screen.n_rows, 6);
    assert_string_equal(selected_name(&b), "q4_k_m-out8");
    bench_close(&b);
}

static void letters_in_the_prompt_are_letters_and_the_cursor_follows(void **state)
{
    (void)state;
    struct bench b;
    int x, y;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    assert_false(ks_screen_cursor(&b.screen, &x, &y));
    keys(&b, "/qsz?");
    assert_false(b.screen.quit || b.screen.zoomed || b.screen.help);
    assert_string_equal(b.screen.filter, "qsz?");
    assert_true(ks_screen_cursor(&b.screen, &x, &y));
    assert_int_equal(x, 6);
    assert_int_equal(y, 29);
    key(&b, 0x6df7);
    key(&b, KS_KEY_BACKSPACE); /* a whole character */
    assert_string_equal(b.screen.filter, "qsz?");
    for (int i = 0; i < 200; i++)
        key(&b, 0x6df7); /* no more than there is room for */
    assert_true(strlen(b.screen.filter) < KS_FILTER_SIZE);
    key(&b, KS_KEY_CTRL_U);
    assert_string_equal(b.screen.filter, "");
    bench_close(&b);
}

static void space_holds_the_picture_counts_what_came_and_stays_browsable(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    keys(&b, " ");
    pass_window(&b);
    assert_true(on_screen(&b, "P A U S E D"));
    assert_true(on_screen(&b, "1 window came meanwhile"));
    pass_window(&b);
    assert_true(on_screen(&b, "2 windows came meanwhile"));
    assert_int_equal(ks_screen_shown(&b.screen)->windows, 148);
    keys(&b, "jS");
    assert_string_equal(selected_name(&b), "q6_k");
    keys(&b, " ");
    assert_false(on_screen(&b, "P A U S E D"));
    assert_int_equal(ks_screen_shown(&b.screen)->windows, 150);
    bench_close(&b);
}

static void the_held_log_stays_until_its_end_is_asked_for(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    keys(&b, "3kkkkkk");
    assert_false(on_screen(&b, "window 13 done"));
    assert_true(on_screen(&b, "window 8 done"));
    for (int i = 0; i < 5; i++)
        pass_window(&b);
    assert_false(on_screen(&b, "window 18 done"));
    assert_true(on_screen(&b, "window 8 done"));
    keys(&b, "G");
    assert_true(on_screen(&b, "window 16 done"));
    bench_close(&b);
}

static void q_asks_while_the_run_goes_on_and_means_it_the_second_time(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    keys(&b, "q");
    assert_false(b.screen.quit);
    assert_true(on_screen(&b, "q again stops it and leaves"));
    keys(&b, "j"); /* any other key stays */
    assert_false(on_screen(&b, "q again"));
    keys(&b, "q");
    assert_int_equal(ks_screen_tick(&b.screen, 4 * (int64_t)SECOND), 5 * (int64_t)SECOND);
    assert_int_equal(ks_screen_tick(&b.screen, 6 * (int64_t)SECOND), -1);
    b.now_ns = 6 * (int64_t)SECOND;
    keys(&b, "q"); /* too late: asks anew */
    assert_false(b.screen.quit);
    keys(&b, "q");
    assert_true(b.screen.quit);
    bench_close(&b);
}

static void q_leaves_at_once_when_the_run_is_over(void **state)
{
    (void)state;
    static const enum fake_kind kinds[] = {FAKE_DONE, FAKE_STOPPED, FAKE_FAILED_EARLY,
                                           FAKE_FAILED_LATE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct bench b;
        bench_open(&b, kinds[i], 100, 30);
        keys(&b, "q");
        assert_true(b.screen.quit);
        bench_close(&b);
    }
}

static void q_leaves_a_watched_run_at_once_and_alone(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    b.fake.notice = "";
    b.source = fake_source_of(&b.fake);
    keys(&b, "q");
    assert_true(b.screen.quit);
    assert_int_equal(b.fake.stopped, 0);
    bench_close(&b);
}

static void tab_and_numbers_move_the_focus_among_panes_that_are_there(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_RUNNING, 80, 24); /* no room for the log */
    key(&b, KS_KEY_TAB);
    assert_int_equal(b.screen.focus, KS_PANE_HISTOGRAM);
    key(&b, KS_KEY_TAB);
    assert_int_equal(b.screen.focus, KS_PANE_ARMS);
    key(&b, KS_KEY_BACK_TAB);
    assert_int_equal(b.screen.focus, KS_PANE_HISTOGRAM);
    keys(&b, "3");
    assert_true(b.screen.zoomed);
    assert_true(on_screen(&b, "3 log"));
    key(&b, KS_KEY_ESCAPE);
    assert_false(b.screen.zoomed);
    assert_int_equal(b.screen.focus, KS_PANE_ARMS);
    bench_close(&b);
}

static void axes_grow_and_never_shrink(void **state)
{
    (void)state;
    struct bench b;
    struct ks_error err;
    bench_open(&b, FAKE_RUNNING, 100, 30);
    struct ks_range decades = b.screen.decades, trend = b.screen.trend;
    assert_true(decades.low < decades.high && trend.low < trend.high);
    b.fake.windows = 1; /* fewer values than there were */
    b.fake.serial++;
    assert_int_equal(ks_screen_refresh(&b.screen, &err), 0);
    assert_true(b.screen.decades.low <= decades.low && b.screen.decades.high >= decades.high);
    assert_true(b.screen.trend.low <= trend.low && b.screen.trend.high >= trend.high);
    bench_close(&b);
}

static void a_run_that_becomes_ready_shows_its_arms(void **state)
{
    (void)state;
    struct bench b;
    struct ks_error err;
    bench_open(&b, FAKE_PREPARING, 100, 30);
    keys(&b, "jjsS z/x");
    key(&b, KS_KEY_ESCAPE);
    keys(&b, "z "); /* nothing of it does harm */
    b.fake.kind = FAKE_RUNNING;
    b.fake.serial++;
    assert_int_equal(ks_screen_refresh(&b.screen, &err), 0);
    draw(&b);
    assert_true(on_screen(&b, "1 arms  6/6"));
    assert_true(on_screen(&b, "q4_k_m"));
    bench_close(&b);
}

static void what_an_arms_failure_says_is_readable_when_it_is_selected(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, FAKE_TROUBLE, 80, 24);
    keys(&b, "/out8\r");
    assert_true(on_screen(&b, "tensor output.weight at byte 8192"));
    key(&b, KS_KEY_ESCAPE);
    keys(&b, "/q8\rg"); /* the other one has it in its recipe */
    assert_true(on_screen(&b, "dropped: hook: clearly good enough"));
    key(&b, KS_KEY_ESCAPE);
    keys(&b, "/q2\r");
    assert_true(on_screen(&b, "non-finite at doc 3 (code.jsonl:41) pos 395"));
    bench_close(&b);
}

/* Anything that can be typed, clicked or resized, in any order, on any run. */
static struct ks_event random_event(uint64_t *seed)
{
    static const uint32_t often[] = {'q',
                                     's',
                                     'S',
                                     '/',
                                     ' ',
                                     'z',
                                     '?',
                                     '1',
                                     '2',
                                     '3',
                                     'j',
                                     'k',
                                     'g',
                                     'G',
                                     'f',
                                     'b',
                                     KS_KEY_TAB,
                                     KS_KEY_ESCAPE,
                                     KS_KEY_ENTER,
                                     KS_KEY_BACKSPACE,
                                     KS_KEY_PAGE_UP,
                                     KS_KEY_PAGE_DOWN};
    size_t n = sizeof often / sizeof *often;
    uint64_t kind = ks_random_below(seed, 10);
    struct ks_event e = {.x = (int)ks_random_below(seed, 130), .y = (int)ks_random_below(seed, 50)};
    if (kind < 3)
        e.kind = (enum ks_event_kind)(KS_EVENT_CLICK + kind);
    else if (kind < 4)
        e.key = (uint32_t)ks_random_below(seed, 0x110020);
    else
        e.key = often[ks_random_below(seed, n)];
    return e;
}

static void random_turn(struct bench *b, uint64_t *seed)
{
    struct ks_error err;
    struct ks_event event = random_event(seed);
    ks_screen_event(&b->screen, &event, b->now_ns);
    b->now_ns += (int64_t)ks_random_below(seed, SECOND);
    ks_screen_tick(&b->screen, b->now_ns);
    if (ks_random_below(seed, 4) == 0) {
        b->fake.windows += b->fake.windows < FAKE_WINDOWS;
        b->fake.n_log += ks_random_below(seed, 40);
        b->fake.serial++;
        assert_int_equal(ks_screen_refresh(&b->screen, &err), 0);
    }
    if (ks_random_below(seed, 8) == 0) {
        bool tiny = ks_random_below(seed, 2);
        int width = 1 + (int)ks_random_below(seed, tiny ? 12 : 130);
        int height = 1 + (int)ks_random_below(seed, tiny ? 6 : 50);
        assert_int_equal(ks_grid_resize(&b->grid, width, height, &err), 0);
    }
    draw(b);
    assert_in_range(b->fake.held, 1, 3);
    b->screen.quit = false;
}

static void nothing_that_is_typed_at_any_size_breaks_it(void **state)
{
    (void)state;
    uint64_t seed = 20240607;
    for (int kind = FAKE_PREPARING; kind <= FAKE_MANY; kind++) {
        struct bench b;
        bench_open(&b, (enum fake_kind)kind, 100, 30);
        b.grid.ascii = kind % 2;
        for (int i = 0; i < 200; i++)
            random_turn(&b, &seed);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_selection_follows_the_arm_when_the_order_turns),
        cmocka_unit_test(arms_without_a_value_are_last_in_both_directions),
        cmocka_unit_test(s_goes_through_every_column_that_sorts_and_the_scenarios_order),
        cmocka_unit_test(a_click_on_a_head_sorts_by_it_and_a_second_one_turns_it),
        cmocka_unit_test(a_click_selects_an_arm_focuses_a_pane_and_presses_a_hint),
        cmocka_unit_test(the_wheel_moves_what_it_is_over),
        cmocka_unit_test(the_filter_narrows_while_one_types_and_escape_takes_it_back),
        cmocka_unit_test(letters_in_the_prompt_are_letters_and_the_cursor_follows),
        cmocka_unit_test(space_holds_the_picture_counts_what_came_and_stays_browsable),
        cmocka_unit_test(the_held_log_stays_until_its_end_is_asked_for),
        cmocka_unit_test(q_asks_while_the_run_goes_on_and_means_it_the_second_time),
        cmocka_unit_test(q_leaves_at_once_when_the_run_is_over),
        cmocka_unit_test(q_leaves_a_watched_run_at_once_and_alone),
        cmocka_unit_test(tab_and_numbers_move_the_focus_among_panes_that_are_there),
        cmocka_unit_test(axes_grow_and_never_shrink),
        cmocka_unit_test(a_run_that_becomes_ready_shows_its_arms),
        cmocka_unit_test(what_an_arms_failure_says_is_readable_when_it_is_selected),
        cmocka_unit_test(nothing_that_is_typed_at_any_size_breaks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

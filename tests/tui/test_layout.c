/* The layout's promises, at every size from 1x1 to 250x80. */
#include "tests/testing.h"

#include "tui/screen/layout.h"

#define N_RECTS (KS_PANE_COUNT + 3)

static void rects_of(const struct ks_layout *l, struct ks_rect out[N_RECTS])
{
    out[0] = l->header;
    out[1] = l->notice;
    out[2] = l->hints;
    for (int i = 0; i < KS_PANE_COUNT; i++)
        out[3 + i] = l->panes[i];
}

static bool there(struct ks_rect r)
{
    return r.w != 0 || r.h != 0;
}

static bool overlap(struct ks_rect a, struct ks_rect b)
{
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

static void check(struct ks_layout_wish wish)
{
    struct ks_layout l = ks_layout_make(wish);
    struct ks_rect rects[N_RECTS];
    int area = 0, panes = 0;
    rects_of(&l, rects);
    for (int i = 0; i < N_RECTS; i++) {
        struct ks_rect r = rects[i];
        if (!there(r))
            continue;
        if (r.w < 1 || r.h < 1 || r.x < 0 || r.y < 0 || r.x + r.w > wish.width ||
            r.y + r.h > wish.height)
            fail_msg("%dx%d: rectangle %d is %d,%d %dx%d", wish.width, wish.height, i, r.x, r.y,
                     r.w, r.h);
        for (int j = i + 1; j < N_RECTS; j++) {
            if (there(rects[j]) && overlap(r, rects[j]))
                fail_msg("%dx%d: rectangles %d and %d overlap", wish.width, wish.height, i, j);
        }
        area += r.w * r.h;
        panes += i >= 3;
    }
    if (area != wish.width * wish.height)
        fail_msg("%dx%d: %d cells are covered", wish.width, wish.height, area);
    if (panes < 1)
        fail_msg("%dx%d: no pane", wish.width, wish.height);
}

static void check_all_sizes(struct ks_layout_wish wish)
{
    for (wish.height = 1; wish.height <= 80; wish.height++) {
        for (wish.width = 1; wish.width <= 250; wish.width++)
            check(wish);
    }
}

static void rectangles_tile_the_screen_at_every_size(void **state)
{
    (void)state;
    static const int rows[] = {0, 5, 8, 42, 1001};
    for (int preparing = 0; preparing < 2; preparing++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            check_all_sizes((struct ks_layout_wish){.arm_rows = rows[i], .preparing = preparing});
    }
}

static void they_do_with_a_notice_of_any_length(void **state)
{
    (void)state;
    for (int lines = 1; lines < 200; lines += 33) {
        check_all_sizes((struct ks_layout_wish){.arm_rows = 8, .notice_rows = lines});
        check_all_sizes(
            (struct ks_layout_wish){.arm_rows = 8, .notice_rows = lines, .preparing = true});
    }
}

static void they_do_with_each_pane_zoomed_and_only_that_one_is_there(void **state)
{
    (void)state;
    for (int id = 0; id < KS_PANE_COUNT; id++) {
        struct ks_layout_wish wish = {.zoomed = true, .zoom = (enum ks_pane_id)id, .arm_rows = 8};
        check_all_sizes(wish);
        wish.width = 100;
        wish.height = 30;
        struct ks_layout l = ks_layout_make(wish);
        for (int other = 0; other < KS_PANE_COUNT; other++)
            assert_int_equal(there(l.panes[other]), other == id);
    }
}

static bool shows(int width, int height, enum ks_pane_id id)
{
    struct ks_layout l =
        ks_layout_make((struct ks_layout_wish){.width = width, .height = height, .arm_rows = 8});
    return there(l.panes[id]);
}

static void a_wider_screen_never_loses_a_pane_and_a_narrower_one_loses_the_log_first(void **state)
{
    (void)state;
    for (int height = 1; height <= 80; height++) {
        for (int width = 1; width < 250; width++) {
            for (enum ks_pane_id id = 0; id < KS_PANE_COUNT; id++) {
                bool lost = shows(width, height, id) && !shows(width + 1, height, id);
                /* under a tall narrow screen's histogram is room that a wide one has beside it */
                if (lost)
                    fail_msg("%dx%d: pane %d goes with a column more", width, height, (int)id);
            }
            assert_true(shows(width, height, KS_PANE_ARMS));
            if (shows(width, height, KS_PANE_LOG))
                assert_true(shows(width, height, KS_PANE_HISTOGRAM));
        }
    }
}

static void the_usual_sizes_show_what_the_specification_draws(void **state)
{
    (void)state;
    assert_true(shows(100, 30, KS_PANE_HISTOGRAM));
    assert_true(shows(100, 30, KS_PANE_LOG));
    assert_true(shows(80, 24, KS_PANE_HISTOGRAM));
    assert_false(shows(80, 24, KS_PANE_LOG));
    assert_false(shows(40, 10, KS_PANE_HISTOGRAM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rectangles_tile_the_screen_at_every_size),
        cmocka_unit_test(they_do_with_a_notice_of_any_length),
        cmocka_unit_test(they_do_with_each_pane_zoomed_and_only_that_one_is_there),
        cmocka_unit_test(a_wider_screen_never_loses_a_pane_and_a_narrower_one_loses_the_log_first),
        cmocka_unit_test(the_usual_sizes_show_what_the_specification_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

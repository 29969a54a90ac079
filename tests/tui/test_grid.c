#include "tests/testing.h"

#include <string.h>

#include "tui/draw/grid.h"
#include "tui/draw/theme.h"

static struct ks_grid grid_of(int width, int height, bool ascii)
{
    struct ks_grid g = {.ascii = ascii};
    struct ks_error err;
    assert_int_equal(ks_grid_resize(&g, width, height, &err), 0);
    return g;
}

/* The grid's text; frees the grid. */
static void assert_picture(struct ks_grid *g, const char *expected)
{
    struct ks_buf out = {0};
    struct ks_error err;
    assert_int_equal(ks_grid_dump(g, &out, &err), 0);
    assert_string_equal(out.bytes, expected);
    ks_buf_finish(&out);
    ks_grid_finish(g);
}

static void text_lies_where_it_is_put_and_is_cut_at_the_edges(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(6, 3, false);
    assert_int_equal(ks_grid_text(&g, 1, 0, 99, KS_ROLE_TEXT, "abcdefgh"), 8);
    ks_grid_text(&g, -2, 1, 99, KS_ROLE_TEXT, "xyz");
    ks_grid_text(&g, 0, 3, 99, KS_ROLE_TEXT, "below");
    ks_grid_text(&g, 0, -1, 99, KS_ROLE_TEXT, "above");
    ks_grid_text(&g, 2, 2, 3, KS_ROLE_TEXT, "abcdef");
    assert_picture(&g, " abcde\nz\n  abc\n");
}

static void a_wide_character_takes_two_cells(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(6, 1, false);
    assert_int_equal(ks_grid_text(&g, 0, 0, 6, KS_ROLE_TEXT, "a\u6df7b"), 4);
    assert_int_equal(g.cells[1].text[0], 0x6df7);
    assert_int_equal(g.cells[2].text[0], 0);
    assert_int_equal(g.cells[3].text[0], 'b');
    assert_picture(&g, "a\u6df7b\n");
}

static void a_wide_character_cut_in_half_leaves_a_space(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(4, 2, false);
    ks_grid_text(&g, 0, 0, 99, KS_ROLE_TEXT, "abc\u6df7");  /* its right half is outside */
    ks_grid_text(&g, -1, 1, 99, KS_ROLE_TEXT, "\u6df7xyz"); /* and here its left half */
    assert_int_equal(g.cells[3].text[0], ' ');
    assert_int_equal(g.cells[4].text[0], ' ');
    assert_picture(&g, "abc\n xyz\n");
}

static void overwriting_half_of_a_wide_character_clears_the_other(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(5, 2, false);
    ks_grid_text(&g, 1, 0, 4, KS_ROLE_TEXT, "\u6df7");
    ks_grid_text(&g, 1, 0, 1, KS_ROLE_TEXT, "x");
    ks_grid_text(&g, 1, 1, 4, KS_ROLE_TEXT, "\u6df7");
    ks_grid_text(&g, 2, 1, 1, KS_ROLE_TEXT, "y");
    for (int i = 0; i < 10; i++)
        assert_true(g.cells[i].text[0] != 0);
    assert_picture(&g, " x\n  y\n");
}

static void marks_combine_with_the_letter_before_them(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(4, 1, false);
    assert_int_equal(ks_grid_text(&g, 0, 0, 4, KS_ROLE_TEXT, "e\u0301x"), 2);
    assert_int_equal(g.cells[0].text[0], 'e');
    assert_int_equal(g.cells[0].text[1], 0x301);
    assert_int_equal(g.cells[1].text[0], 'x');
    assert_picture(&g, "e\u0301x\n");
}

static void a_mark_without_a_letter_gets_a_ring_and_too_many_are_dropped(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(4, 2, false);
    ks_grid_text(&g, 0, 0, 4, KS_ROLE_TEXT, "\u0301a");
    ks_grid_text(&g, 0, 1, 4, KS_ROLE_TEXT, "a\u0301\u0302\u0303\u0304\u0305z");
    assert_picture(&g, "\u25cc\u0301a\na\u0301\u0302\u0303z\n");
}

static void nothing_invisible_gets_into_the_picture(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(12, 4, false);
    ks_grid_text(&g, 0, 0, 12, KS_ROLE_TEXT, "a\tb\n\x1b[31m\x7f");
    ks_grid_text(&g, 0, 1, 12, KS_ROLE_TEXT, "r\u202etl\u200bz\xc2\x85"); /* override, zero width */
    ks_grid_text(&g, 0, 2, 12, KS_ROLE_TEXT, "\xff\xe2\x82 \xc0\xaf");    /* no UTF-8 */
    ks_grid_text(&g, 0, 3, 12, KS_ROLE_TEXT, "a\u200d\ufe0fb");           /* joiners go away */
    assert_picture(&g, "a\u2409b\u240a\u241b[31m\u2421\n"
                       "r\ufffdtl\ufffdz\ufffd\n"
                       "\ufffd\ufffd\ufffd \ufffd\ufffd\n"
                       "ab\n");
}

static void in_ascii_everything_else_is_a_question_mark_of_its_width(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(12, 2, true);
    assert_int_equal(ks_text_columns("a\u6df7\u00e9e\u0301\n", true), 6);
    ks_grid_text(&g, 0, 0, 12, KS_ROLE_TEXT, "a\u6df7\u00e9e\u0301\n.");
    ks_grid_text(&g, 11, 1, 12, KS_ROLE_TEXT, "\u6df7");
    assert_picture(&g, "a???e?.\n           ?\n");
}

static void text_that_is_too_long_ends_in_an_ellipsis(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(8, 5, false);
    assert_int_equal(ks_grid_fit(&g, 0, 0, 5, KS_ROLE_TEXT, "abcde"), 5);
    assert_int_equal(ks_grid_fit(&g, 0, 1, 5, KS_ROLE_TEXT, "abcdef"), 5);
    assert_int_equal(ks_grid_fit(&g, 0, 2, 3, KS_ROLE_TEXT, "a\u6df7\u6df7"), 2);
    assert_int_equal(ks_grid_fit(&g, 0, 3, 0, KS_ROLE_TEXT, "abc"), 0);
    assert_int_equal(ks_grid_right(&g, 0, 4, 8, KS_ROLE_TEXT, "xyz"), 8);
    assert_picture(&g, "abcde\nabcd\u2026\na\u2026\n\n     xyz\n");
}

static void text_wraps_at_spaces_and_inside_words_that_are_too_long(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(10, 5, true);
    struct ks_rect r = {0, 0, 6, 4};
    assert_int_equal(ks_text_lines("one two three", 6, true), 3);
    assert_int_equal(ks_text_lines("", 6, true), 1);
    assert_int_equal(ks_text_lines("abcdefghijkl", 6, true), 2);
    assert_int_equal(ks_grid_wrap(&g, r, KS_ROLE_TEXT, "one two abcdefghi jklm nopq"), 4);
    assert_picture(&g, "one\ntwo\nabcdef\nghi j~\n\n");
}

static void tinting_and_selecting_keep_the_text(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(4, 1, true);
    ks_grid_text(&g, 0, 0, 4, KS_ROLE_TEXT, "abcd");
    ks_grid_tint(&g, (struct ks_rect){1, 0, 2, 1}, KS_ROLE_KEY);
    ks_grid_select(&g, (struct ks_rect){2, 0, 9, 9});
    ks_grid_text(&g, 3, 0, 1, KS_ROLE_TEXT, "x");
    assert_int_equal(g.cells[0].role, KS_ROLE_TEXT);
    assert_int_equal(g.cells[1].role, KS_ROLE_KEY);
    assert_false(g.cells[1].selected);
    assert_true(g.cells[2].selected);
    assert_true(g.cells[3].selected);
    assert_picture(&g, "abcx\n");
}

static void a_grid_has_at_least_one_cell_and_not_more_than_it_may(void **state)
{
    (void)state;
    struct ks_grid g = grid_of(0, -3, true);
    assert_int_equal(g.width, 1);
    assert_int_equal(g.height, 1);
    struct ks_error err;
    assert_int_equal(ks_grid_resize(&g, 65535, 65535, &err), 0);
    assert_int_equal(g.width, KS_GRID_MAX_WIDTH);
    assert_int_equal(g.height, KS_GRID_MAX_HEIGHT);
    ks_grid_finish(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lies_where_it_is_put_and_is_cut_at_the_edges),
        cmocka_unit_test(a_wide_character_takes_two_cells),
        cmocka_unit_test(a_wide_character_cut_in_half_leaves_a_space),
        cmocka_unit_test(overwriting_half_of_a_wide_character_clears_the_other),
        cmocka_unit_test(marks_combine_with_the_letter_before_them),
        cmocka_unit_test(a_mark_without_a_letter_gets_a_ring_and_too_many_are_dropped),
        cmocka_unit_test(nothing_invisible_gets_into_the_picture),
        cmocka_unit_test(in_ascii_everything_else_is_a_question_mark_of_its_width),
        cmocka_unit_test(text_that_is_too_long_ends_in_an_ellipsis),
        cmocka_unit_test(text_wraps_at_spaces_and_inside_words_that_are_too_long),
        cmocka_unit_test(tinting_and_selecting_keep_the_text),
        cmocka_unit_test(a_grid_has_at_least_one_cell_and_not_more_than_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

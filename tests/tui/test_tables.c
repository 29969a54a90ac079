/* The tables that everything is drawn from: themes, glyphs, actions, columns. */
#include "tests/testing.h"

#include <string.h>

#include "tui/draw/glyphs.h"
#include "tui/draw/text.h"
#include "tui/draw/theme.h"
#include "tui/screen/actions.h"
#include "tui/screen/columns.h"
#include "tui/term/input.h"

static void every_theme_gives_every_role_a_look(void **state)
{
    (void)state;
    size_t n = 0;
    for (; ks_theme_at(n); n++) {
        const struct ks_theme *theme = ks_theme_at(n);
        assert_ptr_equal(ks_theme_find(theme->name), theme);
        for (int role = 0; role < KS_ROLE_COUNT; role++) {
            const struct ks_look *look = &theme->looks[role];
            if (!look->given)
                fail_msg("theme %s has no look for role %d", theme->name, role);
            assert_in_range(look->colour + 1, 0, 256);
            assert_in_range(look->colour_16 + 1, 0, 16);
        }
    }
    assert_int_equal(n, 4);
    assert_null(ks_theme_find("pink"));
}

static void mono_uses_no_colour_and_tells_the_important_by_attributes(void **state)
{
    (void)state;
    const struct ks_theme *mono = ks_theme_find("mono");
    assert_int_equal(mono->selected, KS_COLOUR_DEFAULT);
    assert_int_not_equal(mono->selected_attributes, 0);
    for (int role = 0; role < KS_ROLE_COUNT; role++) {
        assert_int_equal(mono->looks[role].colour, KS_COLOUR_DEFAULT);
        assert_int_equal(mono->looks[role].colour_16, KS_COLOUR_DEFAULT);
    }
    assert_int_not_equal(mono->looks[KS_ROLE_FAILED].attributes, 0);
    assert_int_not_equal(mono->looks[KS_ROLE_FROZEN].attributes & KS_LOOK_REVERSE, 0);
}

static void check_glyph(const char *glyph, bool ascii)
{
    assert_non_null(glyph);
    assert_int_equal(ks_text_columns(glyph, false), 1);
    for (const char *p = glyph; ascii && *p; p++)
        assert_in_range(*p, 0x20, 0x7e);
}

static void both_sets_have_every_glyph_one_column_wide_and_one_is_pure_ascii(void **state)
{
    (void)state;
    for (int ascii = 0; ascii < 2; ascii++) {
        const struct ks_glyphs *g = ks_glyphs_get(ascii);
        assert_int_equal(g->ascii, ascii);
        for (int i = 0; i < KS_GLYPH_COUNT; i++)
            check_glyph(g->one[i], ascii);
        assert_in_range(g->bars, 2, KS_GLYPH_MAX_STEPS);
        assert_in_range(g->sparks, 2, KS_GLYPH_MAX_STEPS);
        for (int i = 0; i < g->bars; i++)
            check_glyph(g->bar[i], ascii);
        for (int i = 0; i < g->sparks; i++)
            check_glyph(g->spark[i], ascii);
        assert_string_equal(g->bar[0], " ");
    }
}

static void states_are_told_by_different_signs(void **state)
{
    (void)state;
    for (int ascii = 0; ascii < 2; ascii++) {
        const struct ks_glyphs *g = ks_glyphs_get(ascii);
        for (int i = KS_GLYPH_SELECTED; i <= KS_GLYPH_WAITING; i++) {
            for (int j = i + 1; j <= KS_GLYPH_WAITING; j++)
                assert_string_not_equal(g->one[i], g->one[j]);
        }
        for (int i = KS_GLYPH_PREPARING; i <= KS_GLYPH_RUN_FAILED; i++) {
            for (int j = i + 1; j <= KS_GLYPH_RUN_FAILED; j++)
                assert_string_not_equal(g->one[i], g->one[j]);
        }
    }
}

static void every_action_is_complete_and_no_key_has_two(void **state)
{
    (void)state;
    for (size_t i = 0; ks_action_at(i); i++) {
        const struct ks_action *action = ks_action_at(i);
        assert_non_null(action->run);
        assert_true(*action->name && *action->shown && *action->help);
        assert_true(!action->hint == !action->hint_key);
        assert_int_not_equal(action->keys[0], KS_KEY_NONE);
        assert_true(action->keys[0] < KS_KEY_F1); /* F-keys are aliases */
        for (size_t k = 0; k < KS_ACTION_KEYS && action->keys[k]; k++)
            assert_ptr_equal(ks_action_for(action->keys[k]), action);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ks_action_at(j)->name, action->name);
    }
    assert_null(ks_action_for('~'));
    assert_null(ks_action_for(KS_KEY_NONE));
}

/* The help indents by 2, gives the keys 16, and has a border; 80 columns are what everybody has. */
static void the_help_fits_eighty_columns(void **state)
{
    (void)state;
    for (size_t i = 0; ks_action_at(i); i++) {
        assert_true(strlen(ks_action_at(i)->shown) < 16);
        assert_true(strlen(ks_action_at(i)->help) <= 80 - 2 - 2 - 16);
    }
    for (size_t i = 0; ks_column_at(i); i++) {
        assert_true(strlen(ks_column_at(i)->label) < 16);
        assert_true(strlen(ks_column_at(i)->help) <= 80 - 2 - 2 - 16);
    }
}

static bool fits(int width, const char *label)
{
    struct ks_columns_fit fit = ks_columns_fit(width, 8);
    for (size_t i = 0; i < fit.n; i++) {
        if (fit.column[i] == ks_column_index(label))
            return true;
    }
    return false;
}

static int least_width(const char *label)
{
    int width = 1;
    while (width < 300 && !fits(width, label))
        width++;
    return width;
}

static void narrow_terminals_lose_the_trend_then_p999_and_the_mean_last(void **state)
{
    (void)state;
    static const char *const order[] = {"ARM", "KLD mean", "p99", "p99.9", "p99 per window"};
    for (size_t i = 1; i < sizeof order / sizeof *order; i++)
        assert_true(least_width(order[i - 1]) < least_width(order[i]));
    assert_true(least_width("p99 per window") <= 98); /* 100 columns less the border */
    assert_true(least_width("TOP1%") < least_width("p99.9"));
    assert_true(least_width("p99") <= 38);
}

static void columns_lie_side_by_side_inside_the_width(void **state)
{
    (void)state;
    for (int width = 1; width <= 260; width++) {
        for (int name = 1; name < 60; name += 9) {
            struct ks_columns_fit fit = ks_columns_fit(width, name);
            assert_true(fit.n >= 1);
            for (size_t i = 0; i < fit.n; i++) {
                int end = fit.x[i] + fit.columns[i];
                assert_true(i + 1 == fit.n || end < fit.x[i + 1]);
                assert_true(end <= width || fit.columns[i] == 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_theme_gives_every_role_a_look),
        cmocka_unit_test(mono_uses_no_colour_and_tells_the_important_by_attributes),
        cmocka_unit_test(both_sets_have_every_glyph_one_column_wide_and_one_is_pure_ascii),
        cmocka_unit_test(states_are_told_by_different_signs),
        cmocka_unit_test(every_action_is_complete_and_no_key_has_two),
        cmocka_unit_test(the_help_fits_eighty_columns),
        cmocka_unit_test(narrow_terminals_lose_the_trend_then_p999_and_the_mean_last),
        cmocka_unit_test(columns_lie_side_by_side_inside_the_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

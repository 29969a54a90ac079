#include "tests/testing.h"

#include <string.h>

#include "engine/base/nearest.h"

static const char *const words[] = {"preset", "override", "model", "imatrix", "kv",
                                    "Q4_K_M", "Q4_K_S",   "Q8_0",  NULL,      "tags"};
#define N_WORDS (sizeof words / sizeof words[0])

static const char *nearest(const char *word)
{
    return ks_nearest_word(word, words, N_WORDS);
}

static void finds_a_word_with_a_letter_missing_added_or_wrong(void **state)
{
    (void)state;
    assert_string_equal(nearest("overide"), "override");
    assert_string_equal(nearest("presets"), "preset");
    assert_string_equal(nearest("modal"), "model");
}

static void counts_a_swap_of_neighbours_as_one_change(void **state)
{
    (void)state;
    const char *const two[] = {"tag", "axis"};
    assert_string_equal(ks_nearest_word("tga", two, 2), "tag");
    assert_string_equal(ks_nearest_word("aixs", two, 2), "axis");
}

static void takes_no_notice_of_case(void **state)
{
    (void)state;
    assert_string_equal(nearest("q4km"), "Q4_K_M");
    assert_string_equal(nearest("MODEL"), "model");
}

static void gives_the_first_of_equally_near_words(void **state)
{
    (void)state;
    assert_string_equal(nearest("Q4_K"), "Q4_K_M");
    assert_string_equal(nearest("Q4_K_X"), "Q4_K_M");
}

static void prefers_the_nearer_word_wherever_it_stands(void **state)
{
    (void)state;
    assert_string_equal(nearest("q4_k_s"), "Q4_K_S");
}

static void suggests_nothing_that_is_far_off(void **state)
{
    (void)state;
    assert_null(nearest("window"));
    assert_null(nearest(""));
    assert_null(nearest("zz"));
    assert_null(ks_nearest_word("preset", words, 0));
}

static void says_nothing_to_a_word_longer_than_any_name(void **state)
{
    (void)state;
    char word[200];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *const same[] = {word};
    assert_null(ks_nearest_word(word, same, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_word_with_a_letter_missing_added_or_wrong),
        cmocka_unit_test(counts_a_swap_of_neighbours_as_one_change),
        cmocka_unit_test(takes_no_notice_of_case),
        cmocka_unit_test(gives_the_first_of_equally_near_words),
        cmocka_unit_test(prefers_the_nearer_word_wherever_it_stands),
        cmocka_unit_test(suggests_nothing_that_is_far_off),
        cmocka_unit_test(says_nothing_to_a_word_longer_than_any_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

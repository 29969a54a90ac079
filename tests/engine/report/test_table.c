#include "tests/testing.h"

#include "engine/report/format.h"
#include "tests/engine/report/golden.h"
#include "tests/engine/report/sample.h"

static void compare(int width, const char *name)
{
    struct sample s;
    struct ks_error err;
    sample_init(&s);
    char *text = ks_report_table(&s.snapshot, width, &err);
    if (!text)
        fail_msg("%s", err.text);
    assert_golden(text, name);
    free(text);
}

static void a_hundred_columns_read_as_they_did(void **state)
{
    (void)state;
    compare(0, "report/table-100.txt");
}

static void a_wide_terminal_gets_every_column(void **state)
{
    (void)state;
    compare(160, "report/table-160.txt");
}

static void a_narrow_terminal_gets_what_matters(void **state)
{
    (void)state;
    compare(60, "report/table-60.txt");
}

static void a_stopped_run_says_how_far_it_came(void **state)
{
    (void)state;
    struct sample s;
    struct ks_error err;
    sample_init(&s);
    s.facts.n_arms = 2;
    s.facts.n_corpora = 1;
    s.facts.documents = 1;
    s.facts.scenario = NULL;
    s.snapshot.state = KS_RUN_STOPPED;
    s.snapshot.windows = 12;
    s.snapshot.positions = 3060;
    char *text = ks_report_table(&s.snapshot, 80, &err);
    assert_golden(text, "report/table-stopped.txt");
    free(text);
}

static void what_fills_no_window_is_told(void **state)
{
    (void)state;
    struct sample s;
    struct ks_error err;
    sample_init(&s);
    s.facts.scoring = "llama";
    s.facts.order = "file";
    s.facts.documents = s.facts.n_corpora = 1;
    char *text = ks_report_table(&s.snapshot, 200, &err);
    assert_non_null(strstr(
        text,
        "1 document, 71 735 tokens, 71 732 positions scored; 55 tokens left over at the end\n"));
    assert_non_null(strstr(text, "512 tokens, 256 of context at least, as llama-perplexity scores "
                                 "it; cpu; documents in file order\n"));
    free(text);
}

static void what_the_cpu_did_for_a_device_that_failed_is_told(void **state)
{
    (void)state;
    struct sample s;
    struct ks_error err;
    sample_init(&s);
    s.facts.backend_head = "vulkan NVIDIA H200 (matrix cores)";
    s.snapshot.windows_on_cpu = 3;
    char *text = ks_report_table(&s.snapshot, 0, &err);
    assert_non_null(text);
    assert_non_null(strstr(text, "head vulkan NVIDIA H200 (matrix cores), body cpu"));
    assert_non_null(strstr(text, "the heads of 3 of"));
    free(text);
}

static void no_line_passes_the_width_or_leaves_ascii(void **state)
{
    (void)state;
    struct sample s;
    struct ks_error err;
    sample_init(&s);
    s.arms[FAILED].why = "a\tword\x1B[31m that is "
                         "longerthanalineofthenarrowestterminalthatthereisandthensome \xE2\x82\xAC";
    for (int width = 40; width < 200; width++) {
        char *text = ks_report_table(&s.snapshot, width, &err), *rest = text, *line;
        assert_non_null(text);
        while ((line = strsep(&rest, "\n"))) {
            assert_in_range(strlen(line), 0, (size_t)width);
            for (const char *c = line; *c; c++)
                assert_in_range(*c, 0x20, 0x7E);
            assert_true(!*line || line[strlen(line) - 1] != ' ');
        }
        free(text);
    }
}

/* ------------------------------------------------------------------ numbers as text */

static void digits_are_significant_ones(void **state)
{
    (void)state;
    static const struct {
        double x;
        int digits;
        bool sign;
        const char *wanted;
    } cases[] = {
        {0.00029624, 3, false, "0.000296"},
        {0.03413, 3, false, "0.0341"},
        {12.3456, 3, false, "12.3"},
        {1234.5, 3, false, "1234"},
        {0.09996, 3, false, "0.100"},
        {9.9999, 3, false, "10.0"},
        {6.055998, 5, false, "6.0560"},
        {1e-9, 3, false, "1.00e-09"},
        {123456789, 5, false, "1.2346e+08"},
        {0, 3, false, "0"},
        {-0.00164, 3, true, "-0.00164"},
        {0.147, 3, true, "+0.147"},
        {NAN, 3, false, "-"},
        {INFINITY, 3, true, "inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[KS_CELL];
        ks_report_digits(text, cases[i].x, cases[i].digits, cases[i].sign);
        assert_string_equal(text, cases[i].wanted);
    }
}

static void a_value_stops_where_its_interval_does(void **state)
{
    (void)state;
    static const struct {
        double x, half;
        const char *value, *width;
    } cases[] = {
        {0.034133, 0.00041, "0.03413", "0.00041"},
        {0.00029624, 0.0000043, "0.0002962", "0.0000043"},
        {0.41273, 0.0995, "0.41", "0.10"},
        {0.5, 0.00000012, "0.500000", "0.000000"},
        {0.034133, NAN, "0.03413", "-"},
        {INFINITY, NAN, "inf", "-"},
        {0, 0, "0", "0"},
        {523.7, 130, "523.7", "130"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char value[KS_CELL], half[KS_CELL];
        ks_report_interval(value, half, cases[i].x, cases[i].half);
        assert_string_equal(value, cases[i].value);
        assert_string_equal(half, cases[i].width);
    }
}

static void sizes_are_decimal_and_counts_are_grouped(void **state)
{
    (void)state;
    char text[KS_CELL];
    ks_report_bytes(text, 999);
    assert_string_equal(text, "999 B");
    ks_report_bytes(text, 3645952);
    assert_string_equal(text, "3.65 MB");
    ks_report_bytes(text, 999996000);
    assert_string_equal(text, "1.00 GB");
    ks_report_bytes(text, UINT64_MAX);
    assert_string_equal(text, "18.45 EB");
    ks_report_count(text, 71732);
    assert_string_equal(text, "71 732");
    ks_report_count(text, UINT64_MAX);
    assert_string_equal(text, "18 446 744 073 709 551 615");
    ks_report_count(text, 100);
    assert_string_equal(text, "100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_columns_read_as_they_did),
        cmocka_unit_test(a_wide_terminal_gets_every_column),
        cmocka_unit_test(a_narrow_terminal_gets_what_matters),
        cmocka_unit_test(a_stopped_run_says_how_far_it_came),
        cmocka_unit_test(what_fills_no_window_is_told),
        cmocka_unit_test(what_the_cpu_did_for_a_device_that_failed_is_told),
        cmocka_unit_test(no_line_passes_the_width_or_leaves_ascii),
        cmocka_unit_test(digits_are_significant_ones),
        cmocka_unit_test(a_value_stops_where_its_interval_does),
        cmocka_unit_test(sizes_are_decimal_and_counts_are_grouped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

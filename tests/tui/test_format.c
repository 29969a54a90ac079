#include "tests/testing.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "tui/screen/axis.h"
#include "tui/screen/format.h"

static void assert_nats(double v, const char *expected)
{
    char text[KS_FORMAT_SIZE];
    ks_format_nats(text, v);
    assert_string_equal(text, expected);
    assert_int_equal(strlen(text), KS_NATS_COLUMNS);
}

static void nats_have_three_digits_with_the_point_in_the_third_column(void **state)
{
    (void)state;
    assert_nats(0.000312, " 0.000312");
    assert_nats(0.0114161, " 0.0114  ");
    assert_nats(0.231, " 0.231   ");
    assert_nats(4.3649, " 4.36    ");
    assert_nats(12.345, "12.3     ");
    assert_nats(0, " 0       ");
    assert_nats(NAN, " -       ");
    assert_nats(INFINITY, " inf     ");
    assert_nats(0.00003124, " 3.12e-05");
    assert_nats(123.4, " 123     ");
    assert_nats(1234.5, " 1.23e+03");
}

static void rounding_up_does_not_make_a_fourth_digit(void **state)
{
    (void)state;
    assert_nats(0.0099996, " 0.0100  ");
    assert_nats(0.99996, " 1.00    ");
    assert_nats(9.9996, "10.0     ");
    assert_nats(99.96, " 100     ");
    assert_nats(0.000099996, " 0.000100");
}

static void every_magnitude_keeps_the_width_and_the_point(void **state)
{
    (void)state;
    char text[KS_FORMAT_SIZE];
    for (int exponent = -30; exponent <= 30; exponent++) {
        for (int digit = 1; digit <= 9; digit++) {
            ks_format_nats(text, digit * pow(10, exponent));
            assert_int_equal(strlen(text), KS_NATS_COLUMNS);
            const char *point = strchr(text, '.');
            assert_true(!point || point == text + 2);
            ks_format_nats_error(text, digit * pow(10, exponent));
            assert_int_equal(strlen(text), KS_NATS_COLUMNS);
        }
    }
}

static void assert_error(double v, const char *expected)
{
    char text[KS_FORMAT_SIZE];
    ks_format_nats_error(text, v);
    assert_string_equal(text, expected);
}

static void errors_have_two_digits_or_six_decimals(void **state)
{
    (void)state;
    assert_error(0.00021547, " 0.00022 ");
    assert_error(0.0000058868, " 0.000006");
    assert_error(0.0000004, " 4.0e-07 ");
    assert_error(0.123, " 0.12    ");
    assert_error(1.26, " 1.3     ");
    assert_error(NAN, " -       ");
    assert_error(0, " 0       ");
}

static void assert_fixed(double v, int columns, int decimals, int signed_, const char *expected)
{
    char text[KS_FORMAT_SIZE];
    ks_format_fixed(text, v, columns, decimals, signed_);
    assert_string_equal(text, expected);
}

static void fixed_numbers_give_up_decimals_before_they_overflow(void **state)
{
    (void)state;
    assert_fixed(8.3142, 7, 3, 0, "  8.314");
    assert_fixed(999.9996, 7, 3, 0, "1000.00");
    assert_fixed(12345.67, 7, 3, 0, "12345.7");
    assert_fixed(1234567.8, 7, 3, 0, "1234568");
    assert_fixed(12345678.9, 7, 3, 0, "1.2e+07");
    assert_fixed(INFINITY, 7, 3, 0, "    inf");
    assert_fixed(NAN, 7, 3, 1, "      -");
    assert_fixed(0.0021, 7, 3, 1, " +0.002");
    assert_fixed(-0.0001, 7, 3, 1, " +0.000");
    assert_fixed(-0.0006, 7, 3, 1, " -0.001");
    assert_fixed(-12.3456, 7, 3, 1, "-12.346");
}

static void assert_percent(double fraction, const char *expected)
{
    char text[KS_FORMAT_SIZE];
    ks_format_percent(text, fraction);
    assert_string_equal(text, expected);
}

static void a_percentage_is_whole_only_when_it_is(void **state)
{
    (void)state;
    assert_percent(0.99207, " 99.21");
    assert_percent(1, "100.00");
    assert_percent(0.999999, " 99.99");
    assert_percent(0, "  0.00");
    assert_percent(0.0000001, "  0.01");
    assert_percent(NAN, "     -");
}

static void assert_bytes(uint64_t bytes, const char *expected)
{
    char text[KS_FORMAT_SIZE];
    ks_format_bytes(text, bytes);
    assert_string_equal(text, expected);
}

static void bytes_have_three_digits_and_a_unit(void **state)
{
    (void)state;
    assert_bytes(0, "    0 B");
    assert_bytes(999, "  999 B");
    assert_bytes(1000, "1.00 kB");
    assert_bytes(3650000, "3.65 MB");
    assert_bytes(144811008, " 145 MB");
    assert_bytes(99960000, " 100 MB");
    assert_bytes(999600000, "1.00 GB");
    assert_bytes(UINT64_MAX, "18.4 EB");
}

static void assert_count(uint64_t n, const char *grouped, const char *short_)
{
    char text[KS_FORMAT_SIZE];
    ks_format_count(text, n);
    assert_string_equal(text, grouped);
    ks_format_count_short(text, n);
    assert_string_equal(text, short_);
}

static void counts_are_grouped_or_short(void **state)
{
    (void)state;
    assert_count(0, "0", "0");
    assert_count(999, "999", "999");
    assert_count(1000, "1 000", "1k");
    assert_count(1500, "1 500", "1.5k");
    assert_count(75776, "75 776", "76k");
    assert_count(2000000, "2 000 000", "2M");
    assert_count(999600, "999 600", "1M");
    assert_count(UINT64_MAX, "18 446 744 073 709 551 615", "18E");
}

static void assert_duration(double seconds, const char *expected)
{
    char text[KS_FORMAT_SIZE];
    ks_format_duration(text, seconds);
    assert_string_equal(text, expected);
}

static void durations_have_the_units_that_matter(void **state)
{
    (void)state;
    assert_duration(0, "0s");
    assert_duration(42.4, "42s");
    assert_duration(59.6, "1m 00s");
    assert_duration(580, "9m 40s");
    assert_duration(660, "11m");
    assert_duration(12000, "3h 20m");
    assert_duration(36000, "10h");
    assert_duration(187200, "2d 04h");
    assert_duration(40.0 * 86400, "40d");
    assert_duration(1e300, ">999d");
    assert_duration(INFINITY, ">999d");
    assert_duration(NAN, "-");
    assert_duration(-1, "-");
}

static void the_clock_is_local_time(void **state)
{
    (void)state;
    char text[KS_FORMAT_SIZE];
    setenv("TZ", "XYZ-2", 1); /* two hours east */
    tzset();
    ks_format_clock(text, 36251000000000);
    assert_string_equal(text, "12:04:11");
}

/* ------------------------------------------------------------------ the histogram's axis */

static void an_axis_fits_counts_every_bin_once_and_covers_its_decades(void **state)
{
    (void)state;
    uint64_t hist[KS_HIST_BINS];
    for (int b = 0; b < KS_HIST_BINS; b++)
        hist[b] = 1;
    for (int width = 1; width <= 260; width++) {
        for (int low = -12; low < 4; low++) {
            for (int high = low + 1; high <= 4; high++) {
                struct ks_axis a = ks_axis_make(low, high, width);
                assert_true(a.columns <= width && a.columns >= 1);
                assert_true(a.low <= low && a.high >= high);
                assert_true(a.bins_per_column == 1 || a.columns_per_bin == 1);
                uint64_t sum = 0;
                for (int x = 0; x < a.columns; x += a.columns_per_bin)
                    sum += ks_axis_count(&a, hist, x);
                uint64_t bins = (uint64_t)(a.high - a.low) * 10;
                assert_true(a.bins_per_column > 10 ? sum >= bins : sum == bins);
            }
        }
    }
}

static void a_value_is_in_the_column_that_counts_it(void **state)
{
    (void)state;
    struct ks_axis a = ks_axis_make(-4, 0, 40); /* a bin a column */
    assert_int_equal(a.columns, 40);
    assert_int_equal(ks_axis_column(&a, 0.00011), 0);
    assert_int_equal(ks_axis_column(&a, 0.0011), 10);
    assert_int_equal(ks_axis_column(&a, 0.9), 39);
    assert_int_equal(ks_axis_column(&a, 1.1), 40);
    assert_int_equal(ks_axis_column(&a, INFINITY), 40);
    assert_int_equal(ks_axis_column(&a, 0.00009), -1);
    assert_int_equal(ks_axis_column(&a, 0), -1);
    assert_int_equal(ks_axis_column(&a, NAN), -1);
    assert_int_equal(ks_axis_decade(&a, -2), 20);
}

static void the_top_of_an_axis_is_easy_to_read_and_near(void **state)
{
    (void)state;
    assert_int_equal(ks_axis_nice(1), 1);
    assert_int_equal(ks_axis_nice(7), 8);
    assert_int_equal(ks_axis_nice(12), 15);
    assert_int_equal(ks_axis_nice(4440), 5000);
    for (uint64_t n = 1; n < 1000000; n += 1 + n / 7) {
        assert_true(ks_axis_nice(n) >= n);
        assert_true(ks_axis_nice(n) <= 2 * n);
    }
    assert_true(ks_axis_nice(UINT64_MAX) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nats_have_three_digits_with_the_point_in_the_third_column),
        cmocka_unit_test(rounding_up_does_not_make_a_fourth_digit),
        cmocka_unit_test(every_magnitude_keeps_the_width_and_the_point),
        cmocka_unit_test(errors_have_two_digits_or_six_decimals),
        cmocka_unit_test(fixed_numbers_give_up_decimals_before_they_overflow),
        cmocka_unit_test(a_percentage_is_whole_only_when_it_is),
        cmocka_unit_test(bytes_have_three_digits_and_a_unit),
        cmocka_unit_test(counts_are_grouped_or_short),
        cmocka_unit_test(durations_have_the_units_that_matter),
        cmocka_unit_test(the_clock_is_local_time),
        cmocka_unit_test(an_axis_fits_counts_every_bin_once_and_covers_its_decades),
        cmocka_unit_test(a_value_is_in_the_column_that_counts_it),
        cmocka_unit_test(the_top_of_an_axis_is_easy_to_read_and_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

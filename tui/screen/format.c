#include "tui/screen/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The text of a value that has no digits, or NULL. */
static const char *wordy(double v)
{
    if (isnan(v))
        return "-";
    if (isinf(v))
        return v > 0 ? "inf" : "-inf";
    return NULL;
}

/* The power of ten of v's first digit once it is rounded to three of them. */
static int exponent_of_three(double v)
{
    char digits[KS_FORMAT_SIZE];
    snprintf(digits, sizeof digits, "%.2e", v);
    return atoi(strchr(digits, 'e') + 1);
}

void ks_format_nats_short(char out[KS_FORMAT_SIZE], double nats)
{
    if (wordy(nats)) {
        snprintf(out, KS_FORMAT_SIZE, "%s", wordy(nats));
        return;
    }
    if (nats == 0) {
        snprintf(out, KS_FORMAT_SIZE, "0");
        return;
    }
    int exponent = exponent_of_three(nats);
    if (exponent < -4 || exponent > 1)
        snprintf(out, KS_FORMAT_SIZE, exponent == 2 ? "%.0f" : "%.2e", nats);
    else
        snprintf(out, KS_FORMAT_SIZE, "%.*f", 2 - exponent, nats);
}

/* Pads text so that its point, or the place for one, is in the third column. */
static void pad_nats(char out[KS_FORMAT_SIZE], const char *text)
{
    const char *point = strchr(text, '.');
    bool wide = point && point - text > 1;
    snprintf(out, KS_FORMAT_SIZE, "%s%-*.20s", wide ? "" : " ",
             wide ? KS_NATS_COLUMNS : KS_NATS_COLUMNS - 1, text);
}

void ks_format_nats(char out[KS_FORMAT_SIZE], double nats)
{
    char text[KS_FORMAT_SIZE];
    ks_format_nats_short(text, nats);
    pad_nats(out, text);
}

void ks_format_nats_error(char out[KS_FORMAT_SIZE], double nats)
{
    char text[KS_FORMAT_SIZE];
    if (wordy(nats) || nats == 0 || nats >= 10) {
        ks_format_nats(out, nats);
        return;
    }
    int decimals = 1 - exponent_of_three(nats);
    if (nats < 5e-7)
        snprintf(text, sizeof text, "%.1e", nats);
    else
        snprintf(text, sizeof text, "%.*f", decimals < 6 ? decimals : 6, nats);
    pad_nats(out, text);
}

/* "-0.00" says nothing that "0.00" does not. */
static double without_negative_zero(double v, int decimals)
{
    return fabs(v) * pow(10, decimals) < 0.5 ? 0.0 : v;
}

void ks_format_fixed(char out[KS_FORMAT_SIZE], double v, int columns, int decimals, int signed_)
{
    if (wordy(v)) {
        snprintf(out, KS_FORMAT_SIZE, "%*s", columns, wordy(v));
        return;
    }
    for (int d = decimals; d >= 0; d--) {
        double shown = without_negative_zero(v, d);
        int n = snprintf(out, KS_FORMAT_SIZE, signed_ ? "%+*.*f" : "%*.*f", columns, d, shown);
        if (n <= columns)
            return;
    }
    for (int d = 2; d >= 0; d--) {
        int n = snprintf(out, KS_FORMAT_SIZE, signed_ ? "%+*.*e" : "%*.*e", columns, d, v);
        if (n <= columns)
            return;
    }
}

void ks_format_percent(char out[KS_FORMAT_SIZE], double fraction)
{
    double percent = fraction * 100;
    if (percent > 99.99 && percent < 100)
        percent = 99.99;
    if (percent > 0 && percent < 0.01)
        percent = 0.01;
    ks_format_fixed(out, percent, 6, 2, 0);
}

void ks_format_bytes(char out[KS_FORMAT_SIZE], uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)bytes;
    size_t unit = 0;
    while (v >= 999.5 && unit < 6) {
        v /= 1000;
        unit++;
    }
    int decimals = unit == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    char text[KS_FORMAT_SIZE];
    snprintf(text, sizeof text, "%.*f %s", decimals, v, units[unit]);
    snprintf(out, KS_FORMAT_SIZE, "%7s", text);
}

void ks_format_count(char out[KS_FORMAT_SIZE], uint64_t n)
{
    char digits[KS_FORMAT_SIZE];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    int at = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ' ';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

void ks_format_count_short(char out[KS_FORMAT_SIZE], uint64_t n)
{
    static const char units[] = "kMGTPE";
    if (n < 1000) {
        snprintf(out, KS_FORMAT_SIZE, "%" PRIu64, n);
        return;
    }
    double v = (double)n / 1000;
    int unit = 0;
    while (v >= 999.5 && unit < 5) {
        v /= 1000;
        unit++;
    }
    int decimals = v < 9.95 && fabs(v - round(v)) > 0.049 ? 1 : 0;
    snprintf(out, KS_FORMAT_SIZE, "%.*f%c", decimals, v, units[unit]);
}

void ks_format_duration(char out[KS_FORMAT_SIZE], double seconds)
{
    if (!(seconds >= 0)) {
        snprintf(out, KS_FORMAT_SIZE, "-");
        return;
    }
    if (seconds > 999.0 * 86400) {
        snprintf(out, KS_FORMAT_SIZE, ">999d");
        return;
    }
    static const struct {
        const char *name;
        long seconds, of_next;
    } units[] = {{"d", 86400, 24}, {"h", 3600, 60}, {"m", 60, 60}, {"s", 1, 1}};
    long s = lround(seconds);
    int i = 0;
    while (i < 3 && s < units[i].seconds)
        i++;
    long large = s / units[i].seconds;
    if (i == 3 || large >= 10)
        snprintf(out, KS_FORMAT_SIZE, "%ld%s", large, units[i].name);
    else
        snprintf(out, KS_FORMAT_SIZE, "%ld%s %02d%s", large, units[i].name,
                 (int)(s / units[i + 1].seconds % units[i].of_next), units[i + 1].name);
}

void ks_format_clock(char out[KS_FORMAT_SIZE], int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm local;
    if (!localtime_r(&seconds, &local) || !strftime(out, KS_FORMAT_SIZE, "%H:%M:%S", &local))
        snprintf(out, KS_FORMAT_SIZE, "--:--:--");
}

/*
 * Numbers as the screen shows them: of fixed width, so that columns stay where they are while
 * values change. A value that does not exist (NaN) is "-", an infinite one "inf". Pure ASCII, with
 * a point: the program leaves LC_NUMERIC alone.
 *
 * Pure functions but for the clock, which reads the time zone; any thread.
 */
#ifndef KS_TUI_SCREEN_FORMAT_H
#define KS_TUI_SCREEN_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define KS_FORMAT_SIZE 32

/* What is shown behind a plus-minus: half of a 95 % interval, in standard errors. */
#define KS_INTERVAL_SEMS 1.96

/* Nats: three significant digits, 9 columns with the point always in the third, so that a glance
 * down a column compares magnitudes: " 0.000312", " 0.0114  ", "12.3     ", " 3.12e-05". */
#define KS_NATS_COLUMNS 9
void ks_format_nats(char out[KS_FORMAT_SIZE], double nats);
/* An uncertainty, in the same columns, with two significant digits or six decimals. */
void ks_format_nats_error(char out[KS_FORMAT_SIZE], double nats);
/* Three significant digits without the padding. */
void ks_format_nats_short(char out[KS_FORMAT_SIZE], double nats);

/* Right-aligned in columns (<= 20) with as many of decimals as fit, with a sign if signed_. A value
 * that fits with none is in exponents. */
void ks_format_fixed(char out[KS_FORMAT_SIZE], double v, int columns, int decimals, int signed_);

/* A fraction of 1 in percent with two decimals, 6 columns: " 99.21", "100.00". Never rounded up to
 * 100.00 nor down to 0.00 when it is not. */
void ks_format_percent(char out[KS_FORMAT_SIZE], double fraction);

/* Bytes in three digits of SI units, 7 columns: " 143 MB", "3.65 MB". */
void ks_format_bytes(char out[KS_FORMAT_SIZE], uint64_t bytes);

/* "75 776". */
void ks_format_count(char out[KS_FORMAT_SIZE], uint64_t n);
/* At most 4 columns for the labels of an axis: "800", "1.5k", "12k", "2M". */
void ks_format_count_short(char out[KS_FORMAT_SIZE], uint64_t n);

/* One unit, and the next one while there are under ten: "42s", "9m 05s", "11m", "3h 20m", "2d 04h";
 * "-" for a NaN or a negative one. */
void ks_format_duration(char out[KS_FORMAT_SIZE], double seconds);

/* Local time of day, "12:04:11". */
void ks_format_clock(char out[KS_FORMAT_SIZE], int64_t unix_ns);

#endif

#include "engine/report/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ facts */

int ks_report_ready(const struct ks_snapshot *s, struct ks_error *err)
{
    if (s->state == KS_RUN_FAILED && (!s->facts || s->positions == 0))
        return ks_fail(err, s->failure_code, "%s", s->failure);
    if (!s->facts)
        return ks_fail(err, KS_BAD_INPUT, "no positions: the run was still at %s",
                       s->doing[0] ? s->doing : "its beginning");
    if (s->positions == 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "no positions: the run ended before its first window was done");
    return 0;
}

const char *ks_report_state(enum ks_run_state state)
{
    static const char *const names[] = {"preparing", "running", "paused",
                                        "done",      "stopped", "failed"};
    return names[state];
}

const char *ks_report_backend(const struct ks_facts *f, char *out, size_t size)
{
    if (strcmp(f->backend_head, f->backend_body) == 0)
        return f->backend_body;
    snprintf(out, size, "head %s, body %s", f->backend_head, f->backend_body);
    return out;
}

bool ks_report_chunks(const struct ks_facts *f)
{
    return strcmp(f->scoring, "llama") == 0;
}

const struct ks_document_facts *ks_report_document(const struct ks_facts *f, uint32_t document)
{
    return f->document && document < f->documents ? &f->document[document] : NULL;
}

/* ------------------------------------------------------------------ numbers */

/* floor(log10(|x|)) of x as rounded to so many digits; x finite, not 0. */
static int exponent_of(double x, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    const char *e = strchr(text, 'e');
    return e ? atoi(e + 1) : 0;
}

static bool is_special(char out[KS_CELL], double x)
{
    if (isnan(x))
        snprintf(out, KS_CELL, "-");
    else if (isinf(x))
        snprintf(out, KS_CELL, x > 0 ? "inf" : "-inf");
    else if (x == 0)
        snprintf(out, KS_CELL, "0");
    else
        return false;
    return true;
}

void ks_report_digits(char out[KS_CELL], double x, int digits, bool sign)
{
    if (is_special(out, x))
        return;
    int e = exponent_of(x, digits), decimals = digits - 1 - e;
    if (e < -7 || e > 6)
        snprintf(out, KS_CELL, sign ? "%+.*e" : "%.*e", digits - 1, x);
    else
        snprintf(out, KS_CELL, sign ? "%+.*f" : "%.*f", decimals > 0 ? decimals : 0, x);
}

void ks_report_interval(char value[KS_CELL], char half[KS_CELL], double x, double half_width)
{
    if (!isfinite(x) || !isfinite(half_width) || half_width == 0 || x == 0) {
        ks_report_digits(value, x, 4, false);
        ks_report_digits(half, half_width, 2, false);
        return;
    }
    int decimals = 1 - exponent_of(half_width, 2), most = 5 - exponent_of(x, 6);
    if (decimals > most)
        decimals = most;
    if (decimals > 8 || decimals < 0) {
        ks_report_digits(value, x, decimals < 0 ? 4 : 3, false);
        ks_report_digits(half, half_width, 2, false);
        return;
    }
    snprintf(value, KS_CELL, "%.*f", decimals, x);
    snprintf(half, KS_CELL, "%.*f", decimals, half_width);
}

void ks_report_bytes(char out[KS_CELL], uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        snprintf(out, KS_CELL, "%u B", (unsigned)bytes);
        return;
    }
    double value = (double)bytes / 1000;
    size_t unit = 0;
    while (value >= 999.995 && unit < 5) {
        value /= 1000;
        unit++;
    }
    snprintf(out, KS_CELL, "%.2f %s", value, units[unit]);
}

void ks_report_count(char out[KS_CELL], uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    char *to = out;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ' ';
        *to++ = digits[i];
    }
    *to = '\0';
}

/* ------------------------------------------------------------------ lines */

/* A copy of at most one column a character. The caller frees it. */
static char *plain(const char *text)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    if (!out)
        return NULL;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if ((*c & 0xC0) == 0x80)
            continue; /* the rest of a character in UTF-8 */
        *to++ = *c < 0x20 || *c == 0x7F ? ' ' : *c > 0x7E ? '?' : (char)*c;
    }
    *to = '\0';
    return out;
}

/* How much of text goes on a line of `room` columns. */
static size_t line_length(const char *text, size_t room)
{
    size_t len = strlen(text);
    if (len <= room)
        return len;
    for (size_t i = room; i > 0; i--) {
        if (text[i] == ' ')
            return i;
    }
    return room;
}

int ks_report_wrapped(struct ks_buf *out, const char *text, int width, int indent,
                      struct ks_error *err)
{
    char *copy = plain(text);
    if (!copy)
        return ks_fail_memory(err, strlen(text) + 1, "a line of the report");
    if (indent > width / 2)
        indent = 0;
    int rc = 0, margin = 0;
    for (const char *rest = copy; rc == 0;) {
        size_t len = line_length(rest, (size_t)(width - margin));
        rc = ks_buf_printf(out, err, "%*s%.*s\n", margin, "", (int)len, rest);
        rest += len;
        while (*rest == ' ')
            rest++;
        margin = indent;
        if (!*rest)
            break;
    }
    free(copy);
    return rc;
}

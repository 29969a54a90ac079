#include "engine/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/text.h"

/* Makes one line of a text that wanted so many bytes: names in it may come from anywhere. */
static void complete(struct ks_error *err, size_t wanted)
{
    if (wanted >= sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
    ks_text_one_line(err->text);
}

/* Puts ": more" behind the `at` bytes that are there. */
static void append(struct ks_error *err, size_t at, const char *more)
{
    if (at < sizeof err->text) {
        int n = snprintf(err->text + at, sizeof err->text - at, ": %s", more);
        at += n < 0 ? 0 : (size_t)n;
    }
    complete(err, at);
}

int ks_fail(struct ks_error *err, enum ks_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->code = code;
    complete(err, n < 0 ? 0 : (size_t)n);
    return -1;
}

int ks_fail_errno(struct ks_error *err, const char *format, ...)
{
    char reason[128];
    const char *why = strerror_r(errno, reason, sizeof reason);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->code = KS_SYSTEM;
    append(err, n < 0 ? 0 : (size_t)n, why);
    return -1;
}

int ks_fail_memory(struct ks_error *err, unsigned long long bytes, const char *what)
{
    return ks_fail(err, KS_NO_MEMORY, "out of memory: %llu bytes for %s", bytes, what);
}

int ks_fail_prefix(struct ks_error *err, const char *format, ...)
{
    struct ks_error old = *err;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    append(err, n < 0 ? 0 : (size_t)n, old.text);
    return -1;
}

int ks_fail_advice(struct ks_error *err, const char *advice)
{
    size_t at = strlen(err->text);
    int n = snprintf(err->text + at, sizeof err->text - at, "; %s", advice);
    complete(err, at + (n < 0 ? 0 : (size_t)n));
    return -1;
}

#include "engine/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void cut_with_dots(struct ks_error *err, size_t wanted)
{
    if (wanted >= sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
}

int ks_fail(struct ks_error *err, enum ks_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->code = code;
    cut_with_dots(err, n < 0 ? 0 : (size_t)n);
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
    size_t at = n < 0 ? 0 : (size_t)n;
    if (at < sizeof err->text) {
        n = snprintf(err->text + at, sizeof err->text - at, ": %s", why);
        at += n < 0 ? 0 : (size_t)n;
    }
    err->code = KS_SYSTEM;
    cut_with_dots(err, at);
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
    size_t at = n < 0 ? 0 : (size_t)n;
    if (at < sizeof err->text) {
        n = snprintf(err->text + at, sizeof err->text - at, ": %s", old.text);
        at += n < 0 ? 0 : (size_t)n;
    }
    cut_with_dots(err, at);
    return -1;
}

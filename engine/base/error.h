/*
 * Errors as values.
 *
 * A fallible function takes `struct ks_error *err` last and returns 0 or -1 (or a pointer, NULL on
 * failure). On failure it fills *err once, at the place that knows most, and leaves its outputs
 * untouched. On success *err is not written. err may never be NULL.
 *
 * The text is one line for the person who must act: the file, the place in it (byte offset, tensor,
 * line), what was found, what to do. No trailing newline, no program name. Control characters in
 * what is quoted become spaces, so that it can be shown anywhere.
 *
 * Threads: a ks_error belongs to the caller; there is no shared state.
 */
#ifndef KS_ENGINE_BASE_ERROR_H
#define KS_ENGINE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

enum ks_code {
    KS_OK = 0,
    KS_BAD_INPUT,   /* a file, scenario or argument is wrong; exit 2 */
    KS_UNSUPPORTED, /* well-formed, but this program does not do it; exit 2 */
    KS_SYSTEM,      /* the operating system refused (errno is in the text); exit 2 */
    KS_NO_MEMORY,   /* an allocation failed; the text says of what and how large; exit 3 */
    KS_CANCELLED,   /* the user stopped it; exit 130 */
    KS_INTERNAL,    /* our own mistake, caught; exit 3 */
    KS_TOO_EARLY,   /* another process is still making it: to be asked again; exit 2 */
};

struct ks_error {
    enum ks_code code;
    char text[1024]; /* NUL-terminated, cut with "..." where it does not fit */
};

/* Fills *err and returns -1, so that a failing path reads `return ks_fail(err, KS_..., "...")`. */
int ks_fail(struct ks_error *err, enum ks_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull(1, 3)));

/* The same with strerror(errno) appended as ": No such file or directory". */
int ks_fail_errno(struct ks_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));

/* "out of memory: BYTES bytes for WHAT". */
int ks_fail_memory(struct ks_error *err, unsigned long long bytes, const char *what);

/* Puts "prefix: " before the text that is there, for a caller who knows the file. Returns -1. */
int ks_fail_prefix(struct ks_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));

/* Puts "; advice" behind the text, for a caller who knows what to do about it. Returns -1. */
int ks_fail_advice(struct ks_error *err, const char *advice);

#endif

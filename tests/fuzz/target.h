/*
 * What the fuzz targets share. Each file here but replay.c is one target: it gives a parser any
 * bytes, and aborts where the parser breaks a promise of its header. A sanitizer sees the rest.
 *
 * libFuzzer's calls: LLVMFuzzerTestOneInput for each input, one at a time, returns 0.
 */
#ifndef KS_TESTS_FUZZ_TARGET_H
#define KS_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* A macro, to say which promise was broken. */
#define target_must(holds) target_check((holds), __FILE__, __LINE__, #holds)
static inline void target_check(bool holds, const char *file, int line, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
    abort();
}

/* For parsers that take a path: writes bytes to a file of that name in this process' own folder,
 * which is removed at its end, and returns the path; valid until the next call.
 * (folder.c) */
const char *target_file(const char *name, const void *bytes, size_t len);
/* The path of that name in the folder. Valid until the next call. */
const char *target_path(const char *name);
/* All bytes of a file below tests/data, malloc'ed. */
uint8_t *target_data(const char *name, size_t *len);

#endif

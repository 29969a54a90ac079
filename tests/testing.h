/*
 * What every test program needs: cmocka with its prerequisites, and the way to tests/data.
 * Include it first.
 */
#ifndef KS_TESTS_TESTING_H
#define KS_TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The path of a file below tests/data. Valid until the fourth next call. */
static inline const char *test_data(const char *name)
{
    static char paths[4][1024];
    static unsigned next;
    const char *folder = getenv("KS_TEST_DATA");
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder ? folder : "tests/data", name);
    return path;
}

/* The whole file, malloc'ed, NUL behind its end; fails the test where it can't be read. */
static inline char *test_read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, f), size);
    bytes[size] = '\0';
    fclose(f);
    if (len)
        *len = (size_t)size;
    return bytes;
}

#endif

/* Text against a file of tests/data. With KS_UPDATE_GOLDEN set, the file is written instead. */
#ifndef KS_TESTS_REPORT_GOLDEN_H
#define KS_TESTS_REPORT_GOLDEN_H

#include "tests/testing.h"

static inline void assert_golden(const char *text, const char *name)
{
    const char *path = test_data(name);
    if (getenv("KS_UPDATE_GOLDEN")) {
        FILE *f = fopen(path, "wb");
        if (!f)
            fail_msg("cannot write %s", path);
        fputs(text, f);
        fclose(f);
        return;
    }
    char *wanted = test_read_file(path, NULL);
    assert_string_equal(text, wanted);
    free(wanted);
}

#endif

/*
 * Vocabularies of the test data.
 */
#ifndef KS_TESTS_ENGINE_TEXT_FILES_H
#define KS_TESTS_ENGINE_TEXT_FILES_H

#include "tests/testing.h"

#include "engine/gguf/gguf.h"

/* Fails the test where it can't be opened; the caller closes it. */
static inline struct ks_gguf *open_file(const char *name)
{
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(test_data(name), &err);
    if (!g)
        fail_msg("%s", err.text);
    return g;
}

#endif

/*
 * Corpus files: their bytes, and the lines of a .jsonl.
 *
 * A byte order mark says how a file is encoded and is no part of its text: UTF-8's is left out, and
 * a file in UTF-16 is refused. All other bytes stay as they are, line ends too.
 */
#ifndef KS_ENGINE_TEXT_DOCUMENT_SOURCE_H
#define KS_ENGINE_TEXT_DOCUMENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

struct ks_source {
    char *bytes;
    size_t len;
    /* Private: where the next line starts, and its number. */
    size_t at;
    uint32_t line;
};

/* Reads all of the regular file at path. Errors name it as shown. */
int ks_source_read(const char *path, const char *shown, struct ks_source *out,
                   struct ks_error *err);
void ks_source_finish(struct ks_source *s); /* accepts a zeroed one */

/* The next line that holds more than white space, without its end; false when there is none.
 * *number counts all lines from 1. */
bool ks_source_line(struct ks_source *s, const char **line, size_t *len, uint32_t *number);

#endif

/*
 * A file that comes into being whole or not at all. It is written beside its path, as PATH.part,
 * and takes the path's place when it is complete and on its disk; where a link leads to a file,
 * that file's place. What is there and is no regular file, a pipe or a device, is written as it
 * stands.
 *
 * Owned by the caller; one thread at a time.
 */
#ifndef KS_ENGINE_BASE_WHOLE_H
#define KS_ENGINE_BASE_WHOLE_H

#include <stddef.h>

#include "engine/base/error.h"

struct ks_whole_file {
    int fd;
    char *path;   /* as given, for messages */
    char *target; /* the file that is made; NULL where none is renamed */
    char *part;   /* its name until then */
};

/* On failure there is nothing to close. */
int ks_whole_open(struct ks_whole_file *w, const char *path, struct ks_error *err);
int ks_whole_write(struct ks_whole_file *w, const void *bytes, size_t len, struct ks_error *err);
/* failed 0: makes it whole. Else, or where that fails, nothing of it is left, and what was at the
 * path before still is. Returns failed, or -1 with *err. */
int ks_whole_close(struct ks_whole_file *w, int failed, struct ks_error *err);

#endif

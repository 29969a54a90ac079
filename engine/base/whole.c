#include "engine/base/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void finish(struct ks_whole_file *w)
{
    free(w->path);
    free(w->target);
    free(w->part);
    *w = (struct ks_whole_file){.fd = -1};
}

static int name_part(struct ks_whole_file *w, bool there, struct ks_error *err)
{
    w->target = there ? realpath(w->path, NULL) : strdup(w->path);
    if (!w->target && there && errno != ENOMEM)
        return ks_fail_errno(err, "%s: cannot write", w->path);
    if (!w->target)
        return ks_fail_memory(err, strlen(w->path), "a file's name");
    size_t size = strlen(w->target) + sizeof ".part";
    w->part = malloc(size);
    if (!w->part)
        return ks_fail_memory(err, size, "a file's name");
    snprintf(w->part, size, "%s.part", w->target);
    return 0;
}

int ks_whole_open(struct ks_whole_file *w, const char *path, struct ks_error *err)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    *w = (struct ks_whole_file){.fd = -1, .path = strdup(path)};
    if (!w->path)
        return ks_fail_memory(err, strlen(path), "a file's name");
    int failed = !there || S_ISREG(st.st_mode) ? name_part(w, there, err) : 0;
    if (!failed) {
        const char *name = w->part ? w->part : path;
        int flags = O_WRONLY | O_CLOEXEC | (w->part ? O_CREAT | O_TRUNC : 0);
        w->fd = open(name, flags, 0666);
        failed = w->fd < 0 ? ks_fail_errno(err, "%s: cannot write", name) : 0;
    }
    if (failed)
        finish(w);
    return failed;
}

int ks_whole_write(struct ks_whole_file *w, const void *bytes, size_t len, struct ks_error *err)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(w->fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, "%s: cannot write", w->path);
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int ks_whole_close(struct ks_whole_file *w, int failed, struct ks_error *err)
{
    if (!failed && w->part && fsync(w->fd))
        failed = ks_fail_errno(err, "%s: cannot write", w->path);
    if (close(w->fd) && !failed)
        failed = ks_fail_errno(err, "%s: cannot write", w->path);
    if (!failed && w->part && rename(w->part, w->target))
        failed = ks_fail_errno(err, "%s: cannot write", w->path);
    if (failed && w->part)
        unlink(w->part);
    finish(w);
    return failed;
}

#include "tui/term/capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tui/term/signals.h"

int ks_capture_open(struct ks_capture *c, struct ks_error *err)
{
    int ends[2];
    *c = (struct ks_capture){.fd = -1, .real = -1};
    if (!isatty(STDERR_FILENO))
        return 0;
    /* Never blocking: the thread that empties the pipe may be the one that fills it. */
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return ks_fail_errno(err, "cannot make a pipe for standard error");
    int real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (real < 0 || dup2(ends[1], STDERR_FILENO) < 0) {
        ks_fail_errno(err, "cannot put standard error aside");
        if (real >= 0)
            close(real);
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    close(ends[1]);
    c->fd = ends[0];
    c->real = real;
    ks_signals_stderr(real, c->fd);
    return 0;
}

static void end_line(struct ks_capture *c, void (*put)(void *ctx, const char *line), void *ctx)
{
    while (c->len > 0 && c->line[c->len - 1] == '\r')
        c->len--;
    c->line[c->len] = '\0';
    if (c->len > 0)
        put(ctx, c->line);
    c->len = 0;
}

void ks_capture_read(struct ks_capture *c, void (*put)(void *ctx, const char *line), void *ctx)
{
    char bytes[512];
    ssize_t n;
    while (c->fd >= 0 && (n = read(c->fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (bytes[i] == '\n' || c->len == sizeof c->line - 1)
                end_line(c, put, ctx);
            if (bytes[i] != '\n')
                c->line[c->len++] = bytes[i];
        }
    }
}

void ks_capture_close(struct ks_capture *c)
{
    char bytes[512];
    ssize_t n;
    if (c->fd < 0)
        return;
    fflush(stderr);
    dup2(c->real, STDERR_FILENO);
    ks_signals_stderr(-1, -1);
    if (c->len > 0)
        fwrite(c->line, 1, c->len, stderr);
    while ((n = read(c->fd, bytes, sizeof bytes)) > 0)
        fwrite(bytes, 1, (size_t)n, stderr);
    fflush(stderr);
    close(c->fd);
    close(c->real);
    *c = (struct ks_capture){.fd = -1, .real = -1};
}

/*
 * Standard error while the screen is up: what libraries write there would tear the picture, so it
 * goes through a pipe, line by line, into the log. Where standard error is no terminal (2>file) it
 * is left alone. When a crash comes, signals.c gives it back.
 */
#ifndef KS_TUI_TERM_CAPTURE_H
#define KS_TUI_TERM_CAPTURE_H

#include <stddef.h>

#include "engine/base/error.h"

struct ks_capture {
    int fd;   /* polls readable; -1: nothing is captured */
    int real; /* the standard error of before */
    size_t len;
    char line[1024]; /* what has no end yet */
};

int ks_capture_open(struct ks_capture *c, struct ks_error *err);
/* Gives every whole line to put; a longer one than fits comes in pieces. */
void ks_capture_read(struct ks_capture *c, void (*put)(void *ctx, const char *line), void *ctx);
/* Writes what was not read yet to the standard error of before. */
void ks_capture_close(struct ks_capture *c);

#endif

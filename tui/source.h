/*
 * What the screen looks at: a run, seen through the few calls the screen needs. tui.c makes one of
 * a ks_run, watch.c one of a run file; tests make one that moves by itself.
 */
#ifndef KS_TUI_SOURCE_H
#define KS_TUI_SOURCE_H

#include "engine/engine.h"

struct ks_tui_source {
    void *ctx;
    /* The newest snapshot, never NULL; each one returned is given to release once. */
    const struct ks_snapshot *(*snapshot)(void *ctx);
    void (*release)(void *ctx, const struct ks_snapshot *s);
    /* Polls readable when there is a newer one. */
    int wake_fd;
    /* The person leaves: the run shall end. */
    void (*stop)(void *ctx, const char *why);
    /* A line that came on standard error, for the log. */
    void (*note)(void *ctx, enum ks_log_level level, const char *text);
    /* NULL: the run is this screen's. Else the screen only looks on: it says so, leaves without a
     * question, and calls this ten times a second to have news fetched; true: draw again, whether
     * or not there is a newer snapshot. */
    bool (*look)(void *ctx);
    /* With look: a line for the person about the file or who writes it, "" where there is none;
     * valid until the next look. *bad: it is an error. */
    const char *(*notice)(void *ctx, bool *bad);
};

#endif

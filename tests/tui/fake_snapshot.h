/*
 * A run that never ran: snapshots made by hand, the same on every machine, with plausible numbers.
 */
#ifndef KS_TESTS_TUI_FAKE_SNAPSHOT_H
#define KS_TESTS_TUI_FAKE_SNAPSHOT_H

#include "tui/source.h"

enum fake_kind {
    FAKE_PREPARING,    /* no facts yet, quantizing */
    FAKE_BUILDING,     /* facts are there, arms wait */
    FAKE_RUNNING,      /* six arms, the last one without a finite row */
    FAKE_TROUBLE,      /* arms that failed, were dropped, have some non-finite positions */
    FAKE_DONE,         /* all windows */
    FAKE_STOPPED,      /* some of them */
    FAKE_FAILED_EARLY, /* before there were facts */
    FAKE_FAILED_LATE,  /* with numbers */
    FAKE_MANY,         /* forty arms, odd names */
};

#define FAKE_WINDOWS 512

/* n_log: lines that the log holds in all, of which the newest 256 are in the snapshot. */
struct fake_source {
    enum fake_kind kind;
    size_t windows, n_log;
    uint64_t serial; /* raise it to make a new snapshot */
    const struct ks_snapshot *newest;
    int held;    /* references that were given out and not released */
    int stopped; /* calls of stop */
    char noted[256];
    int wake_fd;        /* -1: never wakes */
    const char *notice; /* NULL: the run is the screen's own; else it looks on, and this is told */
    bool bad;           /* the notice is an error */
};

/* A source that shows the fake; fake must stay where it is. */
struct ks_tui_source fake_source_of(struct fake_source *fake);
/* Forgets the newest snapshot; held must be 0 afterwards. */
void fake_source_finish(struct fake_source *fake);

#endif

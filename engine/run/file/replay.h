/*
 * From a run file's windows back to tallies. Numbers of a file are computed here, by the same
 * tallies that a run adds its windows to, whoever asks: a run that goes on, a report, a screen.
 */
#ifndef KS_ENGINE_RUN_FILE_REPLAY_H
#define KS_ENGINE_RUN_FILE_REPLAY_H

#include "engine/ruler/tally.h"
#include "engine/runfile/runfile.h"

/* An arm of the file, as far as it is replayed. */
struct ks_replay_arm {
    struct ks_tally *tally;
    struct ks_runfile_arm ended; /* as the file has it: RUNNING, or for good */
    bool over;                   /* it has no more windows */
};

struct ks_replay {
    struct ks_runfile *file;
    const struct ks_facts *facts; /* the file's, or equal ones */
    struct ks_tally *reference;
    struct ks_replay_arm *arms; /* (facts->n_arms) */
    size_t next;                /* which of its windows to replay, from 0 */
};

/* Reads how the arms ended; strings are in the arena. */
int ks_replay_arms(struct ks_replay *r, struct ks_arena *a, struct ks_error *err);
/* Adds the next window to all tallies; *w is that window, valid until the next call. *there false:
 * the file has no further one. On failure tallies are undefined. */
int ks_replay_window(struct ks_replay *r, struct ks_runfile_window *w, bool *there,
                     struct ks_error *err);

#endif

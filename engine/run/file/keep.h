/*
 * A run's file as the run's thread sees it: what is found goes in window by window, and a run that
 * is taken up again gets it back.
 *
 * A file that can't be written for now (a full disk, a lock) holds the run up: it pauses, says why
 * in the log, tries again until it works, and ends where somebody asks it to stop. All calls belong
 * to the run's thread but ks_keep_open, which comes before it.
 */
#ifndef KS_ENGINE_RUN_FILE_KEEP_H
#define KS_ENGINE_RUN_FILE_KEEP_H

#include "engine/run/file/worst.h"

struct ks_run;

struct ks_keep {
    struct ks_runfile *file; /* NULL: none is kept */
    bool fresh;              /* nothing was in it */
    bool ready;              /* what is in it is what the run has; until then it stays as it is */
    uint64_t next_line;      /* of the log, to write */
    uint8_t *tokens;         /* (vocab): 1 where the token's bytes are in the file */
    /* (arms) of what is in the file, and with the window that is being written. */
    struct ks_worst *worst, *worst_next;
    int64_t numbers_ns; /* when the arms' numbers were written last */
};

/* Opens the file that the plan names, if it names one. A plan that goes on with a file gets that
 * file's backend, or is refused. */
int ks_keep_open(struct ks_run *run, struct ks_error *err);
/* Puts the facts into a fresh file; holds those of another against the run's and refuses what
 * doesn't go together. Before the first window. */
int ks_keep_begin(struct ks_run *run, struct ks_error *err);
/* Takes windows back into the tallies, with hooks called as they were the first time. */
int ks_keep_replay(struct ks_run *run, struct ks_error *err);
/* The run's next window: rows[lane] (n), NULL for lanes that don't run. In the file when it
 * returns. */
int ks_keep_window(struct ks_run *run, const struct ks_runfile_window *w,
                   const struct ks_arm_row *const *rows, struct ks_error *err);
/* How far the run is: its counts and times, as of a run that goes on. failure is "". */
struct ks_runfile_progress ks_keep_progress(const struct ks_run *run);
/* How the run ends. */
int ks_keep_end(struct ks_run *run, enum ks_run_state state, const struct ks_error *failure,
                struct ks_error *err);
/* The last lines of the log, and one file. */
void ks_keep_close(struct ks_run *run);

#endif

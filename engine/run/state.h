/*
 * A run's private state, shared by the files of this folder.
 *
 *   run.c            the public face, the thread, its states
 *   prepare.c        corpora, windows, arms, facts: all that happens before the first window
 *   preflight.c      memory: batch size, or a refusal
 *   board/facts.c    what is fixed from then on
 *   file/            the run file: opened, filled, taken up again; and read by others
 *   measure.c        windows, batch by batch, into the tallies
 *   steer.c          hooks after a window, drops, pauses
 *   board/publish.c  tallies into snapshots, by board/fill.c
 *
 * Everything but the board belongs to the run's thread once ks_run_start was called.
 */
#ifndef KS_ENGINE_RUN_STATE_H
#define KS_ENGINE_RUN_STATE_H

#include <pthread.h>

#include "engine/engine.h"
#include "engine/ruler/tally.h"
#include "engine/run/arms/arms.h"
#include "engine/run/arms/choose.h"
#include "engine/run/arms/score.h"
#include "engine/run/arms/store.h"
#include "engine/run/arms/tree.h"
#include "engine/run/board/board.h"
#include "engine/run/file/keep.h"
#include "engine/run/windows.h"
#include "engine/text/corpus.h"

/* One model of the run: lane 0 is the reference, lane i + 1 the plan's arm i. */
struct ks_lane {
    struct ks_arm arm;
    enum ks_arm_state state;
    char why[1024];       /* "" unless dropped or failed */
    struct ks_body *body; /* scratch; lanes of equal hyperparameters share one */
    bool owns_body;
    struct ks_tally *tally;
    bool warned_nonfinite;
};

struct ks_run {
    struct ks_plan *plan;
    struct ks_board *board;
    struct ks_keep keep;    /* the run file */
    struct ks_facts *facts; /* the board's, NULL until prepared */

    enum ks_isa isa;
    int threads;
    size_t window, context_min;
    int top_k;
    int32_t bos; /* what later windows of a document begin with; -1: their own token */

    struct ks_cpu *cpu;
    struct ks_head_use head; /* where heads are multiplied */
    struct ks_cache *cache;  /* NULL: none */
    struct ks_store *store;  /* uses the cache */
    struct ks_lane *lanes;   /* (n_lanes) */
    size_t n_lanes;

    struct ks_corpus corpus;
    size_t *order; /* (n_documents): the run's document i is corpus.documents[order[i]] */
    struct ks_window *windows; /* of all corpora; of the run's shard alone once facts are made */
    size_t n_windows;
    size_t max_rows;         /* of a batch */
    uint64_t residual_bytes; /* that the tree of arms may keep */

    enum ks_run_state state;
    struct ks_error failure;
    size_t windows_done, positions_done, tokens_done, windows_on_cpu;
    int64_t prepare_ns, elapsed_ns, cpu_ns;
    double flops;
    int64_t published_at_ns, publish_cost_ns;

    pthread_t thread;
    bool started, joined;
};

/* The document that window w cuts. */
const struct ks_document *ks_run_document(const struct ks_run *run, const struct ks_window *w);

/* Positions that all windows score. */
size_t ks_run_positions(const struct ks_run *run);

/* prepare.c. Check what needs no corpus; then read, cut, build. */
int ks_run_check(struct ks_run *run, struct ks_error *err);
int ks_run_prepare(struct ks_run *run, struct ks_error *err);

/* preflight.c. Chooses max_rows and residual_bytes; refuses what memory cannot hold. After corpora,
 * before arms. */
int ks_run_preflight(struct ks_run *run, struct ks_error *err);

/* board/facts.c. After the corpora are read and the arms built. */
int ks_run_make_facts(struct ks_run *run, struct ks_error *err);

/* steer.c. Calls the hook, if there is one, with a snapshot of what is there now. */
int ks_run_call_on_window(struct ks_run *run, struct ks_error *err);
/* Carries out drops; true where any arm ended. */
bool ks_run_take_drops(struct ks_run *run);

/* measure.c. All windows, until done or asked to stop. */
int ks_run_measure(struct ks_run *run, struct ks_error *err);

/* board/publish.c. `doing` is "" unless preparing. Every time, or only if the last one is long
 * enough ago for the screen and for the cost of making it. */
int ks_run_publish(struct ks_run *run, const char *doing, struct ks_error *err);
int ks_run_publish_if_due(struct ks_run *run, const char *doing, struct ks_error *err);

#endif

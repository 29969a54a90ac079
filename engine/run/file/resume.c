/* A run that goes on: the file's windows, as if they were measured just now. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/run/file/keep.h"
#include "engine/run/file/replay.h"
#include "engine/run/state.h"

static int fail_other_window(const struct ks_run *run, size_t window, struct ks_error *err)
{
    return ks_runfile_damaged(run->keep.file, err, "window %zu is not where this run has it",
                              window + 1);
}

static bool same_window(const struct ks_window *a, const struct ks_runfile_window *b)
{
    return a->document == b->document && a->start == b->start && a->rows == b->rows &&
           a->first == b->first && a->scored == b->n;
}

/* What ended an arm in the file ends it here, after as many windows. */
static void take_ended(struct ks_run *run, const struct ks_replay *r)
{
    for (size_t i = 0; i < r->facts->n_arms; i++) {
        const struct ks_runfile_arm *ended = &r->arms[i].ended;
        struct ks_lane *lane = &run->lanes[i + 1];
        if (ended->state == KS_ARM_RUNNING || lane->state != KS_ARM_RUNNING ||
            ended->windows > run->windows_done)
            continue;
        lane->state = ended->state;
        snprintf(lane->why, sizeof lane->why, "%s", ended->why);
    }
}

/* What a hook drops now needs no further windows of the file. */
static void leave_dropped(const struct ks_run *run, struct ks_replay *r)
{
    for (size_t i = 0; i < r->facts->n_arms; i++)
        r->arms[i].over = run->lanes[i + 1].state != KS_ARM_RUNNING;
}

static int replay_window(struct ks_run *run, struct ks_replay *r, bool *there, struct ks_error *err)
{
    struct ks_runfile_window w;
    take_ended(run, r);
    leave_dropped(run, r);
    if (ks_replay_window(r, &w, there, err))
        return -1;
    if (!*there)
        return 0;
    if (!same_window(&run->windows[run->windows_done], &w))
        return fail_other_window(run, w.id, err);
    run->windows_done++;
    run->positions_done += w.n;
    run->tokens_done += w.rows;
    run->windows_on_cpu += w.head_on_cpu;
    return ks_run_call_on_window(run, err);
}

static int check_lanes(const struct ks_run *run, const struct ks_replay *r, struct ks_error *err)
{
    for (size_t i = 0; i < r->facts->n_arms; i++) {
        const struct ks_lane *lane = &run->lanes[i + 1];
        if (lane->state == KS_ARM_FAILED && r->arms[i].ended.state == KS_ARM_RUNNING)
            return ks_fail(err, KS_BAD_INPUT,
                           "%s: this run cannot go on there: the arm %s was measured and cannot "
                           "be built any more: %.600s",
                           ks_runfile_path(run->keep.file), lane->arm.spec->name, lane->why);
    }
    return 0;
}

static int take_worst(struct ks_run *run, struct ks_arena *a, struct ks_error *err)
{
    struct ks_runfile_worst *all = ks_arena_alloc(a, KS_RUNFILE_WORST, sizeof *all);
    if (!all)
        return ks_fail_memory(err, KS_RUNFILE_WORST * sizeof *all, "the worst positions");
    for (size_t i = 0; i + 1 < run->n_lanes; i++) {
        struct ks_worst *worst = &run->keep.worst[i];
        if (ks_runfile_read_worst(run->keep.file, i, all, &worst->n, err))
            return -1;
        for (size_t p = 0; p < worst->n; p++)
            worst->places[p] = (struct ks_worst_place){
                .kld = all[p].kld, .window = all[p].window, .position = all[p].position};
    }
    return 0;
}

static int replay_all(struct ks_run *run, struct ks_replay *r, struct ks_arena *a,
                      struct ks_error *err)
{
    struct ks_runfile_progress p;
    if (ks_runfile_read_progress(run->keep.file, a, &p, err) || ks_replay_arms(r, a, err) ||
        check_lanes(run, r, err) || take_worst(run, a, err))
        return -1;
    for (bool there = true; there;) {
        if (ks_board_stopping(run->board))
            return ks_fail(err, KS_CANCELLED, "stopped while the run file was read");
        if (replay_window(run, r, &there, err) || ks_run_publish_if_due(run, "", err))
            return -1;
        (void)ks_run_take_drops(run);
    }
    if (run->windows_done != p.windows)
        return fail_other_window(run, run->windows_done, err);
    take_ended(run, r);
    run->elapsed_ns = p.elapsed_ns;
    run->cpu_ns = p.cpu_ns;
    run->flops = p.flops;
    return 0;
}

int ks_keep_replay(struct ks_run *run, struct ks_error *err)
{
    struct ks_keep *k = &run->keep;
    if (!k->file || k->fresh)
        return 0;
    struct ks_arena a = {0};
    struct ks_replay r = {.file = k->file, .facts = run->facts, .reference = run->lanes[0].tally};
    size_t n = run->facts->n_arms;
    r.arms = ks_arena_alloc(&a, n, sizeof *r.arms);
    int failed = r.arms ? 0 : ks_fail_memory(err, n * sizeof *r.arms, "the run file's arms");
    for (size_t i = 0; i < n && !failed; i++)
        r.arms[i].tally = run->lanes[i + 1].tally;
    if (!failed)
        failed = ks_runfile_begin(k->file, err) || replay_all(run, &r, &a, err);
    ks_runfile_rollback(k->file);
    ks_arena_finish(&a);
    k->ready = !failed;
    if (!failed)
        ks_board_note(run->board, KS_LOG_INFO, "%s: %zu of %zu windows are there already",
                      ks_runfile_path(k->file), run->windows_done, run->n_windows);
    return failed ? -1 : 0;
}

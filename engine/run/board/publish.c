#include <string.h>

#include "engine/base/clock.h"
#include "engine/run/board/fill.h"
#include "engine/run/state.h"

/* A screen draws ten times a second; a snapshot may cost a twentieth of the time at most. */
enum { PUBLISH_EVERY_NS = 100000000, COST_SHARE = 20 };

static int fill_arms(const struct ks_run *run, struct ks_arena *arena, struct ks_snapshot *s,
                     struct ks_error *err)
{
    size_t n_corpora = run->corpus.n_corpora, n_arms = run->n_lanes - 1;
    if (ks_fill_numbers(run->lanes[0].tally, n_corpora, arena, &s->reference, err))
        return -1;
    s->arms = ks_arena_alloc(arena, n_arms, sizeof *s->arms);
    if (!s->arms)
        return ks_fail_memory(err, n_arms * sizeof *s->arms, "a snapshot");
    for (size_t i = 0; i < n_arms; i++) {
        const struct ks_lane *lane = &run->lanes[i + 1];
        if (ks_fill_arm(lane->tally, n_corpora, lane->state, lane->why, arena, &s->arms[i], err))
            return -1;
    }
    return 0;
}

static int fill(const struct ks_run *run, const char *doing, struct ks_arena *arena,
                struct ks_snapshot *s, struct ks_error *err)
{
    struct ks_runfile_progress p = ks_keep_progress(run);
    p.state = run->state;
    if (run->state == KS_RUN_FAILED) {
        p.failure = run->failure.text;
        p.failure_code = run->failure.code;
    }
    s->doing = ks_arena_strdup(arena, doing);
    if (!s->doing)
        return ks_fail_memory(err, strlen(doing) + 1, "a snapshot");
    if (ks_fill_progress(&p, arena, s, err))
        return -1;
    return run->facts ? fill_arms(run, arena, s, err) : 0;
}

int ks_run_publish(struct ks_run *run, const char *doing, struct ks_error *err)
{
    int64_t begin = ks_clock_ns();
    struct ks_draft *d = ks_draft_create(err);
    if (!d)
        return -1;
    if (fill(run, doing, ks_draft_arena(d), ks_draft_snapshot(d), err)) {
        ks_snapshot_release(ks_draft_snapshot(d));
        return -1;
    }
    if (ks_board_publish(run->board, d, err))
        return -1;
    run->published_at_ns = ks_clock_ns();
    run->publish_cost_ns = run->published_at_ns - begin;
    return 0;
}

int ks_run_publish_if_due(struct ks_run *run, const char *doing, struct ks_error *err)
{
    int64_t wait = PUBLISH_EVERY_NS;
    if (run->publish_cost_ns * COST_SHARE > wait)
        wait = run->publish_cost_ns * COST_SHARE;
    if (ks_clock_ns() - run->published_at_ns < wait)
        return 0;
    return ks_run_publish(run, doing, err);
}

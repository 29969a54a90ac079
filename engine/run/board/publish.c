#include <math.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/run/state.h"

/* A screen draws ten times a second; a snapshot may cost a twentieth of the time at most. */
#define PUBLISH_EVERY_NS 100000000
#define COST_SHARE       20

int ks_board_read_numbers(const struct ks_tally *t, size_t n_corpora, struct ks_arena *arena,
                          struct ks_numbers *out, struct ks_error *err)
{
    size_t windows = ks_tally_windows(t);
    out->corpora = ks_arena_alloc(arena, n_corpora, sizeof *out->corpora);
    out->trend = ks_arena_alloc(arena, windows, sizeof *out->trend);
    if (!out->corpora || !out->trend)
        return ks_fail_memory(err, windows * sizeof *out->trend, "a snapshot");
    return ks_tally_read(t, out, err);
}

static int read_numbers(const struct ks_run *run, const struct ks_lane *lane,
                        struct ks_arena *arena, struct ks_numbers *out, struct ks_error *err)
{
    return ks_board_read_numbers(lane->tally, run->corpus.n_corpora, arena, out, err);
}

static int fill_arms(const struct ks_run *run, struct ks_arena *arena, struct ks_snapshot *s,
                     struct ks_error *err)
{
    if (read_numbers(run, &run->lanes[0], arena, &s->reference, err))
        return -1;
    s->arms = ks_arena_alloc(arena, run->n_lanes - 1, sizeof *s->arms);
    if (!s->arms)
        return ks_fail_memory(err, run->n_lanes * sizeof *s->arms, "a snapshot");
    for (size_t i = 1; i < run->n_lanes; i++) {
        const struct ks_lane *lane = &run->lanes[i];
        struct ks_arm_snapshot *a = &s->arms[i - 1];
        a->state = lane->state;
        a->why = ks_arena_strdup(arena, lane->why);
        if (!a->why)
            return ks_fail_memory(err, sizeof lane->why, "a snapshot");
        if (read_numbers(run, lane, arena, &a->numbers, err))
            return -1;
    }
    return 0;
}

static int fill(const struct ks_run *run, const char *doing, struct ks_arena *arena,
                struct ks_snapshot *s, struct ks_error *err)
{
    s->state = run->state;
    s->doing = ks_arena_strdup(arena, doing);
    s->failure = ks_arena_strdup(arena, run->state == KS_RUN_FAILED ? run->failure.text : "");
    if (!s->doing || !s->failure)
        return ks_fail_memory(err, sizeof run->failure.text, "a snapshot");
    s->failure_code = run->state == KS_RUN_FAILED ? run->failure.code : KS_OK;
    s->windows = run->windows_done;
    s->positions = run->positions_done;
    s->tokens = run->tokens_done;
    s->windows_on_cpu = run->windows_on_cpu;
    s->prepare_ns = run->prepare_ns;
    s->elapsed_ns = run->elapsed_ns;
    s->cpu_ns = run->cpu_ns;
    s->flops = run->flops;
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

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/run/state.h"

/* The run's thread works beside the pool's and must leave the screen as much room as they do. */
#define RUN_NICE 10

static void lanes_finish(struct ks_run *run)
{
    for (size_t i = 0; i < run->n_lanes; i++) {
        ks_tally_destroy(run->lanes[i].tally);
        ks_arm_finish(&run->lanes[i].arm);
    }
    free(run->lanes);
}

static void run_free(struct ks_run *run)
{
    ks_keep_close(run);
    lanes_finish(run);
    ks_corpus_finish(&run->corpus);
    free(run->order);
    free(run->windows);
    ks_head_end(&run->head);
    ks_store_destroy(run->store);
    ks_cache_close(run->cache);
    ks_cpu_destroy(run->cpu);
    ks_plan_destroy(run->plan);
    ks_board_destroy(run->board);
    free(run);
}

struct ks_run *ks_run_create(struct ks_plan *plan, struct ks_error *err)
{
    struct ks_run *run = calloc(1, sizeof *run);
    if (!run) {
        ks_plan_destroy(plan);
        ks_fail_memory(err, sizeof *run, "a run");
        return NULL;
    }
    run->plan = plan;
    run->state = KS_RUN_PREPARING;
    run->board = ks_board_create(err);
    if (!run->board || ks_run_check(run, err) || ks_keep_open(run, err)) {
        run_free(run);
        return NULL;
    }
    return run;
}

static void call_hook(struct ks_run *run,
                      void (*hook)(void *ctx, struct ks_run *run, const struct ks_snapshot *now))
{
    if (!hook)
        return;
    const struct ks_snapshot *now = ks_board_snapshot(run->board);
    hook(run->plan->hooks.ctx, run, now);
    ks_snapshot_release(now);
}

static void end_arms(struct ks_run *run)
{
    enum ks_arm_state end = run->state == KS_RUN_DONE ? KS_ARM_DONE : KS_ARM_STOPPED;
    for (size_t i = 0; i < run->n_lanes; i++)
        if (run->lanes[i].state == KS_ARM_RUNNING || run->lanes[i].state == KS_ARM_WAITING)
            run->lanes[i].state = end;
}

static int prepare_and_measure(struct ks_run *run, struct ks_error *err)
{
    int64_t begin = ks_clock_ns();
    if (ks_run_publish(run, "reading the corpora", err) || ks_run_prepare(run, err) ||
        ks_keep_begin(run, err))
        return -1;
    run->prepare_ns = ks_clock_ns() - begin;
    run->state = KS_RUN_RUNNING;
    if (ks_run_publish(run, "", err))
        return -1;
    call_hook(run, run->plan->hooks.on_start);
    return ks_keep_replay(run, err) || ks_run_measure(run, err) ? -1 : 0;
}

/* How the run ended, in the log too. */
static enum ks_run_state how_it_ended(struct ks_run *run, bool failed, const struct ks_error *err)
{
    if (failed && err->code != KS_CANCELLED) {
        ks_board_note(run->board, KS_LOG_ERROR, "%s", err->text);
        return KS_RUN_FAILED;
    }
    if (failed || run->windows_done < run->n_windows)
        return KS_RUN_STOPPED;
    ks_board_note(run->board, KS_LOG_INFO, "all %zu windows done in %.1f s", run->n_windows,
                  (double)run->elapsed_ns / 1e9);
    return KS_RUN_DONE;
}

/* Before the end is told, so that who waits for it finds it in the file. */
static void keep_end(struct ks_run *run, enum ks_run_state state)
{
    struct ks_error err;
    if (ks_keep_end(run, state, &run->failure, &err))
        ks_board_note(run->board, KS_LOG_WARNING,
                      "%s; its windows are there, how the run ended is not: run --resume puts that "
                      "in order",
                      err.text);
}

static void *run_main(void *arg)
{
    struct ks_run *run = arg;
    struct ks_error err = {0};
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), RUN_NICE);
    int failed = prepare_and_measure(run, &err);
    enum ks_run_state state = how_it_ended(run, failed != 0, &err);
    if (state == KS_RUN_FAILED)
        run->failure = err;
    keep_end(run, state);
    run->state = state;
    end_arms(run);
    if (ks_run_publish(run, "", &err) == 0 && run->facts) {
        call_hook(run, run->plan->hooks.on_done);
        (void)ks_run_publish(run, "", &err); /* what on_done noted */
    }
    ks_keep_close(run);
    return NULL;
}

int ks_run_start(struct ks_run *run, struct ks_error *err)
{
    int failed = pthread_create(&run->thread, NULL, run_main, run);
    if (failed)
        return ks_fail(err, KS_SYSTEM, "cannot start the run's thread: %s", strerror(failed));
    run->started = true;
    return 0;
}

void ks_run_stop(struct ks_run *run, const char *why)
{
    ks_board_ask_stop(run->board, why);
}

void ks_run_pause(struct ks_run *run, bool paused)
{
    ks_board_ask_pause(run->board, paused);
}

void ks_run_drop(struct ks_run *run, size_t arm, const char *why)
{
    ks_board_ask_drop(run->board, arm, why);
}

void ks_run_note(struct ks_run *run, enum ks_log_level level, const char *text)
{
    ks_board_note(run->board, level, "%s", text);
}

const char *ks_run_file(const struct ks_run *run)
{
    return run->plan->out;
}

int ks_run_join(struct ks_run *run, struct ks_error *err)
{
    if (run->started && !run->joined) {
        pthread_join(run->thread, NULL);
        run->joined = true;
    }
    if (run->state != KS_RUN_FAILED)
        return 0;
    *err = run->failure;
    return -1;
}

void ks_run_destroy(struct ks_run *run)
{
    if (!run)
        return;
    struct ks_error ignored;
    if (run->started && !run->joined)
        ks_board_ask_stop(run->board, "the program ends");
    (void)ks_run_join(run, &ignored);
    run_free(run);
}

const struct ks_snapshot *ks_run_snapshot(struct ks_run *run)
{
    return ks_board_snapshot(run->board);
}

int ks_run_wake_fd(const struct ks_run *run)
{
    return ks_board_wake_fd(run->board);
}

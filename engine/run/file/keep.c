#include "engine/run/file/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/run/state.h"

enum { NUMBERS_EVERY_NS = 1000000000, RETRY_MS = 500 };

/* ------------------------------------------------------------------ what keeps a run waiting */

/* What one transaction writes. */
typedef int write_fn(struct ks_run *run, const void *what, struct ks_error *err);

static int try_to_write(struct ks_run *run, write_fn *write, const void *what, struct ks_error *err)
{
    struct ks_runfile *f = run->keep.file;
    uint64_t next_line = run->keep.next_line;
    if (ks_runfile_begin(f, err) == 0 && write(run, what, err) == 0 &&
        ks_runfile_commit(f, err) == 0)
        return 0;
    ks_runfile_rollback(f);
    ks_runfile_make_room(f);
    run->keep.next_line = next_line;
    if (run->keep.tokens)
        memset(run->keep.tokens, 0, run->facts->vocab);
    return -1;
}

/* Shows why the run stands still; true where it shall end. */
static bool wait_and_see(struct ks_run *run, const char *why)
{
    struct ks_error ignored; /* a screen without its newest line is no reason to end a run */
    enum ks_run_state state = run->state;
    run->state = KS_RUN_PAUSED;
    (void)ks_run_publish(run, why, &ignored);
    run->state = state;
    return ks_board_sleep(run->board, RETRY_MS);
}

static int write_or_wait(struct ks_run *run, write_fn *write, const void *what,
                         struct ks_error *err)
{
    bool waited = false;
    while (try_to_write(run, write, what, err)) {
        if (err->code != KS_SYSTEM)
            return -1;
        if (!waited)
            ks_board_note(run->board, KS_LOG_WARNING,
                          "%s; the run waits until it can be written, or stops when asked to",
                          err->text);
        waited = true;
        if (wait_and_see(run, err->text)) {
            err->code = KS_CANCELLED;
            return -1;
        }
    }
    if (waited)
        ks_board_note(run->board, KS_LOG_INFO, "%s can be written again: the run goes on",
                      ks_runfile_path(run->keep.file));
    return 0;
}

/* ------------------------------------------------------------------ pieces of a transaction */

static int put_lines(struct ks_run *run, struct ks_error *err)
{
    struct ks_log_line line;
    char text[KS_LINE_BYTES];
    while (ks_board_line(run->board, &run->keep.next_line, &line, text)) {
        if (ks_runfile_put_line(run->keep.file, &line, err))
            return -1;
        run->keep.next_line++;
    }
    return 0;
}

static int put_ended_arms(struct ks_run *run, struct ks_error *err)
{
    for (size_t i = 1; i < run->n_lanes; i++) {
        const struct ks_lane *lane = &run->lanes[i];
        if (lane->state != KS_ARM_DROPPED && lane->state != KS_ARM_FAILED)
            continue;
        size_t windows = ks_tally_windows(lane->tally);
        const struct ks_runfile_arm arm = {
            .state = lane->state,
            .why = lane->why,
            .windows = windows,
            .lacks = ks_shard_window(&run->facts->shard, windows),
        };
        if (ks_runfile_put_arm(run->keep.file, i - 1, &arm, err))
            return -1;
    }
    return 0;
}

static int put_numbers(struct ks_run *run, struct ks_error *err)
{
    for (size_t i = 1; i < run->n_lanes; i++) {
        struct ks_numbers n = {0};
        const struct ks_tally *tally = run->lanes[i].tally;
        if (ks_tally_read(tally, &n, err) ||
            ks_runfile_put_numbers(run->keep.file, i - 1, ks_tally_windows(tally), &n, err))
            return -1;
    }
    return 0;
}

struct ks_runfile_progress ks_keep_progress(const struct ks_run *run)
{
    return (struct ks_runfile_progress){
        .state = KS_RUN_RUNNING,
        .failure = "",
        .windows = run->windows_done,
        .positions = run->positions_done,
        .tokens = run->tokens_done,
        .windows_on_cpu = run->windows_on_cpu,
        .prepare_ns = run->prepare_ns,
        .elapsed_ns = run->elapsed_ns,
        .cpu_ns = run->cpu_ns,
        .flops = run->flops,
    };
}

static int put_token(struct ks_run *run, int32_t id, struct ks_error *err)
{
    if (run->keep.tokens[id])
        return 0;
    const struct ks_tokenizer *t = ks_model_tokenizer(run->plan->reference, err);
    if (!t)
        return -1;
    struct ks_str bytes = ks_token_bytes(t, id);
    run->keep.tokens[id] = 1;
    return ks_runfile_put_token(run->keep.file, id, bytes.bytes, bytes.len, err);
}

/* ------------------------------------------------------------------ the beginning */

static int put_facts(struct ks_run *run, const void *what, struct ks_error *err)
{
    (void)what;
    struct ks_runfile *f = run->keep.file;
    struct ks_runfile_progress p = ks_keep_progress(run);
    return (run->keep.fresh && ks_runfile_put_facts(f, run->facts, err)) ||
                   ks_runfile_put_session(f, run->facts, err) ||
                   (run->keep.fresh &&
                    (put_ended_arms(run, err) || ks_runfile_put_progress(f, &p, err)))
               ? -1
               : 0;
}

static int check_facts(struct ks_run *run, struct ks_error *err)
{
    struct ks_arena a = {0};
    struct ks_facts facts;
    int failed = ks_runfile_read_facts(run->keep.file, &a, &facts, err) ||
                 ks_runfile_compare(ks_runfile_path(run->keep.file), &facts, run->facts, err);
    ks_arena_finish(&a);
    return failed ? -1 : 0;
}

int ks_keep_begin(struct ks_run *run, struct ks_error *err)
{
    struct ks_keep *k = &run->keep;
    if (!k->file)
        return 0;
    k->tokens = calloc(run->facts->vocab, 1);
    k->worst = calloc(run->n_lanes, sizeof *k->worst);
    k->worst_next = calloc(run->n_lanes, sizeof *k->worst_next);
    if (!k->tokens || !k->worst || !k->worst_next)
        return ks_fail_memory(err, run->facts->vocab + 2 * run->n_lanes * sizeof *k->worst,
                              "what the run file has");
    if ((!k->fresh && check_facts(run, err)) || write_or_wait(run, put_facts, NULL, err))
        return -1;
    k->ready = k->fresh;
    return 0;
}

/* ------------------------------------------------------------------ windows */

struct window {
    const struct ks_runfile_window *w;
    const struct ks_arm_row *const *rows;
    bool numbers; /* the arms' are due too */
};

static int put_worst(struct ks_run *run, const struct window *window, size_t arm, size_t position,
                     double kld, struct ks_error *err)
{
    const struct ks_runfile_window *w = window->w;
    const struct ks_ref_row *ref = &w->ref[position];
    const struct ks_arm_row *row = &window->rows[arm + 1][position];
    struct ks_runfile_worst worst = {
        .window = w->id,
        .position = position,
        .offset = w->offsets[position],
        .target = w->tokens[(size_t)w->offsets[position] + 1 - w->start],
        .kld = kld,
        .ref_logprob = ref->logprob,
        .arm_logprob = row->logprob,
        .n_top = ref->n_top < KS_TOP_SHOWN ? ref->n_top : KS_TOP_SHOWN,
    };
    memcpy(worst.ref_top, ref->top, sizeof worst.ref_top);
    memcpy(worst.arm_top, row->top, sizeof worst.arm_top);
    memcpy(worst.ref_top_logprob, ref->top_logprob, sizeof worst.ref_top_logprob);
    memcpy(worst.arm_top_logprob, row->top_logprob, sizeof worst.arm_top_logprob);
    for (int32_t i = 0; i < worst.n_top; i++)
        if (put_token(run, worst.ref_top[i], err) || put_token(run, worst.arm_top[i], err))
            return -1;
    return ks_runfile_put_worst(run->keep.file, arm, &worst, err);
}

/* The window's positions that are among an arm's worst now go in, and those that they displace go
 * out. */
static int put_worst_of(struct ks_run *run, const struct window *window, size_t arm,
                        struct ks_error *err)
{
    const struct ks_worst *before = &run->keep.worst[arm];
    struct ks_worst *now = &run->keep.worst_next[arm];
    size_t added = 0;
    *now = *before;
    ks_worst_add(now, window->w->id, window->rows[arm + 1], window->w->n);
    for (size_t i = 0; i < now->n; i++) {
        const struct ks_worst_place *p = &now->places[i];
        if (p->window != window->w->id)
            continue;
        added++;
        if (put_worst(run, window, arm, p->position, p->kld, err))
            return -1;
    }
    for (size_t i = now->n - added; i < before->n; i++)
        if (ks_runfile_drop_worst(run->keep.file, arm, before->places[i].window,
                                  before->places[i].position, err))
            return -1;
    return 0;
}

static int put_arm_window(struct ks_run *run, const struct window *window, size_t arm,
                          struct ks_error *err)
{
    const struct ks_runfile_window *w = window->w;
    run->keep.worst_next[arm] = run->keep.worst[arm];
    if (!window->rows[arm + 1])
        return 0;
    return ks_runfile_put_scores(run->keep.file, w->id, arm, window->rows[arm + 1], w->n, err) ||
                   put_worst_of(run, window, arm, err)
               ? -1
               : 0;
}

static int put_window(struct ks_run *run, const void *what, struct ks_error *err)
{
    const struct window *window = what;
    const struct ks_runfile_window *w = window->w;
    struct ks_runfile *f = run->keep.file;
    if (ks_runfile_put_window(f, w, err))
        return -1;
    for (size_t i = 1; i < run->n_lanes; i++)
        if (put_arm_window(run, window, i - 1, err))
            return -1;
    for (size_t i = 0; i <= w->rows; i++)
        if (put_token(run, w->tokens[i], err))
            return -1;
    struct ks_runfile_progress p = ks_keep_progress(run);
    p.windows++;
    p.positions += w->n;
    p.tokens += w->rows;
    p.windows_on_cpu += w->head_on_cpu;
    return put_ended_arms(run, err) || put_lines(run, err) ||
                   (window->numbers && put_numbers(run, err)) || ks_runfile_put_progress(f, &p, err)
               ? -1
               : 0;
}

int ks_keep_window(struct ks_run *run, const struct ks_runfile_window *w,
                   const struct ks_arm_row *const *rows, struct ks_error *err)
{
    int64_t now = ks_clock_ns();
    bool due = now - run->keep.numbers_ns >= NUMBERS_EVERY_NS;
    const struct window window = {.w = w, .rows = rows, .numbers = due};
    if (!run->keep.file)
        return 0;
    if (write_or_wait(run, put_window, &window, err))
        return -1;
    struct ks_worst *written = run->keep.worst_next;
    run->keep.worst_next = run->keep.worst;
    run->keep.worst = written;
    if (due)
        run->keep.numbers_ns = now;
    return 0;
}

/* ------------------------------------------------------------------ the end */

struct end {
    enum ks_run_state state;
    const struct ks_error *failure;
};

static int put_end(struct ks_run *run, const void *what, struct ks_error *err)
{
    const struct end *end = what;
    struct ks_runfile_progress p = ks_keep_progress(run);
    p.state = end->state;
    if (end->state == KS_RUN_FAILED) {
        p.failure = end->failure->text;
        p.failure_code = end->failure->code;
    }
    return put_ended_arms(run, err) || put_lines(run, err) || put_numbers(run, err) ||
                   ks_runfile_put_progress(run->keep.file, &p, err)
               ? -1
               : 0;
}

int ks_keep_end(struct ks_run *run, enum ks_run_state state, const struct ks_error *failure,
                struct ks_error *err)
{
    const struct end end = {.state = state, .failure = failure};
    const struct ks_keep *k = &run->keep;
    if (!k->file || !k->ready)
        return 0;
    return write_or_wait(run, put_end, &end, err);
}

static int put_last_lines(struct ks_run *run, const void *what, struct ks_error *err)
{
    (void)what;
    return put_lines(run, err);
}

void ks_keep_close(struct ks_run *run)
{
    struct ks_keep *k = &run->keep;
    struct ks_error ignored; /* the numbers are there; a line of the log may be missed */
    if (k->file && k->ready)
        (void)try_to_write(run, put_last_lines, NULL, &ignored);
    ks_runfile_close(k->file);
    free(k->tokens);
    free(k->worst);
    free(k->worst_next);
    *k = (struct ks_keep){0};
}

#include <stdlib.h>

#include "engine/run/board/board.h"
#include "engine/run/board/fill.h"
#include "engine/run/file/replay.h"

enum { LINES = 256 }; /* of the log that are shown */

struct ks_saved {
    struct ks_runfile *file;
    struct ks_board *board;
    struct ks_replay replay;
    struct ks_arena arena; /* of what follows */
    struct ks_runfile_progress progress;
    bool written;    /* by a process, when it was looked at last */
    bool looked;     /* there is a snapshot */
    int64_t version; /* of the file (ks_runfile_look) that was taken in */
    bool news;       /* taken in, not published yet */
    int64_t session; /* that wrote it last (ks_runfile_read_session) */
    uint64_t lines;
    bool failed; /* for good: why */
    struct ks_error failure;
};

void ks_saved_close(struct ks_saved *s)
{
    if (!s)
        return;
    ks_tally_destroy(s->replay.reference);
    for (size_t i = 0; s->replay.arms && i < s->replay.facts->n_arms; i++)
        ks_tally_destroy(s->replay.arms[i].tally);
    free(s->replay.arms);
    ks_runfile_close(s->file);
    ks_board_destroy(s->board);
    ks_arena_finish(&s->arena);
    free(s);
}

/* ------------------------------------------------------------------ opening */

static int read_facts(struct ks_saved *s, struct ks_error *err)
{
    struct ks_facts_box *box = ks_facts_create(err);
    if (!box)
        return -1;
    if (ks_runfile_read_facts(s->file, ks_facts_arena(box), ks_facts_of(box), err)) {
        ks_facts_release(box);
        return -1;
    }
    s->replay.facts = ks_facts_of(box);
    ks_board_set_facts(s->board, box);
    return 0;
}

static int make_tallies(struct ks_saved *s, struct ks_error *err)
{
    const struct ks_facts *f = s->replay.facts;
    s->replay.arms = calloc(f->n_arms + 1, sizeof *s->replay.arms);
    if (!s->replay.arms)
        return ks_fail_memory(err, f->n_arms * sizeof *s->replay.arms, "the arms of a run file");
    s->replay.reference = ks_tally_create(f->n_corpora, f->documents, f->n, err);
    if (!s->replay.reference)
        return -1;
    for (size_t i = 0; i < f->n_arms; i++) {
        s->replay.arms[i].tally = ks_tally_create(f->n_corpora, f->documents, f->n, err);
        if (!s->replay.arms[i].tally)
            return -1;
    }
    return 0;
}

static int begin(struct ks_saved *s, const char *path, struct ks_error *err)
{
    bool news;
    s->file = ks_runfile_open(path, err);
    if (!s->file)
        return -1;
    s->replay.file = s->file;
    s->board = ks_board_create(err);
    if (!s->board || ks_runfile_begin(s->file, err))
        return -1;
    int failed = read_facts(s, err) || make_tallies(s, err);
    ks_runfile_rollback(s->file);
    return failed || ks_saved_refresh(s, &news, err) ? -1 : 0;
}

struct ks_saved *ks_saved_open(const char *path, struct ks_error *err)
{
    struct ks_saved *s = calloc(1, sizeof *s);
    if (!s) {
        ks_fail_memory(err, sizeof *s, "a run file");
        return NULL;
    }
    if (begin(s, path, err)) {
        ks_saved_close(s);
        return NULL;
    }
    return s;
}

/* ------------------------------------------------------------------ what is there now */

/* A run that is neither over nor written any more was killed. */
static enum ks_run_state state_of(const struct ks_saved *s)
{
    if (s->progress.state >= KS_RUN_DONE || s->written)
        return s->progress.state;
    return KS_RUN_STOPPED;
}

static enum ks_arm_state arm_state_of(const struct ks_replay_arm *arm, enum ks_run_state run)
{
    if (arm->ended.state != KS_ARM_RUNNING)
        return arm->ended.state;
    return run == KS_RUN_DONE ? KS_ARM_DONE : run > KS_RUN_DONE ? KS_ARM_STOPPED : KS_ARM_RUNNING;
}

static int fill_arms(const struct ks_saved *s, struct ks_arena *a, struct ks_snapshot *out,
                     struct ks_error *err)
{
    const struct ks_facts *f = s->replay.facts;
    if (ks_fill_numbers(s->replay.reference, f->n_corpora, a, &out->reference, err))
        return -1;
    out->arms = ks_arena_alloc(a, f->n_arms, sizeof *out->arms);
    if (!out->arms)
        return ks_fail_memory(err, f->n_arms * sizeof *out->arms, "a snapshot");
    for (size_t i = 0; i < f->n_arms; i++) {
        const struct ks_replay_arm *arm = &s->replay.arms[i];
        if (ks_fill_arm(arm->tally, f->n_corpora, arm_state_of(arm, out->state), arm->ended.why, a,
                        &out->arms[i], err))
            return -1;
    }
    return 0;
}

static int fill(const struct ks_saved *s, struct ks_arena *a, struct ks_snapshot *out,
                struct ks_error *err)
{
    if (ks_fill_progress(&s->progress, a, out, err))
        return -1;
    out->state = state_of(s);
    out->doing = "";
    return fill_arms(s, a, out, err);
}

static int publish(struct ks_saved *s, struct ks_error *err)
{
    struct ks_draft *d = ks_draft_create(err);
    if (!d)
        return -1;
    if (fill(s, ks_draft_arena(d), ks_draft_snapshot(d), err)) {
        ks_snapshot_release(ks_draft_snapshot(d));
        return -1;
    }
    return ks_board_publish(s->board, d, err);
}

/* ------------------------------------------------------------------ taking in */

static int take_lines(struct ks_saved *s, struct ks_arena *a, bool *news, struct ks_error *err)
{
    struct ks_log_line *lines;
    size_t n;
    uint64_t lost;
    if (ks_runfile_read_lines(s->file, a, LINES, &lines, &n, &lost, err))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (lost + i < s->lines)
            continue;
        ks_board_put_line(s->board, &lines[i]);
        *news = true;
    }
    s->lines = lost + n;
    return 0;
}

static int take_windows(struct ks_saved *s, struct ks_error *err)
{
    struct ks_runfile_window w;
    for (bool there = true; there && s->replay.next < s->progress.windows;)
        if (ks_replay_window(&s->replay, &w, &there, err))
            return -1;
    if (s->replay.next == s->progress.windows)
        return 0;
    return ks_runfile_damaged(s->file, err, "window %zu is missing", s->replay.next + 1);
}

/* Whoever goes on with a run writes a new session; so does another run that was copied over it. */
static int check_session(struct ks_saved *s, struct ks_error *err)
{
    struct ks_arena a = {0};
    struct ks_facts now;
    struct ks_error why;
    int64_t session;
    if (ks_runfile_read_session(s->file, &session, err))
        return -1;
    int failed = 0;
    if (s->looked && session != s->session) {
        failed = ks_runfile_read_facts(s->file, &a, &now, err);
        if (!failed && ks_runfile_compare(ks_runfile_path(s->file), s->replay.facts, &now, &why))
            failed = ks_fail(err, KS_BAD_INPUT,
                             "%s: another run was written over it while it was being read; open "
                             "it anew",
                             ks_runfile_path(s->file));
    }
    ks_arena_finish(&a);
    if (!failed)
        s->session = session;
    return failed;
}

/* All but windows: it can be tried again where the system refuses it. */
static int take_state(struct ks_saved *s, struct ks_arena *a, struct ks_error *err)
{
    struct ks_runfile_progress before = s->progress;
    bool written = ks_runfile_is_written(s->file);
    if (check_session(s, err) || ks_runfile_read_progress(s->file, a, &s->progress, err))
        return -1;
    s->news |= !s->looked || before.windows != s->progress.windows ||
               before.state != s->progress.state || written != s->written;
    s->written = written;
    if (take_lines(s, a, &s->news, err) || ks_replay_arms(&s->replay, a, err))
        return -1;
    s->looked = true;
    return 0;
}

/* The tallies may hold half of a window where it fails: that is for good. */
static int take_in(struct ks_saved *s, struct ks_arena *a, struct ks_error *err)
{
    int failed = ks_runfile_begin(s->file, err);
    if (failed)
        return -1;
    failed = take_state(s, a, err);
    if (!failed) {
        failed = take_windows(s, err);
        s->failed = failed != 0;
    }
    ks_runfile_rollback(s->file);
    if (s->failed)
        s->failure = *err;
    return failed;
}

static int take_in_and_publish(struct ks_saved *s, struct ks_error *err)
{
    struct ks_arena a = {0};
    int failed = take_in(s, &a, err);
    ks_arena_finish(&s->arena); /* after a failure nothing is read before all is read anew */
    s->arena = a;
    if (failed || (s->news && publish(s, err)))
        return -1;
    s->news = false;
    return 0;
}

int ks_saved_refresh(struct ks_saved *s, bool *news, struct ks_error *err)
{
    int64_t version;
    if (s->failed) {
        *err = s->failure;
        return -1;
    }
    if (ks_runfile_look(s->file, &version, err))
        return -1;
    *news = false;
    if (s->looked && !s->news && version == s->version &&
        s->written == ks_runfile_is_written(s->file))
        return 0;
    if (take_in_and_publish(s, err))
        return -1;
    s->version = version;
    *news = true;
    return 0;
}

const struct ks_snapshot *ks_saved_snapshot(struct ks_saved *s)
{
    return ks_board_snapshot(s->board);
}

int ks_saved_wake_fd(const struct ks_saved *s)
{
    return ks_board_wake_fd(s->board);
}

bool ks_saved_is_cut_short(const struct ks_saved *s)
{
    return s->progress.state < KS_RUN_DONE && !s->written;
}

bool ks_saved_is_written(const struct ks_saved *s)
{
    return ks_runfile_is_written(s->file);
}

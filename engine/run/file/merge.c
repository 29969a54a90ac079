/*
 * Shards into the file of the whole run. Windows go in index order, each from the file that has it,
 * through the tallies that a run adds them to; and its rows as they stand into the new file. So the
 * numbers are those of one run, and nothing is copied that a report would refuse.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/run/file/replay.h"
#include "engine/run/windows.h"

struct part {
    struct ks_runfile *file;
    struct ks_facts facts;
    struct ks_runfile_progress progress;
};

struct merge {
    struct part *parts; /* (n) */
    size_t n;
    uint32_t *owner;       /* (windows) the part that has it + 1; 0: none */
    struct ks_facts facts; /* of the whole */
    struct ks_replay replay;
    struct ks_runfile *out;
    struct ks_arena arena; /* of all facts */
};

static const char *path_of(const struct merge *m, size_t part)
{
    return ks_runfile_path(m->parts[part].file);
}

/* ------------------------------------------------------------------ the files */

static int open_part(struct merge *m, const char *path, struct ks_error *err)
{
    struct part *p = &m->parts[m->n];
    p->file = ks_runfile_open(path, err);
    if (!p->file)
        return -1;
    m->n++;
    if (ks_runfile_is_written(p->file))
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: another process is writing this run file; merge it when its run has "
                       "ended",
                       path);
    if (ks_runfile_begin(p->file, err) ||
        ks_runfile_read_facts(p->file, &m->arena, &p->facts, err) ||
        ks_runfile_read_progress(p->file, &m->arena, &p->progress, err))
        return -1;
    return ks_runfile_compare_shards(path_of(m, 0), &m->parts[0].facts, path, &p->facts, err);
}

static int open_parts(struct merge *m, const char *const *paths, size_t n, struct ks_error *err)
{
    m->parts = calloc(n, sizeof *m->parts);
    if (!m->parts)
        return ks_fail_memory(err, n * sizeof *m->parts, "the files to merge");
    for (size_t i = 0; i < n; i++)
        if (open_part(m, paths[i], err))
            return -1;
    return 0;
}

/* ------------------------------------------------------------------ whose windows */

static int claim_windows(struct merge *m, size_t part, struct ks_error *err)
{
    const struct part *p = &m->parts[part];
    for (size_t k = 0; k < p->progress.windows; k++) {
        size_t id = ks_shard_window(&p->facts.shard, k);
        if (id >= p->facts.all_windows)
            return ks_runfile_damaged(p->file, err, "it has more windows than its shard");
        if (m->owner[id])
            return ks_fail(err, KS_BAD_INPUT,
                           "window %zu is in both %.400s and %.400s; merge files that have no "
                           "window in common",
                           id + 1, path_of(m, m->owner[id] - 1), path_of(m, part));
        m->owner[id] = (uint32_t)part + 1;
    }
    return 0;
}

static int fail_unfinished(const struct merge *m, size_t part, struct ks_error *err)
{
    const struct part *p = &m->parts[part];
    return ks_fail(err, KS_BAD_INPUT,
                   "%s: shard %u/%u has %zu of its %zu windows; end it with run --resume, and "
                   "merge then",
                   path_of(m, part), p->facts.shard.number, p->facts.shard.of, p->progress.windows,
                   p->facts.windows);
}

static int fail_missing(const struct merge *m, size_t missing, struct ks_error *err)
{
    enum { NAMED = 8 };
    const struct ks_facts *f = &m->parts[0].facts;
    struct ks_buf shards = {0};
    int named = 0, failed = 0;
    for (uint32_t i = 1; i <= f->shard.of && named <= NAMED && !failed; i++) {
        const struct ks_shard s = {i, f->shard.of};
        bool lacks = false;
        for (size_t k = 0; k < ks_shard_count(&s, f->all_windows) && !lacks; k++)
            lacks = m->owner[ks_shard_window(&s, k)] == 0;
        if (lacks && named++ < NAMED)
            failed = ks_buf_printf(&shards, err, "%s%u/%u", named > 1 ? ", " : "", i, s.of);
        else if (lacks)
            failed = ks_buf_printf(&shards, err, " and others");
    }
    if (!failed)
        ks_fail(err, KS_BAD_INPUT,
                "%zu of %zu windows are in none of the files: they are of shard %s; name the files "
                "of those too, or run them",
                missing, f->all_windows, shards.bytes);
    ks_buf_finish(&shards);
    return -1;
}

static int share_windows(struct merge *m, struct ks_error *err)
{
    size_t windows = m->parts[0].facts.all_windows, missing = 0;
    m->owner = calloc(windows + 1, sizeof *m->owner);
    if (!m->owner)
        return ks_fail_memory(err, windows * sizeof *m->owner, "the windows to merge");
    for (size_t i = 0; i < m->n; i++)
        if (claim_windows(m, i, err))
            return -1;
    for (size_t i = 0; i < m->n; i++)
        if (m->parts[i].progress.windows < m->parts[i].facts.windows)
            return fail_unfinished(m, i, err);
    for (size_t w = 0; w < windows; w++)
        missing += m->owner[w] == 0;
    return missing > 0 ? fail_missing(m, missing, err) : 0;
}

/* ------------------------------------------------------------------ arms */

/* An arm that ended on the way has no numbers over all windows; one that could not be built has
 * none in any file, as in one run. */
static int join_arm(struct merge *m, size_t part, size_t arm, struct ks_error *err)
{
    struct ks_runfile_arm state, *all = &m->replay.arms[arm].ended;
    const char *name = m->facts.arms[arm].name;
    if (ks_runfile_read_arm(m->parts[part].file, &m->arena, arm, &state, err))
        return -1;
    if (state.state == KS_ARM_DROPPED)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: the arm %.200s was dropped after %zu of this shard's windows (%.300s); "
                       "run the shards without what drops arms",
                       path_of(m, part), name, state.windows, state.why);
    if (part > 0 && all->state != state.state)
        return ks_fail(err, KS_BAD_INPUT,
                       "the arm %.200s could not be built in %.300s (%.300s), but was measured in "
                       "%.300s; run that shard again",
                       name, path_of(m, state.state == KS_ARM_FAILED ? part : 0),
                       state.state == KS_ARM_FAILED ? state.why : all->why,
                       path_of(m, state.state == KS_ARM_FAILED ? 0 : part));
    if (part == 0)
        *all = state;
    return 0;
}

static int join_arms(struct merge *m, struct ks_error *err)
{
    struct ks_replay *r = &m->replay;
    const struct ks_facts *f = &m->facts;
    r->arms = ks_arena_alloc(&m->arena, f->n_arms, sizeof *r->arms);
    r->reference = ks_tally_create(f->n_corpora, f->documents, f->n, err);
    if (!r->arms)
        return ks_fail_memory(err, f->n_arms * sizeof *r->arms, "the arms to merge");
    if (!r->reference)
        return -1;
    for (size_t i = 0; i < f->n_arms; i++) {
        r->arms[i].tally = ks_tally_create(f->n_corpora, f->documents, f->n, err);
        if (!r->arms[i].tally)
            return -1;
        for (size_t part = 0; part < m->n; part++)
            if (join_arm(m, part, i, err))
                return -1;
    }
    return 0;
}

/* ------------------------------------------------------------------ the whole */

static void join_facts(struct merge *m)
{
    m->facts = m->parts[0].facts;
    m->facts.shard = (struct ks_shard){1, 1};
    m->facts.windows = m->facts.all_windows;
    m->facts.to_compute = 0;
    for (size_t i = 0; i < m->n; i++)
        m->facts.to_compute += m->parts[i].facts.to_compute;
    m->replay.facts = &m->facts;
}

static struct ks_runfile_progress join_progress(const struct merge *m)
{
    struct ks_runfile_progress all = {.state = KS_RUN_DONE, .failure = ""};
    for (size_t i = 0; i < m->n; i++) {
        const struct ks_runfile_progress *p = &m->parts[i].progress;
        all.windows += p->windows;
        all.positions += p->positions;
        all.tokens += p->tokens;
        all.windows_on_cpu += p->windows_on_cpu;
        all.prepare_ns += p->prepare_ns;
        all.elapsed_ns += p->elapsed_ns;
        all.cpu_ns += p->cpu_ns;
        all.flops += p->flops;
    }
    return all;
}

static int put_windows(struct merge *m, const struct ks_making_hooks *hooks, struct ks_error *err)
{
    for (size_t id = 0; id < m->facts.windows; id++) {
        struct ks_runfile_window w;
        bool there;
        if (!hooks->progress(hooks->ctx, id, m->facts.windows))
            return ks_fail(err, KS_CANCELLED, "interrupted; nothing was written");
        m->replay.file = m->parts[m->owner[id] - 1].file;
        if (ks_replay_window(&m->replay, &w, &there, err) ||
            ks_runfile_copy_window(m->out, m->replay.file, id, err))
            return -1;
    }
    hooks->progress(hooks->ctx, m->facts.windows, m->facts.windows);
    return 0;
}

/* The largest KLD first, of equal ones the earlier. */
static int compare_worst(const void *a, const void *b)
{
    const struct ks_runfile_worst *x = a, *y = b;
    if (x->kld != y->kld)
        return x->kld > y->kld ? -1 : 1;
    if (x->window != y->window)
        return x->window < y->window ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/* What is among the worst of all is among the worst of its shard. */
static int put_worst(struct merge *m, size_t arm, struct ks_runfile_worst *all,
                     struct ks_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t more;
        if (ks_runfile_read_worst(m->parts[i].file, arm, all + n, &more, err))
            return -1;
        n += more;
        qsort(all, n, sizeof *all, compare_worst);
        n = n < KS_RUNFILE_WORST ? n : KS_RUNFILE_WORST;
    }
    for (size_t i = 0; i < n; i++)
        if (ks_runfile_put_worst(m->out, arm, &all[i], err))
            return -1;
    return 0;
}

static int put_arms(struct merge *m, struct ks_error *err)
{
    struct ks_runfile_worst *worst =
        ks_arena_alloc(&m->arena, (size_t)2 * KS_RUNFILE_WORST, sizeof *worst);
    if (!worst)
        return ks_fail_memory(err, 2 * KS_RUNFILE_WORST * sizeof *worst, "the worst positions");
    for (size_t i = 0; i < m->facts.n_arms; i++) {
        const struct ks_replay_arm *arm = &m->replay.arms[i];
        struct ks_numbers n = {0};
        if (arm->ended.state == KS_ARM_FAILED && ks_runfile_put_arm(m->out, i, &arm->ended, err))
            return -1;
        if (ks_tally_read(arm->tally, &n, err) ||
            ks_runfile_put_numbers(m->out, i, ks_tally_windows(arm->tally), &n, err) ||
            put_worst(m, i, worst, err))
            return -1;
    }
    return 0;
}

static int put_lines(struct merge *m, struct ks_error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < m->n; i++) {
        const struct part *p = &m->parts[i];
        struct ks_log_line line = {
            .unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
            .level = KS_LOG_INFO,
            .text = ks_arena_printf(&m->arena, "%zu windows are of shard %u/%u, %s",
                                    p->progress.windows, p->facts.shard.number, p->facts.shard.of,
                                    path_of(m, i)),
        };
        if (!line.text)
            return ks_fail_memory(err, 1, "a line of the log");
        if (ks_runfile_put_line(m->out, &line, err))
            return -1;
    }
    return 0;
}

static int put_all(struct merge *m, const struct ks_making_hooks *hooks, struct ks_error *err)
{
    struct ks_runfile_progress progress = join_progress(m);
    if (ks_runfile_begin(m->out, err) || ks_runfile_put_facts(m->out, &m->facts, err) ||
        put_windows(m, hooks, err) || ks_runfile_put_session(m->out, &m->facts, err) ||
        put_arms(m, err) || put_lines(m, err) || ks_runfile_put_progress(m->out, &progress, err))
        return -1;
    for (size_t i = 0; i < m->n; i++)
        if (ks_runfile_copy_tokens(m->out, m->parts[i].file, err))
            return -1;
    return ks_runfile_commit(m->out, err);
}

static int make(struct merge *m, const char *const *paths, size_t n, const char *out,
                const struct ks_making_hooks *hooks, struct ks_error *err)
{
    if (access(out, F_OK) == 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: there is a file of that name already; name another for the merged run",
                       out);
    if (open_parts(m, paths, n, err) || share_windows(m, err))
        return -1;
    join_facts(m);
    if (join_arms(m, err))
        return -1;
    m->out = ks_runfile_create(out, err);
    if (!m->out)
        return -1;
    int failed = put_all(m, hooks, err);
    if (failed)
        ks_runfile_rollback(m->out);
    return failed;
}

static void merge_finish(struct merge *m)
{
    ks_runfile_close(m->out);
    ks_tally_destroy(m->replay.reference);
    for (size_t i = 0; m->replay.arms && i < m->facts.n_arms; i++)
        ks_tally_destroy(m->replay.arms[i].tally);
    for (size_t i = 0; i < m->n; i++)
        ks_runfile_close(m->parts[i].file);
    free(m->parts);
    free(m->owner);
    ks_arena_finish(&m->arena);
}

int ks_merge(const char *const *paths, size_t n, const char *out,
             const struct ks_making_hooks *hooks, struct ks_error *err)
{
    struct merge m = {0};
    int failed = make(&m, paths, n, out, hooks, err);
    merge_finish(&m);
    return failed ? -1 : 0;
}

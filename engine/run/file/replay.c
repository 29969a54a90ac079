#include "engine/run/file/replay.h"

#include "engine/run/windows.h"

int ks_replay_arms(struct ks_replay *r, struct ks_arena *a, struct ks_error *err)
{
    for (size_t i = 0; i < r->facts->n_arms; i++)
        if (ks_runfile_read_arm(r->file, a, i, &r->arms[i].ended, err))
            return -1;
    return 0;
}

/* A tally takes windows in a run's order, and no more positions than its facts tell of: where it
 * does not, the file is not as a run writes it. */
static int add(struct ks_replay *r, struct ks_tally *tally, const struct ks_tally_window *where,
               const struct ks_runfile_window *w, const struct ks_arm_row *rows,
               struct ks_error *err)
{
    if (ks_tally_add(tally, where, w->ref, rows, w->n, err) == 0)
        return 0;
    return err->code == KS_INTERNAL ? ks_runfile_damaged(r->file, err, "%s", err->text) : -1;
}

static int add_arm(struct ks_replay *r, size_t i, const struct ks_tally_window *where,
                   const struct ks_runfile_window *w, struct ks_error *err)
{
    struct ks_replay_arm *arm = &r->arms[i];
    const struct ks_arm_row *rows;
    bool there;
    if (arm->ended.state != KS_ARM_RUNNING && r->next >= arm->ended.windows)
        arm->over = true;
    if (arm->over)
        return 0;
    if (ks_runfile_read_scores(r->file, w->id, i, w->n, &rows, &there, err))
        return -1;
    if (!there)
        return ks_runfile_damaged(r->file, err, "window %zu lacks an arm's scores", w->id + 1);
    for (size_t p = 0; p < w->n; p++)
        if (rows[p].measurement && !w->ref[p].measurement)
            return ks_runfile_damaged(r->file, err, "window %zu has scores without a reference",
                                      w->id + 1);
    return add(r, arm->tally, where, w, rows, err);
}

/* Whether the facts know such a window. */
static bool fits(const struct ks_replay *r, const struct ks_runfile_window *w)
{
    return w->document < r->facts->documents && w->id < r->facts->all_windows;
}

int ks_replay_window(struct ks_replay *r, struct ks_runfile_window *w, bool *there,
                     struct ks_error *err)
{
    const struct ks_facts *f = r->facts;
    int32_t n_top = f->vocab < (uint32_t)f->top_k ? (int32_t)f->vocab : f->top_k;
    size_t id = ks_shard_window(&f->shard, r->next);
    if (ks_runfile_read_window(r->file, id, n_top, w, there, err))
        return -1;
    if (!*there)
        return 0;
    if (!fits(r, w))
        return ks_runfile_damaged(r->file, err, "window %zu is of no document", w->id + 1);
    struct ks_tally_window where = {
        .corpus = f->document[w->document].corpus, .document = w->document, .offsets = w->offsets};
    if (add(r, r->reference, &where, w, NULL, err))
        return -1;
    for (size_t i = 0; i < f->n_arms; i++)
        if (add_arm(r, i, &where, w, err))
            return -1;
    r->next++;
    return 0;
}

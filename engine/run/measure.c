/*
 * The loop over windows. A batch is some windows end to end; how many never changes a number, so
 * the first batch is one window (the screen comes alive at once) and later ones are as large as
 * keeps the screen at about two new numbers a second, within the memory that was planned for.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/run/state.h"

#define BATCH_NS 500000000

struct measure {
    struct ks_run *run;
    size_t max_rows, max_windows;
    struct ks_scorer *scorer;
    bool had_device; /* at the start */
    bool on_cpu;     /* the batch's heads, though the run's are on a device */

    /* The tree of the lanes that still run. */
    struct ks_tree *tree;
    struct ks_tree_net *nets; /* (n_nets) */
    size_t n_nets;
    float **hidden; /* (leaves) of (max_rows, that net's hidden) */
    size_t n_hidden;

    /* The batch. */
    int32_t *ids, *targets, *offsets; /* (max_rows) */
    size_t *rows;                     /* (max_rows) scored rows */
    size_t *starts;                   /* (max_windows + 1) */
    size_t *firsts;                   /* (max_windows) first scored row of each */
    size_t n_windows, n_rows, n_scored;
    struct ks_ref_row *ref;         /* (max_rows) */
    struct ks_arm_row **arms;       /* (lanes) of (max_rows), NULL for the reference */
    struct ks_arm_row **net_arms;   /* (n_nets): the arms of the tree's nets */
    const struct ks_arm_row **kept; /* (lanes): a window's rows of arms that run, for the file */
};

const struct ks_document *ks_run_document(const struct ks_run *run, const struct ks_window *w)
{
    return &run->corpus.documents[run->order[w->document]];
}

size_t ks_run_positions(const struct ks_run *run)
{
    size_t n = 0;
    for (size_t i = 0; i < run->n_windows; i++)
        n += run->windows[i].scored;
    return n;
}

/* ------------------------------------------------------------------ memory */

static bool same_shape(const struct ks_lane *a, const struct ks_lane *b)
{
    return a->arm.model == b->arm.model;
}

static int make_bodies(struct measure *m, struct ks_error *err)
{
    struct ks_run *run = m->run;
    for (size_t i = 0; i < run->n_lanes; i++) {
        struct ks_lane *lane = &run->lanes[i];
        for (size_t j = 0; j < i && !lane->body; j++)
            if (same_shape(lane, &run->lanes[j]))
                lane->body = run->lanes[j].body;
        if (lane->body || lane->state == KS_ARM_FAILED)
            continue;
        lane->body = ks_body_create(run->cpu, lane->arm.net.hparams, m->max_rows, err);
        lane->owns_body = lane->body != NULL;
        if (!lane->body)
            return -1;
    }
    return 0;
}

static int make_rows(struct measure *m, struct ks_error *err)
{
    size_t n = m->max_rows, lanes = m->run->n_lanes;
    m->max_windows = m->max_rows; /* each has a row at least */
    m->ids = calloc(n, sizeof *m->ids);
    m->targets = calloc(n, sizeof *m->targets);
    m->offsets = calloc(n, sizeof *m->offsets);
    m->rows = calloc(n, sizeof *m->rows);
    m->starts = calloc(m->max_windows + 1, sizeof *m->starts);
    m->firsts = calloc(m->max_windows, sizeof *m->firsts);
    m->ref = calloc(n, sizeof *m->ref);
    m->arms = calloc(lanes, sizeof *m->arms);
    m->net_arms = calloc(lanes, sizeof *m->net_arms);
    m->kept = calloc(lanes, sizeof *m->kept);
    m->nets = calloc(lanes, sizeof *m->nets);
    if (!m->ids || !m->targets || !m->offsets || !m->rows || !m->starts || !m->firsts || !m->ref ||
        !m->arms || !m->net_arms || !m->kept || !m->nets)
        return ks_fail_memory(err, n * sizeof *m->ref, "a batch");
    for (size_t i = 1; i < lanes; i++) {
        m->arms[i] = calloc(n, sizeof **m->arms);
        if (!m->arms[i])
            return ks_fail_memory(err, n * sizeof **m->arms, "a batch");
    }
    return 0;
}

static void drop_tree(struct measure *m)
{
    for (size_t i = 0; i < m->n_hidden; i++)
        free(m->hidden[i]);
    free(m->hidden);
    m->hidden = NULL;
    m->n_hidden = 0;
    ks_tree_destroy(m->tree);
    m->tree = NULL;
}

static void measure_finish(struct measure *m)
{
    drop_tree(m);
    ks_scorer_destroy(m->scorer);
    for (size_t i = 0; m->arms && i < m->run->n_lanes; i++)
        free(m->arms[i]);
    free(m->arms);
    free(m->net_arms);
    free(m->kept);
    free(m->nets);
    free(m->ids);
    free(m->targets);
    free(m->offsets);
    free(m->rows);
    free(m->starts);
    free(m->firsts);
    free(m->ref);
    for (size_t i = 0; i < m->run->n_lanes; i++) {
        struct ks_lane *lane = &m->run->lanes[i];
        if (lane->owns_body)
            ks_body_destroy(lane->body);
        lane->body = NULL;
        lane->owns_body = false;
    }
}

/* ------------------------------------------------------------------ the tree of those that run */

static int make_hidden(struct measure *m, struct ks_error *err)
{
    size_t leaves = ks_tree_leaves(m->tree);
    m->hidden = calloc(leaves, sizeof *m->hidden);
    if (!m->hidden)
        return ks_fail_memory(err, leaves * sizeof *m->hidden, "a batch");
    m->n_hidden = leaves;
    for (size_t i = 0; i < leaves; i++) {
        size_t dim = m->nets[ks_tree_leaf_net(m->tree, i)].net->hparams->hidden;
        m->hidden[i] = ks_alloc_aligned(m->max_rows * dim, sizeof(float));
        if (!m->hidden[i])
            return ks_fail_memory(err, m->max_rows * dim * sizeof(float), "a batch");
    }
    return 0;
}

static void tell_sharing(const struct measure *m)
{
    size_t layers = ks_tree_layers(m->tree), unshared = ks_tree_layers_unshared(m->tree);
    size_t heads = ks_tree_leaves(m->tree);
    if (layers < unshared || heads < m->n_nets)
        ks_board_note(m->run->board, KS_LOG_INFO,
                      "arms that agree share %.0f %% of the layers' work: %zu layers a window "
                      "instead of %zu, %zu heads instead of %zu",
                      100 - 100 * (double)layers / (double)unshared, layers, unshared, heads,
                      m->n_nets);
}

static int grow_tree(struct measure *m, struct ks_error *err)
{
    drop_tree(m);
    m->n_nets = 0;
    for (size_t i = 0; i < m->run->n_lanes; i++) {
        struct ks_lane *lane = &m->run->lanes[i];
        if (lane->state != KS_ARM_RUNNING)
            continue;
        m->nets[m->n_nets] = (struct ks_tree_net){.net = &lane->arm.net, .body = lane->body};
        m->net_arms[m->n_nets] = m->arms[i];
        m->n_nets++;
    }
    m->tree = ks_tree_create(m->nets, m->n_nets, m->max_rows, m->run->residual_bytes, err);
    if (!m->tree)
        return -1;
    tell_sharing(m);
    return make_hidden(m, err);
}

/* ------------------------------------------------------------------ a batch */

static void add_window(struct measure *m, const struct ks_window *w)
{
    const struct ks_run *run = m->run;
    const struct ks_document *d = ks_run_document(run, w);
    for (size_t row = 0; row < w->rows; row++)
        m->ids[m->n_rows + row] = d->ids[w->start + row];
    if (w->start > 0 && run->bos >= 0)
        m->ids[m->n_rows] = run->bos;
    for (size_t row = w->first; row < w->rows; row++) {
        if (d->scored && !d->scored[w->start + row + 1])
            continue;
        m->rows[m->n_scored] = m->n_rows + row;
        m->targets[m->n_scored] = d->ids[w->start + row + 1];
        m->offsets[m->n_scored++] = (int32_t)(w->start + row);
    }
    m->n_rows += w->rows;
    m->firsts[m->n_windows] = w->first;
    m->starts[++m->n_windows] = m->n_rows;
}

/* Windows from `next` on, at least one, while they fit into `rows`. */
static void fill_batch(struct measure *m, size_t next, size_t rows)
{
    const struct ks_run *run = m->run;
    m->n_windows = m->n_rows = m->n_scored = 0;
    while (next + m->n_windows < run->n_windows) {
        const struct ks_window *w = &run->windows[next + m->n_windows];
        if (m->n_windows > 0 && m->n_rows + w->rows > rows)
            break;
        add_window(m, w);
    }
}

/* The batch in flight was done again on the CPU. What follows goes to the device again, if it can
 * be opened anew and proves itself; that is tried once in a run. */
static void meet_failure(struct measure *m, const struct ks_error *why)
{
    struct ks_run *run = m->run;
    struct ks_head_use *head = &run->head;
    struct ks_error err;
    char name[320], windows[64];
    size_t first = run->windows_done + 1, last = run->windows_done + m->n_windows;
    snprintf(name, sizeof name, "%s", ks_device_name(head->device));
    if (first == last)
        snprintf(windows, sizeof windows, "window %zu is", first);
    else
        snprintf(windows, sizeof windows, "windows %zu to %zu are", first, last);
    ks_board_note(run->board, KS_LOG_WARNING, "%s failed, %s done again on the cpu: %s", name,
                  windows, why->text);
    if (ks_head_reopen(head, run->cpu, &run->lanes[0].arm.net.head, &err) == 0)
        ks_board_note(run->board, KS_LOG_INFO, "%s was opened anew and takes the heads again",
                      name);
    else
        ks_board_note(run->board, KS_LOG_WARNING, "%s is given up, heads on the cpu from here: %s",
                      name, err.text);
    ks_scorer_take_device(m->scorer, head->device);
}

static void note_backend(struct measure *m)
{
    struct ks_run *run = m->run;
    const struct ks_error *failure = ks_scorer_device_failure(m->scorer);
    m->on_cpu = failure || (m->had_device && !run->head.device);
    if (failure)
        meet_failure(m, failure);
}

static int compute_batch(struct measure *m, struct ks_error *err)
{
    struct ks_batch batch = {
        .ids = m->ids, .starts = m->starts, .n_sequences = m->n_windows, .firsts = m->firsts};
    struct ks_tree_rows scored = {.rows = m->rows, .n = m->n_scored};
    if (ks_tree_run(m->tree, &batch, &scored, m->hidden, err))
        return -1;
    struct ks_scored out = {
        .targets = m->targets, .n = m->n_scored, .ref = m->ref, .arms = m->net_arms};
    if (ks_scorer_run(m->scorer, m->tree, m->nets, m->n_nets, m->hidden, &out, err))
        return -1;
    note_backend(m);
    m->run->flops += ks_tree_flops(m->tree, &batch);
    for (size_t leaf = 0; leaf < ks_tree_leaves(m->tree); leaf++) {
        const struct ks_matrix *head = &m->nets[ks_tree_leaf_net(m->tree, leaf)].net->head;
        m->run->flops += 2 * (double)m->n_scored * (double)head->rows * (double)head->cols;
    }
    return 0;
}

static void warn_nonfinite(struct ks_run *run, struct ks_lane *lane,
                           const struct ks_tally_window *w, const struct ks_ref_row *ref,
                           const struct ks_arm_row *arm, size_t n)
{
    const char *name = lane->arm.spec ? lane->arm.spec->name : "the reference";
    for (size_t i = 0; i < n && !lane->warned_nonfinite; i++) {
        if (arm ? arm[i].measurement || !ref[i].measurement : ref[i].measurement)
            continue;
        const struct ks_document_facts *d = &run->facts->document[w->document];
        lane->warned_nonfinite = true;
        ks_board_note(run->board, KS_LOG_WARNING,
                      "%s: logits that are no numbers at %s:%u, token %d; such positions are "
                      "counted and kept out of every mean",
                      name, d->file, d->line, w->offsets[i]);
    }
}

/* The run's next window, whose scored rows begin at `at` of the batch, into the file. */
static int keep_window(struct measure *m, size_t at, struct ks_error *err)
{
    struct ks_run *run = m->run;
    const struct ks_window *window = &run->windows[run->windows_done];
    struct ks_runfile_window w = {
        .id = ks_shard_window(&run->facts->shard, run->windows_done),
        .document = window->document,
        .start = window->start,
        .rows = window->rows,
        .first = window->first,
        .n = window->scored,
        .head_on_cpu = m->on_cpu,
        .tokens = ks_run_document(run, window)->ids + window->start,
        .offsets = m->offsets + at,
        .ref = m->ref + at,
    };
    for (size_t i = 1; i < run->n_lanes; i++)
        m->kept[i] = run->lanes[i].state == KS_ARM_RUNNING ? m->arms[i] + at : NULL;
    return ks_keep_window(run, &w, m->kept, err);
}

/* Adds window number `w` of the batch, whose scored rows begin at `at`, to the file first, so that
 * nothing is told that isn't kept, and to every tally. */
static int tally_window(struct measure *m, size_t w, size_t at, struct ks_error *err)
{
    struct ks_run *run = m->run;
    const struct ks_window *window = &run->windows[run->windows_done];
    struct ks_tally_window where = {.corpus = ks_run_document(run, window)->corpus,
                                    .document = window->document,
                                    .offsets = m->offsets + at};
    if (keep_window(m, at, err))
        return -1;
    for (size_t i = 0; i < run->n_lanes; i++) {
        struct ks_lane *lane = &run->lanes[i];
        if (lane->state != KS_ARM_RUNNING)
            continue;
        const struct ks_arm_row *arm = i ? m->arms[i] + at : NULL;
        if (ks_tally_add(lane->tally, &where, m->ref + at, arm, window->scored, err))
            return -1;
        warn_nonfinite(run, lane, &where, m->ref + at, arm, window->scored);
    }
    run->windows_done++;
    run->windows_on_cpu += m->on_cpu;
    run->positions_done += window->scored;
    run->tokens_done += m->starts[w + 1] - m->starts[w];
    return 0;
}

/* ------------------------------------------------------------------ steering */

static int wait_while_paused(struct measure *m, bool *changed, struct ks_error *err)
{
    struct ks_run *run = m->run;
    while (ks_board_pausing(run->board)) {
        run->state = KS_RUN_PAUSED;
        *changed |= ks_run_take_drops(run);
        if (ks_run_publish(run, "", err))
            return -1;
        ks_board_wait(run->board);
    }
    run->state = KS_RUN_RUNNING;
    return 0;
}

/* Tallies the batch window by window; a stop or a drop between two takes effect there, so that what
 * a hook decides never depends on how windows were batched. */
static int tally_batch(struct measure *m, bool *changed, struct ks_error *err)
{
    struct ks_run *run = m->run;
    size_t at = 0;
    for (size_t w = 0; w < m->n_windows && !ks_board_stopping(run->board); w++) {
        size_t scored = run->windows[run->windows_done].scored;
        if (tally_window(m, w, at, err))
            return -1;
        at += scored;
        if (ks_run_call_on_window(run, err))
            return -1;
        *changed |= ks_run_take_drops(run);
    }
    return 0;
}

static size_t next_goal(const struct measure *m, size_t rows, int64_t took_ns)
{
    double goal = took_ns > 0 ? (double)rows * BATCH_NS / (double)took_ns : (double)m->max_rows;
    return goal < (double)m->max_rows ? (size_t)goal : m->max_rows;
}

static int measure_all(struct measure *m, struct ks_error *err)
{
    struct ks_run *run = m->run;
    bool changed = true;
    size_t goal = 1;
    while (run->windows_done < run->n_windows && !ks_board_stopping(run->board)) {
        changed |= ks_run_take_drops(run);
        if (wait_while_paused(m, &changed, err))
            return -1;
        if (ks_board_stopping(run->board))
            break;
        if (changed && grow_tree(m, err))
            return -1;
        changed = false;
        int64_t begin = ks_clock_ns(), ran = ks_clock_process_ns();
        fill_batch(m, run->windows_done, goal);
        if (compute_batch(m, err) || tally_batch(m, &changed, err))
            return -1;
        int64_t took = ks_clock_ns() - begin;
        run->elapsed_ns += took;
        run->cpu_ns += ks_clock_process_ns() - ran;
        goal = next_goal(m, m->n_rows, took);
        if (ks_run_publish_if_due(run, "", err))
            return -1;
    }
    return 0;
}

int ks_run_measure(struct ks_run *run, struct ks_error *err)
{
    struct measure m = {
        .run = run, .max_rows = run->max_rows, .had_device = run->head.device != NULL};
    m.scorer = ks_scorer_create(run->cpu, run->head.device, run->facts->vocab, run->top_k, err);
    int failed = !m.scorer || make_bodies(&m, err) || make_rows(&m, err) || measure_all(&m, err);
    measure_finish(&m);
    return failed ? -1 : 0;
}

/*
 * Memory before a run: what it will take is summed and held against what there is, so that a run
 * that cannot fit is refused before it has cost anything, and one that fits with smaller batches
 * says so. Mapped model files are not counted: the kernel gives their pages back when it needs
 * them.
 */
#include <stdlib.h>

#include "engine/run/machine.h"
#include "engine/run/state.h"

#define MIN_BATCH     ((size_t)1024)
#define MAX_BATCH     ((size_t)8192)
#define ROWS_A_THREAD 512
/* What a batch may take: its rows are cut down to it, but not below one window. */
#define BATCH_BYTES ((uint64_t)320 << 20)
/* Of that, what the tree of arms may keep of residuals; beyond it computes them again. */
#define RESIDUAL_BYTES ((uint64_t)128 << 20)

static size_t longest_window(const struct ks_run *run)
{
    size_t longest = 1;
    for (size_t i = 0; i < run->n_windows; i++)
        if (run->windows[i].rows > longest)
            longest = run->windows[i].rows;
    return longest;
}

static uint64_t hidden_bytes(const struct ks_run *run, size_t lane)
{
    return (uint64_t)ks_model_info(run->lanes[lane].arm.model)->hidden * sizeof(float);
}

/* What a row costs in the scratch of the forward pass, products' copies of their inputs included.
 */
static uint64_t body_row_bytes(const struct ks_run *run)
{
    const size_t many = 1024;
    uint64_t bytes = 0, widest = 0, copies = 1;
    for (size_t i = 0; i < run->n_lanes; i++) {
        if (run->lanes[i].arm.rounding.products)
            copies = 2; /* one rounded, and that one laid out for the product */
        const struct ks_model *m = run->lanes[i].arm.model;
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = run->lanes[j].arm.model == m;
        if (!seen)
            bytes += ks_body_bytes(ks_model_hparams(m), many) / many;
        if (ks_model_info(m)->ffn > widest)
            widest = ks_model_info(m)->ffn;
    }
    return bytes + copies * widest * sizeof(float);
}

/* What a row of a batch costs in all: results, the head's input of every lane, scratch; and the
 * residuals that the tree may need, of which it keeps no more than the budget. */
static uint64_t row_bytes(const struct ks_run *run)
{
    uint64_t bytes = sizeof(struct ks_ref_row) + body_row_bytes(run), widest = 0;
    for (size_t i = 0; i < run->n_lanes; i++) {
        uint64_t hidden = hidden_bytes(run, i);
        bytes += hidden + sizeof(struct ks_arm_row);
        widest = hidden > widest ? hidden : widest;
    }
    uint64_t kept = RESIDUAL_BYTES / (widest * MIN_BATCH), most;
    most = ks_tree_most_residuals(run->n_lanes);
    return bytes + widest * (kept < 1 ? 1 : kept < most ? kept : most);
}

static bool made_alike(const struct ks_arm *a, const struct ks_arm *b, size_t tensor)
{
    enum ks_type type = a->types[tensor];
    return b->types && b->types[tensor] == type &&
           (a->spec->imatrix == b->spec->imatrix || ks_type_info(type)->weighing == KS_UNWEIGHED);
}

/* Whether an earlier lane makes the same tensor: then it exists once. */
static bool made_before(const struct ks_run *run, size_t lane, size_t tensor)
{
    for (size_t j = 1; j < lane; j++)
        if (made_alike(&run->lanes[lane].arm, &run->lanes[j].arm, tensor))
            return true;
    return false;
}

static uint64_t tensor_bytes(const struct ks_run *run)
{
    uint64_t sum = 0;
    for (size_t i = 1; i < run->n_lanes; i++) {
        const struct ks_arm *arm = &run->lanes[i].arm;
        for (size_t t = 0; arm->types && t < ks_model_n_tensors(arm->model); t++) {
            uint64_t row = 0;
            if (arm->types[t] == arm->tensors[t].type || made_before(run, i, t))
                continue;
            ks_type_row_bytes(arm->types[t], arm->tensors[t].cols, &row);
            sum += row * arm->tensors[t].rows;
        }
    }
    return sum;
}

static uint64_t tally_bytes(const struct ks_run *run)
{
    return 2 * sizeof(double) * (uint64_t)ks_run_positions(run) *
           run->n_lanes; /* values, and a copy to select from */
}

/* Enough rows to keep every thread at work between two waits, few enough to stay near the caches.
 */
static size_t good_batch(const struct ks_run *run)
{
    size_t rows = ROWS_A_THREAD * (size_t)run->threads;
    return rows < MIN_BATCH ? MIN_BATCH : rows > MAX_BATCH ? MAX_BATCH : rows;
}

int ks_run_preflight(struct ks_run *run, struct ks_error *err)
{
    size_t longest = longest_window(run), good = good_batch(run);
    uint64_t per_row = row_bytes(run), rows = BATCH_BYTES / per_row;
    run->residual_bytes = RESIDUAL_BYTES;
    run->max_rows = rows > good ? good : (size_t)rows;
    if (run->max_rows < longest)
        run->max_rows = longest;
    uint64_t fixed = tensor_bytes(run) + tally_bytes(run) +
                     ks_scorer_bytes(ks_model_info(run->plan->reference)->vocab);
    uint64_t available = ks_machine_memory_available();
    if (available == 0)
        return 0; /* nobody tells: try */
    size_t wanted = run->max_rows;
    while (run->max_rows > longest && fixed + per_row * run->max_rows > available)
        run->max_rows = run->max_rows / 2 > longest ? run->max_rows / 2 : longest;
    uint64_t need = fixed + per_row * run->max_rows;
    if (need > available)
        return ks_fail(err, KS_BAD_INPUT,
                       "this run needs about %.2f GB of memory (%.2f GB of it quantized tensors) "
                       "and %.2f GB are available: take fewer arms at once, or a smaller window",
                       (double)need / 1e9, (double)tensor_bytes(run) / 1e9,
                       (double)available / 1e9);
    if (run->max_rows < wanted)
        ks_board_note(run->board, KS_LOG_WARNING,
                      "memory is short: batches of %zu tokens instead of %zu", run->max_rows,
                      wanted);
    return 0;
}

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
#define HIDDEN_BUDGET ((uint64_t)256 << 20)

static size_t longest_window(const struct ks_run *run)
{
    size_t longest = 1;
    for (size_t i = 0; i < run->n_windows; i++)
        if (run->windows[i].rows > longest)
            longest = run->windows[i].rows;
    return longest;
}

/* What each row of a batch costs beside the bodies: residual and head input of every lane, and the
 * results. */
static uint64_t row_bytes(const struct ks_run *run)
{
    uint64_t bytes = sizeof(struct ks_ref_row);
    for (size_t i = 0; i < run->n_lanes; i++)
        bytes += 2 * (uint64_t)ks_model_info(run->lanes[i].arm.model)->hidden * sizeof(float) +
                 sizeof(struct ks_arm_row);
    return bytes;
}

static uint64_t body_bytes(const struct ks_run *run, size_t rows)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < run->n_lanes; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = run->lanes[j].arm.model == run->lanes[i].arm.model;
        if (!seen)
            bytes += ks_body_bytes(ks_model_hparams(run->lanes[i].arm.model), rows);
    }
    return bytes;
}

/* Whether an earlier lane makes the same tensor in the same type: then it exists once. */
static bool made_before(const struct ks_run *run, size_t lane, size_t tensor)
{
    for (size_t j = 1; j < lane; j++)
        if (run->lanes[j].arm.types &&
            run->lanes[j].arm.types[tensor] == run->lanes[lane].arm.types[tensor])
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
    uint64_t per_row = row_bytes(run);
    uint64_t rows = HIDDEN_BUDGET / per_row;
    run->max_rows = rows > good ? good : (size_t)rows;
    if (run->max_rows < longest)
        run->max_rows = longest;
    uint64_t fixed = tensor_bytes(run) + tally_bytes(run) +
                     ks_scorer_bytes(ks_model_info(run->plan->reference)->vocab);
    uint64_t available = ks_machine_memory_available();
    if (available == 0)
        return 0; /* nobody tells: try */
    while (run->max_rows > longest &&
           fixed + body_bytes(run, run->max_rows) + per_row * run->max_rows > available)
        run->max_rows = run->max_rows / 2 > longest ? run->max_rows / 2 : longest;
    uint64_t need = fixed + body_bytes(run, run->max_rows) + per_row * run->max_rows;
    if (need > available)
        return ks_fail(err, KS_BAD_INPUT,
                       "this run needs about %.2f GB of memory (%.2f GB of it quantized tensors) "
                       "and %.2f GB are available: take fewer arms at once, or a smaller window",
                       (double)need / 1e9, (double)tensor_bytes(run) / 1e9,
                       (double)available / 1e9);
    if (run->max_rows < good && rows >= good)
        ks_board_note(run->board, KS_LOG_WARNING,
                      "memory is short: batches of %zu tokens instead of %zu", run->max_rows, good);
    return 0;
}

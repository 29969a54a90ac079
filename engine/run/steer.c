#include <string.h>

#include "engine/run/state.h"

int ks_run_call_on_window(struct ks_run *run, struct ks_error *err)
{
    const struct ks_hooks *hooks = &run->plan->hooks;
    if (!hooks->on_window)
        return 0;
    if (ks_run_publish(run, "", err))
        return -1;
    const struct ks_snapshot *now = ks_board_snapshot(run->board);
    hooks->on_window(hooks->ctx, run, now);
    ks_snapshot_release(now);
    return 0;
}

bool ks_run_take_drops(struct ks_run *run)
{
    bool changed = false;
    size_t arm;
    char why[sizeof run->lanes->why];
    while (ks_board_next_drop(run->board, &arm, why, sizeof why)) {
        if (arm + 1 >= run->n_lanes || run->lanes[arm + 1].state != KS_ARM_RUNNING)
            continue;
        struct ks_lane *lane = &run->lanes[arm + 1];
        lane->state = KS_ARM_DROPPED;
        memcpy(lane->why, why, sizeof why);
        ks_board_note(run->board, KS_LOG_INFO, "%s dropped after window %zu: %s",
                      lane->arm.spec->name, run->windows_done, why);
        changed = true;
    }
    return changed;
}

/*
 * Scenarios: a Lua 5.4 file that returns one table, to a ks_plan.
 *
 * The file runs in a sandbox on a thread of its own, with limits on instructions, memory and time
 * (5 s to load, 1 s a hook). Hooks and chat renderers keep the Lua state alive inside the plan
 * (ks_plan.hooks.destroy frees it); they are called on the run's thread and hand over to the
 * script's.
 *
 * Every error has file:line, what was found, the nearest known word, and a short traceback where a
 * function failed.
 */
#ifndef KS_LUA_SCENARIO_H
#define KS_LUA_SCENARIO_H

#include "engine/engine.h"

struct ks_param {
    const char *name, *value; /* -p NAME=VALUE; numbers and true/false are converted */
};

/* Options of the command line that replace what the scenario says; 0 or NULL: as the scenario. */
struct ks_scenario_overrides {
    uint32_t window;
    size_t max_documents;
    int threads;
};

/* path is opened, and shown in messages, as given; paths inside are relative to its folder, but for
 * one that is the value of a parameter as `params` gave it: that is relative to the current folder.
 * NULL on failure. The plan is the caller's. */
struct ks_plan *ks_scenario_load(const char *path, const struct ks_param *params, size_t n_params,
                                 const struct ks_scenario_overrides *overrides,
                                 struct ks_error *err);

/*
 * Gives the chats of a plan that no scenario made, and that has no hooks yet, the format of the
 * reference's chat template (scenarios/chats); those that the engine writes, or whose format is not
 * known, stay as they are.
 */
int ks_scenario_format_chats(struct ks_plan *plan, struct ks_error *err);

#endif

/*
 * What a script may use up. The defaults are the product's; tests take smaller ones.
 */
#ifndef KS_LUA_SCRIPT_LIMITS_H
#define KS_LUA_SCRIPT_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "lua/scenario.h"

struct ks_script_limits {
    int load_ms, hook_ms;
    uint64_t load_steps, hook_steps; /* virtual machine instructions */
    size_t memory_bytes;             /* of the Lua state */
    size_t text_bytes;               /* of one string.rep */
};

extern const struct ks_script_limits ks_script_default_limits;

/* ks_scenario_load with other limits. */
struct ks_plan *ks_scenario_load_within(const char *path, const struct ks_param *params,
                                        size_t n_params,
                                        const struct ks_scenario_overrides *overrides,
                                        const struct ks_script_limits *limits,
                                        struct ks_error *err);

#endif

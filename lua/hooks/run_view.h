/*
 * `run` in a hook: numbers to read, and what may be asked of the run.
 */
#ifndef KS_LUA_HOOKS_RUN_VIEW_H
#define KS_LUA_HOOKS_RUN_VIEW_H

#include "lua/script/script.h"

/* Copies what hooks see of a snapshot into s->view; -1 when out of memory. On the run's thread. */
int ks_run_view_copy(struct ks_script *s, const struct ks_snapshot *now, struct ks_error *err);
/* Runs s->hook on s->view; a lua_CFunction for ks_sandbox_protect. */
int ks_run_view_call_hook(lua_State *L);

#endif

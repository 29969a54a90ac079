/*
 * What a script asked for, kept until its job has returned, so that an abandoned script asks
 * nothing of a run that may be gone.
 */
#ifndef KS_LUA_HOOKS_EFFECTS_H
#define KS_LUA_HOOKS_EFFECTS_H

#include "lua/script/script.h"

/* Copies text, cut to a line of the log; raises when a job asks too much. */
void ks_effects_add(lua_State *L, enum ks_effect_kind kind, size_t arm, const char *text);
/* Does them all in their order, on the run's thread. */
void ks_effects_apply(struct ks_script *s, struct ks_run *run);

#endif

/*
 * A plan's hooks and renderers, on the side of the run: they hand over to the script's thread,
 * wait, and do what the script asked for.
 *
 * A hook that fails is off from then on, and the log says so; a script that had to be ended or
 * abandoned is asked nothing more. The run goes on in any case.
 */
#ifndef KS_LUA_HOOKS_HOOKS_H
#define KS_LUA_HOOKS_HOOKS_H

#include "lua/script/script.h"

/* Gives the plan its hooks. Takes the script and its thread over, in success and failure. */
int ks_hooks_attach(struct ks_plan *plan, struct ks_script *s, struct ks_error *err);

#endif

/*
 * The world that a script sees: a named allow-list, globals that are words, and limits.
 *
 * Absent, so that nothing has to be guarded: io, os, require, load in any form, coroutine, debug,
 * metatables, raw access, next, collectgarbage. A count hook ends a script that runs too long or
 * that was abandoned; what it raises passes through pcall.
 */
#ifndef KS_LUA_SCRIPT_SANDBOX_H
#define KS_LUA_SCRIPT_SANDBOX_H

#include "lua/script/script.h"

/* Opens s->L with no world in it yet; -1 when out of memory. */
int ks_sandbox_open(struct ks_script *s, struct ks_error *err);
/* Closes it; what it held is gone. */
void ks_sandbox_close(struct ks_script *s);
/* Builds the world. Raises; for ks_sandbox_protect. */
void ks_sandbox_furnish(lua_State *L);

/* Runs fn() under the given limit of instructions. Returns 0, or -1 with s->error filled. */
int ks_sandbox_protect(struct ks_script *s, lua_CFunction fn, uint64_t max_steps);

#endif

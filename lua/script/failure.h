/*
 * From a Lua error to the one line that a person reads: file:line, what was wrong, and through
 * which of the script's functions it went.
 */
#ifndef KS_LUA_SCRIPT_FAILURE_H
#define KS_LUA_SCRIPT_FAILURE_H

#include "lua/script/script.h"

/* The message handler of every protected call of ours: fills s->error while the stack is whole. */
int ks_failure_handler(lua_State *L);
/* Fills s->error for the kill that is set, and raises. */
int ks_failure_raise_kill(lua_State *L) __attribute__((noreturn));
/* Completes s->error after lua_pcall gave status. */
void ks_failure_finish(struct ks_script *s, int status);

#endif

/*
 * Parameters: `params = { window = 512 }` at the head of the file declares names and defaults; the
 * command line's -p NAME=VALUE takes a default's place where the name is known and the type fits.
 *
 * A scenario may declare them in scenario{ params = {...} } as well. It has then read them before
 * they were declared (and found what the command line gave, or nil), so it is run once more with
 * the declaration known.
 */
#ifndef KS_LUA_WORDS_PARAMS_H
#define KS_LUA_WORDS_PARAMS_H

#include "lua/script/script.h"

/* Declares the table at index and pushes the frozen values. Raises. */
void ks_params_assign(lua_State *L, int index);
/* The same where scenario{} says it: KS_KILL_AGAIN is raised if the script has read one before. */
void ks_params_declare_late(lua_State *L, int index);
/* Pushes the declared ones. */
void ks_params_push(lua_State *L);
/* Pushes the value of `params` while nothing is declared; returns 1. */
int ks_params_push_undeclared(lua_State *L);
/* After the script: refuses what was given or read but never declared. */
void ks_params_check(lua_State *L);

#endif

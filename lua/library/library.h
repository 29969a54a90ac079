/*
 * The functions of the sandbox that Lua's own would do unsafely, or differently each time: pairs
 * and sort in an order that is no luck, texts without addresses, bounded string.rep, a pcall that
 * cannot stop a kill, and random numbers from the scenario's seed.
 */
#ifndef KS_LUA_LIBRARY_LIBRARY_H
#define KS_LUA_LIBRARY_LIBRARY_H

#include <lua.h>

/* Pushes the value at index as text, without the addresses that differ each time. */
void ks_library_push_text(lua_State *L, int index);

int ks_library_pairs(lua_State *L);
int ks_library_sort(lua_State *L);
int ks_library_tostring(lua_State *L);
int ks_library_format(lua_State *L); /* upvalue 1: Lua's string.format */
int ks_library_rep(lua_State *L);
int ks_library_pcall(lua_State *L);
int ks_library_random(lua_State *L);
int ks_library_print(lua_State *L);

#endif

/*
 * What a name means that is not local: a word, or a global of the script's own.
 */
#ifndef KS_LUA_LIBRARY_GLOBALS_H
#define KS_LUA_LIBRARY_GLOBALS_H

#include <lua.h>

/* Pops the table of words and makes it, with an empty table of globals, the environment of the
 * chunks that are loaded from then on. */
void ks_globals_set(lua_State *L);

#endif

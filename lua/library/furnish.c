/*
 * The allow-list: what is not named here is not there.
 */
#include <lualib.h>

#include "lua/check/frozen.h"
#include "lua/library/globals.h"
#include "lua/library/library.h"
#include "lua/script/sandbox.h"
#include "lua/words/params.h"
#include "lua/words/words.h"

static const char *const base_names[] = {"assert", "error",    "ipairs", "select",
                                         "type",   "tonumber", NULL};
static const char *const string_names[] = {"byte",  "char",  "find",    "gmatch", "gsub",  "len",
                                           "lower", "match", "reverse", "sub",    "upper", NULL};
static const char *const table_names[] = {"concat", "insert", "move", "pack",
                                          "remove", "unpack", NULL};
static const char *const math_names[] = {
    "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
    "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
    "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL};
static const char *const utf8_names[] = {"char", "charpattern", "codepoint", "codes",
                                         "len",  "offset",      NULL};

static const luaL_Reg base_ours[] = {{"pairs", ks_library_pairs},
                                     {"pcall", ks_library_pcall},
                                     {"print", ks_library_print},
                                     {"tostring", ks_library_tostring},
                                     {NULL, NULL}};
static const luaL_Reg string_ours[] = {{"rep", ks_library_rep}, {NULL, NULL}};
static const luaL_Reg table_ours[] = {{"sort", ks_library_sort}, {NULL, NULL}};
static const luaL_Reg math_ours[] = {{"random", ks_library_random}, {NULL, NULL}};
static const luaL_Reg none_ours[] = {{NULL, NULL}};

/* Leaves a table with the allowed part of a standard library and ours on the stack, above the
 * library itself. */
static void allow(lua_State *L, lua_CFunction open, const char *name, const char *const *names,
                  const luaL_Reg *ours)
{
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    lua_newtable(L);
    for (; *names; names++) {
        lua_getfield(L, -2, *names);
        lua_setfield(L, -2, *names);
    }
    luaL_setfuncs(L, ours, 0);
}

static void allow_library(lua_State *L, int words, lua_CFunction open, const char *name,
                          const char *what, const char *const *names, const luaL_Reg *ours)
{
    allow(L, open, name, names, ours);
    if (open == luaopen_string) {
        lua_getfield(L, -2, "format");
        lua_pushcclosure(L, ks_library_format, 1);
        lua_setfield(L, -2, "format");
    }
    ks_frozen_push(L, (struct ks_frozen){.kind = KS_FROZEN_LIBRARY, .what = what});
    if (open == luaopen_string) { /* ("x"):rep(3) finds ours */
        lua_pushliteral(L, "");
        lua_getmetatable(L, -1);
        lua_pushvalue(L, -3);
        lua_setfield(L, -2, "__index");
        lua_pop(L, 2);
    }
    lua_setfield(L, words, name);
    lua_pop(L, 1);
}

void ks_sandbox_furnish(lua_State *L)
{
    ks_frozen_setup(L, ks_word_call);
    allow(L, luaopen_base, "_G", base_names, base_ours);
    int words = lua_gettop(L);
    allow_library(L, words, luaopen_string, "string", "the library string", string_names,
                  string_ours);
    allow_library(L, words, luaopen_table, "table", "the library table", table_names, table_ours);
    allow_library(L, words, luaopen_math, "math", "the library math", math_names, math_ours);
    allow_library(L, words, luaopen_utf8, "utf8", "the library utf8", utf8_names, none_ours);
    luaL_setfuncs(L, ks_words, 0);
    if (ks_script_of(L)->params_declared) {
        ks_params_push(L);
        lua_setfield(L, words, "params");
    }
    ks_globals_set(L);
    lua_pop(L, 1);
}

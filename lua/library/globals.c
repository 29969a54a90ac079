/*
 * The chunk's _ENV is an empty table whose metatable reads words and the script's own globals from
 * two tables in the registry, so that every access to an unknown name is seen.
 */
#include "lua/library/globals.h"

#include <string.h>

#include "lua/check/check.h"
#include "lua/script/script.h"
#include "lua/words/params.h"

static const char words_key, globals_key; /* addresses in the registry */

struct absent {
    const char *name, *why;
};

static const struct absent absent[] = {
    {"io", "a scenario reads and writes no files; text() and chat() name corpora"},
    {"os", "a scenario asks the system nothing, so that it means the same everywhere"},
    {"require", "a scenario is one file"},
    {"dofile", "a scenario is one file"},
    {"loadfile", "a scenario is one file"},
    {"load", "code is not made from strings here"},
    {"package", "a scenario is one file"},
    {"debug", "it would open the sandbox"},
    {"coroutine", "functions do"},
    {"setmetatable", "tables have no metatables here"},
    {"getmetatable", "tables have no metatables here"},
    {"rawget", "tables have no metatables here, t[k] does"},
    {"rawset", "tables have no metatables here, t[k] = v does"},
    {"rawequal", "tables have no metatables here, a == b does"},
    {"rawlen", "tables have no metatables here, #t does"},
    {"next", "its order is luck; pairs walks keys in sorted order"},
    {"collectgarbage", "memory is looked after"},
    {"xpcall", "pcall is there"},
    {"_G", "a global is read by its name"},
};

static void refuse_absent(lua_State *L, const char *name)
{
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strcmp(absent[i].name, name) == 0)
            ks_word_fail(L, KS_BAD_INPUT, "`%s` is not there in scenarios: %s", name,
                         absent[i].why);
}

/* Words and the script's globals in one table, for suggestions. Pushes it. */
static void push_all_names(lua_State *L)
{
    const void *const tables[] = {&words_key, &globals_key};
    lua_newtable(L);
    for (int i = 0; i < 2; i++) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, tables[i]);
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            lua_pushvalue(L, -2);
            lua_pushboolean(L, 1);
            lua_rawset(L, -6);
        }
        lua_pop(L, 1);
    }
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "params");
}

static int read_global(lua_State *L)
{
    const void *const tables[] = {&words_key, &globals_key};
    for (int i = 0; i < 2; i++) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, tables[i]);
        lua_pushvalue(L, 2);
        if (lua_rawget(L, -2) != LUA_TNIL)
            return 1;
    }
    if (lua_type(L, 2) != LUA_TSTRING)
        return ks_word_fail(L, KS_BAD_INPUT, "globals are read by name, not by %s",
                            ks_word_show(L, 2));
    const char *name = lua_tostring(L, 2);
    if (strcmp(name, "params") == 0)
        return ks_params_push_undeclared(L);
    refuse_absent(L, name);
    push_all_names(L);
    return ks_word_fail(L, KS_BAD_INPUT, "unknown word `%s`%s", name,
                        ks_word_nearest_key(L, -1, name));
}

static void refuse_global(lua_State *L, const char *name)
{
    if (!ks_script_of(L)->loading)
        ks_word_fail(L, KS_BAD_INPUT,
                     "the global `%s` can't be set in a hook; declare `local %s` at the head of "
                     "the file",
                     name, name);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &words_key);
    if (lua_getfield(L, -1, name) != LUA_TNIL)
        ks_word_fail(L, KS_BAD_INPUT, "`%s` is a word of scenarios; take another name, or `local`",
                     name);
    lua_pop(L, 2);
}

static int write_global(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING)
        return ks_word_fail(L, KS_BAD_INPUT, "globals are set by name, not by %s",
                            ks_word_show(L, 2));
    if (strcmp(lua_tostring(L, 2), "params") == 0) {
        ks_params_assign(L, 3);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &words_key);
        lua_rotate(L, -2, 1);
        lua_setfield(L, -2, "params");
        return 0;
    }
    refuse_global(L, lua_tostring(L, 2));
    lua_rawgetp(L, LUA_REGISTRYINDEX, &globals_key);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_rawset(L, -3);
    return 0;
}

void ks_globals_set(lua_State *L)
{
    lua_rawsetp(L, LUA_REGISTRYINDEX, &words_key);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &globals_key);
    lua_newtable(L);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, read_global);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, write_global);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

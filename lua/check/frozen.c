#include "lua/check/frozen.h"

#include "lua/check/check.h"
#include "lua/script/script.h"

#define METATABLE "kldscope value"

const struct ks_frozen *ks_frozen_any(lua_State *L, int index)
{
    return luaL_testudata(L, index, METATABLE);
}

const struct ks_frozen *ks_frozen_test(lua_State *L, int index, enum ks_frozen_kind kind)
{
    const struct ks_frozen *f = ks_frozen_any(L, index);
    return f && f->kind == kind ? f : NULL;
}

void ks_frozen_push(lua_State *L, struct ks_frozen value)
{
    struct ks_frozen *f = lua_newuserdatauv(L, sizeof *f, 1);
    *f = value;
    lua_rotate(L, -2, 1);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, METATABLE);
}

void ks_frozen_table(lua_State *L, int index)
{
    const struct ks_frozen *f = ks_frozen_any(L, index);
    if (f->epoch && f->epoch != ks_script_of(L)->epoch)
        ks_word_fail(L, KS_BAD_INPUT,
                     "%s was read after its hook had returned; keep its numbers, not the view",
                     f->what);
    lua_getiuservalue(L, index, 1);
}

static int read_field(lua_State *L)
{
    const struct ks_frozen *f = ks_frozen_any(L, 1);
    ks_frozen_table(L, 1);
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    if (!lua_isnil(L, -1) || (f->list && lua_type(L, 2) == LUA_TNUMBER))
        return 1;
    if (lua_type(L, 2) != LUA_TSTRING)
        return ks_word_fail(L, KS_BAD_INPUT, "%s has no field %s", f->what, ks_word_show(L, 2));
    const char *near = ks_word_nearest_key(L, 3, lua_tostring(L, 2));
    return ks_word_fail(L, KS_BAD_INPUT, "%s has no field `%s`%s", f->what, lua_tostring(L, 2),
                        near);
}

static int refuse_write(lua_State *L)
{
    return ks_word_fail(L, KS_BAD_INPUT, "%s is read-only; %s can't be set",
                        ks_frozen_any(L, 1)->what, ks_word_show(L, 2));
}

static int length(lua_State *L)
{
    ks_frozen_table(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
    return 1;
}

void ks_frozen_setup(lua_State *L, lua_CFunction call)
{
    const luaL_Reg methods[] = {
        {"__index", read_field},
        {"__newindex", refuse_write},
        {"__len", length},
        {"__call", call},
        {NULL, NULL},
    };
    luaL_newmetatable(L, METATABLE);
    luaL_setfuncs(L, methods, 0);
    lua_pop(L, 1);
}

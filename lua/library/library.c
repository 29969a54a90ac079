#include "lua/library/library.h"

#include <string.h>

#include "engine/base/bytes.h"
#include "lua/check/check.h"
#include "lua/hooks/effects.h"
#include "lua/script/script.h"

/* ------------------------------------------------------------------ texts */

void ks_library_push_text(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNIL:
    case LUA_TBOOLEAN:
    case LUA_TNUMBER:
    case LUA_TSTRING:
        luaL_tolstring(L, index, NULL);
        return;
    default:
        ks_word_show(L, index);
    }
}

int ks_library_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    ks_library_push_text(L, 1);
    return 1;
}

/* Lua would show a table given to %s, and anything given to %p, by its address. */
static void replace_addresses(lua_State *L, const char *format)
{
    int arg = 2;
    for (const char *p = strchr(format, '%'); p && p[1]; p = strchr(p + 1, '%')) {
        p += 1 + strspn(p + 1, "-+ #0123456789.");
        if (*p == '\0')
            return; /* Lua's own says what is wrong */
        if (*p == 'p')
            ks_word_fail(L, KS_BAD_INPUT,
                         "string.format: %%p is not there, addresses differ each time");
        if (*p == 's' && lua_type(L, arg) > LUA_TSTRING) {
            ks_library_push_text(L, arg);
            lua_replace(L, arg);
        }
        arg += *p != '%';
    }
}

/* Lua's own, once no argument shows an address. */
int ks_library_format(lua_State *L)
{
    replace_addresses(L, luaL_checkstring(L, 1));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

int ks_library_rep(lua_State *L)
{
    size_t len, sep_len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_Integer n = luaL_checkinteger(L, 2);
    const char *sep = luaL_optlstring(L, 3, "", &sep_len);
    if (n <= 0 || len + sep_len == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    size_t limit = ks_script_of(L)->limits.text_bytes;
    if (len + sep_len > limit / (size_t)n)
        return ks_word_fail(L, KS_BAD_INPUT, "string.rep: the text would be over %zu MB",
                            limit >> 20);
    size_t total = (size_t)n * (len + sep_len) - sep_len;
    luaL_Buffer b;
    char *out = luaL_buffinitsize(L, &b, total);
    for (lua_Integer i = 0; i < n; i++) {
        if (i > 0)
            out = mempcpy(out, sep, sep_len);
        out = mempcpy(out, text, len);
    }
    luaL_pushresultsize(&b, total);
    return 1;
}

int ks_library_print(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            luaL_addchar(&b, ' ');
        ks_library_push_text(L, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    ks_effects_add(L, KS_EFFECT_NOTE, 0, lua_tostring(L, -1));
    return 0;
}

/* ------------------------------------------------------------------ control and chance */

int ks_library_pcall(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    luaL_checkany(L, 1);
    int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    if (status != LUA_OK && s->kill)
        return lua_error(L);
    s->code = KS_BAD_INPUT;
    lua_pushboolean(L, status == LUA_OK);
    lua_insert(L, 1);
    return lua_gettop(L);
}

/* random(), random(m) and random(m, n) as Lua has them, from our generator. */
int ks_library_random(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    s->random_used = true;
    if (lua_gettop(L) == 0) {
        lua_pushnumber(L, (double)(ks_random_next(&s->random) >> 11) * 0x1p-53);
        return 1;
    }
    lua_Integer low = lua_gettop(L) == 1 ? 1 : luaL_checkinteger(L, 1);
    lua_Integer high = luaL_checkinteger(L, lua_gettop(L) == 1 ? 1 : 2);
    if (low > high)
        return ks_word_fail(L, KS_BAD_INPUT, "math.random: nothing lies from %lld to %lld",
                            (long long)low, (long long)high);
    uint64_t width = (uint64_t)high - (uint64_t)low + 1;
    uint64_t drawn = width ? ks_random_below(&s->random, width) : ks_random_next(&s->random);
    lua_pushinteger(L, (lua_Integer)((uint64_t)low + drawn));
    return 1;
}

#include "lua/check/check.h"

#include <string.h>

#include "lua/check/frozen.h"
#include "lua/script/script.h"

#define MAX_KEYS 32

static const struct ks_key *find_key(const struct ks_key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (strcmp(keys->name, name) == 0)
            return keys;
    return NULL;
}

static void refuse_key(const struct ks_form *f, const struct ks_key *keys, const char *name)
{
    const struct ks_key *known = find_key(keys, name);
    if (known && known->later)
        ks_word_fail(f->L, KS_UNSUPPORTED,
                     "%s: `%s` is for a later version; this one (" KS_VERSION
                     ") doesn't have it yet",
                     f->what, name);
    const char *names[MAX_KEYS];
    size_t n = 0;
    for (; keys[n].name; n++)
        names[n] = keys[n].name;
    ks_word_fail(f->L, KS_BAD_INPUT, "%s: unknown key `%s`%s", f->what, name,
                 ks_word_nearest(f->L, name, names, n));
}

/* Of several wrong keys the first by bytes is told, so that the message isn't luck. */
void ks_form_open(const struct ks_form *f, const struct ks_key *keys, const char *example)
{
    lua_State *L = f->L;
    if (lua_type(L, f->index) != LUA_TTABLE)
        ks_word_fail(L, KS_BAD_INPUT, "%s needs a table, found %s; write %s", f->what,
                     ks_word_show(L, f->index), example);
    const char *wrong = NULL;
    for (lua_pushnil(L); lua_next(L, f->index); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            ks_word_fail(L, KS_BAD_INPUT, "%s: %s stands without a key; write %s", f->what,
                         ks_word_show(L, -1), example);
        const char *name = lua_tostring(L, -2);
        bool whole = strlen(name) == lua_rawlen(L, -2); /* no NUL inside */
        const struct ks_key *key = whole ? find_key(keys, name) : NULL;
        if ((!key || key->later) && (!wrong || strcmp(name, wrong) < 0))
            wrong = name;
    }
    if (wrong)
        refuse_key(f, keys, wrong);
}

int ks_form_get(const struct ks_form *f, const char *key)
{
    lua_pushstring(f->L, key);
    return lua_rawget(f->L, f->index);
}

int ks_form_wrong(const struct ks_form *f, const char *key, const char *expected)
{
    ks_word_fail(f->L, KS_BAD_INPUT, "%s: %s must be %s, found %s", f->what, key, expected,
                 ks_word_show(f->L, -1));
}

const char *ks_form_string(const struct ks_form *f, const char *key)
{
    lua_State *L = f->L;
    int type = ks_form_get(f, key);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        ks_form_wrong(f, key, "a string");
    const char *what = lua_pushfstring(L, "%s: %s", f->what, key);
    const char *text = type == LUA_TSTRING ? ks_word_string(L, -2, what) : NULL;
    lua_pop(L, 2);
    return text;
}

bool ks_form_integer(const struct ks_form *f, const char *key, lua_Integer min, lua_Integer max,
                     lua_Integer *out)
{
    lua_State *L = f->L;
    int type = ks_form_get(f, key);
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return false;
    }
    int whole = 0;
    lua_Integer value = type == LUA_TNUMBER ? lua_tointegerx(L, -1, &whole) : 0;
    if (!whole || value < min || value > max) {
        const char *found = ks_word_show(L, -1);
        const char *range =
            max == LUA_MAXINTEGER
                ? lua_pushfstring(L, "%I or more", (LUAI_UACINT)min)
                : lua_pushfstring(L, "from %I to %I", (LUAI_UACINT)min, (LUAI_UACINT)max);
        ks_word_fail(L, KS_BAD_INPUT, "%s: %s must be a whole number, %s, found %s", f->what, key,
                     range, found);
    }
    lua_pop(L, 1);
    *out = value;
    return true;
}

bool ks_form_flag(const struct ks_form *f, const char *key)
{
    int type = ks_form_get(f, key);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
        ks_form_wrong(f, key, "true or false");
    bool on = lua_toboolean(f->L, -1);
    lua_pop(f->L, 1);
    return on;
}

static const char *quoted_choices(lua_State *L, const char *const *choices)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; choices[i]; i++) {
        luaL_addstring(&b, i == 0 ? "\"" : " or \"");
        luaL_addstring(&b, choices[i]);
        luaL_addchar(&b, '"');
    }
    luaL_pushresult(&b);
    return lua_tostring(L, -1);
}

int ks_form_choice(const struct ks_form *f, const char *key, const char *const *choices)
{
    lua_State *L = f->L;
    int type = ks_form_get(f, key);
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return -1;
    }
    for (int i = 0; type == LUA_TSTRING && choices[i]; i++)
        if (strcmp(lua_tostring(L, -1), choices[i]) == 0) {
            lua_pop(L, 1);
            return i;
        }
    const char *expected = quoted_choices(L, choices);
    lua_pushvalue(L, -2);
    return ks_form_wrong(f, key, expected);
}

size_t ks_form_list(const struct ks_form *f, int index, const char *key)
{
    lua_State *L = f->L;
    size_t n = 0, length = lua_rawlen(L, index);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1), n++)
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1)
            ks_word_fail(L, KS_BAD_INPUT, "%s: %s is a list, but has the key %s", f->what, key,
                         ks_word_show(L, -2));
    if (n != length)
        ks_word_fail(L, KS_BAD_INPUT, "%s: the list %s has a hole (nil) in it", f->what, key);
    return n;
}

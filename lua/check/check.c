#include "lua/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "lua/check/frozen.h"
#include "lua/script/script.h"

int ks_word_line(lua_State *L)
{
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "l", &ar);
        if (ar.currentline > 0)
            return ar.currentline;
    }
    return 0;
}

static int raise(lua_State *L, enum ks_code code, const char *text)
{
    struct ks_script *s = ks_script_of(L);
    lua_pushfstring(L, "%s:%d: %s", s->chunk, ks_word_line(L), text);
    s->code = code;
    return lua_error(L);
}

int ks_word_fail(lua_State *L, enum ks_code code, const char *format, ...)
{
    struct ks_error err;
    va_list args;
    va_start(args, format);
    vsnprintf(err.text, sizeof err.text, format, args);
    va_end(args);
    raise(L, code, err.text);
    abort(); /* not reached: lua_error does not return */
}

int ks_word_fail_with(lua_State *L, const struct ks_error *err)
{
    raise(L, err->code, err->text);
    abort();
}

const char *ks_word_nearest(lua_State *L, const char *word, const char *const *words, size_t n)
{
    const char *near = ks_nearest_word(word, words, n);
    return near ? lua_pushfstring(L, ", did you mean `%s`?", near) : lua_pushliteral(L, "");
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **ks_word_string_keys(lua_State *L, int index, size_t *n)
{
    size_t cap = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
        cap++;
    const char **keys = lua_newuserdatauv(L, (cap + 1) * sizeof *keys, 0);
    *n = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING)
            keys[(*n)++] = lua_tostring(L, -2);
    qsort(keys, *n, sizeof *keys, by_bytes);
    return keys;
}

const char *ks_word_nearest_key(lua_State *L, int index, const char *word)
{
    size_t n;
    const char **keys = ks_word_string_keys(L, lua_absindex(L, index), &n);
    return ks_word_nearest(L, word, keys, n);
}

#define SHOWN_BYTES 60

static const char *show_string(lua_State *L, int index)
{
    size_t len;
    const char *text = lua_tolstring(L, index, &len);
    char shown[SHOWN_BYTES + 1];
    size_t n = len < SHOWN_BYTES ? len : SHOWN_BYTES;
    for (size_t i = 0; i < n; i++)
        shown[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    shown[n] = '\0';
    return lua_pushfstring(L, "\"%s%s\"", shown, n < len ? "..." : "");
}

const char *ks_word_show(lua_State *L, int index)
{
    const struct ks_frozen *frozen = ks_frozen_any(L, index);
    if (frozen)
        return lua_pushstring(L, frozen->what);
    switch (lua_type(L, index)) {
    case LUA_TNONE:
        return lua_pushliteral(L, "nothing");
    case LUA_TNIL:
        return lua_pushliteral(L, "nil");
    case LUA_TBOOLEAN:
        return lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
    case LUA_TNUMBER:
        lua_pushvalue(L, index); /* tolstring converts in place */
        return lua_tostring(L, -1);
    case LUA_TSTRING:
        return show_string(L, index);
    default:
        return lua_pushfstring(L, "a %s", luaL_typename(L, index));
    }
}

char *ks_word_copy(lua_State *L, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        ks_word_fail(L, KS_NO_MEMORY, "out of memory: %zu bytes for a text", strlen(text) + 1);
    return copy;
}

/* The room doubles whenever it is full, which is when n is a power of two. */
void *ks_word_append(lua_State *L, void **items, size_t *n, size_t size)
{
    char *bytes = *items;
    if ((*n & (*n - 1)) == 0) {
        size_t room = *n ? 2 * *n : 1;
        bytes = realloc(*items, room * size);
        if (!bytes)
            ks_word_fail(L, KS_NO_MEMORY, "out of memory: %zu bytes for a list", room * size);
        *items = bytes;
    }
    return memset(bytes + (*n)++ * size, 0, size);
}

const char *ks_word_string(lua_State *L, int arg, const char *what)
{
    if (lua_type(L, arg) != LUA_TSTRING)
        ks_word_fail(L, KS_BAD_INPUT, "%s must be a string, found %s", what, ks_word_show(L, arg));
    size_t len;
    const char *text = lua_tolstring(L, arg, &len);
    if (len == 0)
        ks_word_fail(L, KS_BAD_INPUT, "%s is empty", what);
    if (strlen(text) != len)
        ks_word_fail(L, KS_BAD_INPUT, "%s has a NUL byte in it", what);
    return text;
}

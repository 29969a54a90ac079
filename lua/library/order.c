#include "lua/library/library.h"

#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "lua/check/check.h"
#include "lua/check/frozen.h"

/* ------------------------------------------------------------------ pairs */

struct key {
    int kind;           /* 0 number, 1 string, 2 boolean */
    long double number; /* holds every integer and float exactly; of a boolean 0 or 1 */
    const char *bytes;
    size_t len;
    int place; /* in the list of keys */
};

static int by_order(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind - y->kind;
    if (x->kind != 1)
        return (x->number > y->number) - (x->number < y->number);
    size_t n = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->bytes, y->bytes, n);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void read_key(lua_State *L, int index, struct key *k)
{
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        k->number = lua_isinteger(L, index) ? (long double)lua_tointeger(L, index)
                                            : (long double)lua_tonumber(L, index);
        return;
    case LUA_TSTRING:
        k->kind = 1;
        k->bytes = lua_tolstring(L, index, &k->len);
        return;
    case LUA_TBOOLEAN:
        k->kind = 2;
        k->number = lua_toboolean(L, index);
        return;
    default:
        ks_word_fail(L, KS_BAD_INPUT, "pairs: a key that is %s has no order; use texts or numbers",
                     ks_word_show(L, index));
    }
}

/* Pushes the list of the keys of the table at index, as they come. */
static int list_keys(lua_State *L, int index)
{
    int n = 0;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_rawseti(L, -4, ++n);
    }
    return n;
}

/* Replaces the list of n keys on top of the stack by a sorted one. */
static void sort_keys(lua_State *L, int n)
{
    struct key *keys = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *keys, 0);
    for (int i = 0; i < n; i++) {
        keys[i] = (struct key){.place = i + 1};
        lua_rawgeti(L, -2, i + 1);
        read_key(L, -1, &keys[i]);
        lua_pop(L, 1); /* the list keeps it alive */
    }
    qsort(keys, (size_t)n, sizeof *keys, by_order);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, -3, keys[i].place);
        lua_rawseti(L, -2, i + 1);
    }
    lua_replace(L, -3);
    lua_pop(L, 1);
}

/* Upvalues: the sorted keys, the table inside, how many were given. Keys whose value has become nil
 * are passed over. */
static int next_pair(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
    for (;;) {
        lua_pushinteger(L, ++i);
        lua_replace(L, lua_upvalueindex(3));
        if (lua_rawgeti(L, lua_upvalueindex(1), i) == LUA_TNIL)
            return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL)
            return 2;
        lua_pop(L, 2);
    }
}

int ks_library_pairs(lua_State *L)
{
    if (ks_frozen_any(L, 1))
        ks_frozen_table(L, 1);
    else if (lua_type(L, 1) == LUA_TTABLE)
        lua_pushvalue(L, 1);
    else
        return ks_word_fail(L, KS_BAD_INPUT, "pairs needs a table, found %s", ks_word_show(L, 1));
    int table = lua_gettop(L);
    int n = list_keys(L, table);
    sort_keys(L, n);
    lua_insert(L, table);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* ------------------------------------------------------------------ sort */

/* Whether the value at b must stand before the one at a. */
static bool out_of_order(lua_State *L, int a, int b)
{
    if (!lua_isnoneornil(L, 2)) {
        lua_pushvalue(L, 2);
        lua_pushvalue(L, b);
        lua_pushvalue(L, a);
        lua_call(L, 2, 1);
        bool less = lua_toboolean(L, -1);
        lua_pop(L, 1);
        return less;
    }
    if (lua_type(L, a) == LUA_TSTRING && lua_type(L, b) == LUA_TSTRING) {
        struct key x = {0}, y = {0};
        read_key(L, a, &x);
        read_key(L, b, &y);
        return by_order(&y, &x) < 0;
    }
    return lua_compare(L, b, a, LUA_OPLT);
}

/* Merges from[low..mid) and from[mid..high) (1-based, tables at the indices) into to. */
static void merge(lua_State *L, int from, int to, lua_Integer low, lua_Integer mid,
                  lua_Integer high)
{
    lua_Integer left = low, right = mid;
    for (lua_Integer out = low; out < high; out++) {
        bool take_right = left == mid;
        if (left < mid && right < high) {
            lua_rawgeti(L, from, left);
            lua_rawgeti(L, from, right);
            take_right = out_of_order(L, lua_gettop(L) - 1, lua_gettop(L));
            lua_pop(L, 2);
        }
        lua_rawgeti(L, from, take_right ? right++ : left++);
        lua_rawseti(L, to, out);
    }
}

/* A merge sort, since it is stable: what compares as equal keeps its order, so that the outcome
 * hangs on nothing but the list. */
int ks_library_sort(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TTABLE)
        return ks_word_fail(L, KS_BAD_INPUT, "table.sort needs a list, found %s",
                            ks_word_show(L, 1));
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    lua_newtable(L);
    int from = 1, to = 3;
    for (lua_Integer width = 1; width < n; width *= 2) {
        for (lua_Integer low = 1; low <= n; low += 2 * width) {
            lua_Integer mid = low + width <= n ? low + width : n + 1;
            lua_Integer high = low + 2 * width <= n ? low + 2 * width : n + 1;
            merge(L, from, to, low, mid, high);
        }
        int swap = from;
        from = to;
        to = swap;
    }
    for (lua_Integer i = 1; from != 1 && i <= n; i++) {
        lua_rawgeti(L, from, i);
        lua_rawseti(L, 1, i);
    }
    return 0;
}

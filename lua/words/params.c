#include "lua/words/params.h"

#include <stdlib.h>
#include <string.h>

#include "lua/check/check.h"
#include "lua/check/frozen.h"
#include "lua/script/failure.h"

static const char *const type_names[] = {"a whole number", "a number", "true or false", "a text"};

static const struct ks_param *find_given(const struct ks_script *s, const char *name)
{
    const struct ks_param *found = NULL;
    for (size_t i = 0; i < s->n_given; i++)
        if (strcmp(s->given[i].name, name) == 0)
            found = &s->given[i]; /* the last one counts */
    return found;
}

static void read_default(lua_State *L, struct ks_script_param *p)
{
    if (lua_isinteger(L, -1)) {
        p->type = KS_PARAM_INTEGER;
        p->integer = lua_tointeger(L, -1);
    } else if (lua_type(L, -1) == LUA_TNUMBER) {
        p->type = KS_PARAM_NUMBER;
        p->number = lua_tonumber(L, -1);
    } else if (lua_type(L, -1) == LUA_TBOOLEAN) {
        p->type = KS_PARAM_BOOLEAN;
        p->integer = lua_toboolean(L, -1);
    } else if (lua_type(L, -1) == LUA_TSTRING) {
        p->type = KS_PARAM_STRING;
        p->string = ks_word_copy(L, lua_tostring(L, -1));
    } else {
        ks_word_fail(L, KS_BAD_INPUT,
                     "params.%s: a default is a number, a text, true or false, found %s", p->name,
                     ks_word_show(L, -1));
    }
}

static bool convert_number(lua_State *L, struct ks_script_param *p, const char *value)
{
    if (lua_stringtonumber(L, value) != strlen(value) + 1)
        return false;
    if (lua_isinteger(L, -1) && p->type == KS_PARAM_INTEGER) {
        p->integer = lua_tointeger(L, -1);
    } else { /* a fraction where the default is whole is a number all the same */
        p->type = KS_PARAM_NUMBER;
        p->number = lua_tonumber(L, -1);
    }
    lua_pop(L, 1);
    return true;
}

static bool convert_boolean(struct ks_script_param *p, const char *value)
{
    bool on = strcmp(value, "true") == 0;
    if (!on && strcmp(value, "false") != 0)
        return false;
    p->integer = on;
    return true;
}

static void take_given(lua_State *L, struct ks_script_param *p, const char *value)
{
    bool fits = true;
    if (p->type == KS_PARAM_STRING) {
        char *copy = ks_word_copy(L, value);
        free(p->string);
        p->string = copy;
    } else if (p->type == KS_PARAM_BOOLEAN) {
        fits = convert_boolean(p, value);
    } else {
        fits = convert_number(L, p, value);
    }
    if (!fits)
        ks_word_fail(L, KS_BAD_INPUT, "-p %s=%s: %s is %s", p->name, value, p->name,
                     type_names[p->type]);
}

static void check_given(lua_State *L, int index)
{
    struct ks_script *s = ks_script_of(L);
    for (size_t i = 0; i < s->n_given; i++) {
        const char *name = s->given[i].name;
        if (lua_getfield(L, index, name) == LUA_TNIL)
            ks_word_fail(L, KS_BAD_INPUT, "-p %s=%s: the scenario has no parameter `%s`%s", name,
                         s->given[i].value, name, ks_word_nearest_key(L, index, name));
        lua_pop(L, 1);
    }
}

static void declare(lua_State *L, int index)
{
    struct ks_script *s = ks_script_of(L);
    if (s->params_declared)
        ks_word_fail(L, KS_BAD_INPUT, "params are declared twice");
    if (lua_type(L, index) != LUA_TTABLE)
        ks_word_fail(L, KS_BAD_INPUT,
                     "params needs a table, found %s; write params = { window = "
                     "512 }",
                     ks_word_show(L, index));
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            ks_word_fail(L, KS_BAD_INPUT,
                         "params: %s stands without a name; write params = { "
                         "window = 512 }",
                         ks_word_show(L, -1));
        struct ks_script_param *p = ks_word_append(L, (void **)&s->params, &s->n_params, sizeof *p);
        p->name = ks_word_copy(L, lua_tostring(L, -2));
        read_default(L, p);
        const struct ks_param *given = find_given(s, p->name);
        if (given)
            take_given(L, p, given->value);
    }
    check_given(L, index);
    s->params_declared = true;
}

void ks_params_push(lua_State *L)
{
    const struct ks_script *s = ks_script_of(L);
    lua_newtable(L);
    for (size_t i = 0; i < s->n_params; i++) {
        const struct ks_script_param *p = &s->params[i];
        if (p->type == KS_PARAM_INTEGER)
            lua_pushinteger(L, p->integer);
        else if (p->type == KS_PARAM_NUMBER)
            lua_pushnumber(L, p->number);
        else if (p->type == KS_PARAM_BOOLEAN)
            lua_pushboolean(L, (int)p->integer);
        else
            lua_pushstring(L, p->string);
        lua_setfield(L, -2, p->name);
    }
    ks_frozen_push(L, (struct ks_frozen){.kind = KS_FROZEN_PARAMS, .what = "params"});
}

void ks_params_assign(lua_State *L, int index)
{
    const struct ks_script *s = ks_script_of(L);
    if (!s->loading)
        ks_word_fail(L, KS_BAD_INPUT, "params are declared at the head of the file, not in a hook");
    if (s->undeclared_param)
        ks_word_fail(L, KS_BAD_INPUT, "params.%s was read in line %d, before params are declared",
                     s->undeclared_param, s->undeclared_line);
    declare(L, index);
    ks_params_push(L);
}

void ks_params_declare_late(lua_State *L, int index)
{
    struct ks_script *s = ks_script_of(L);
    if (ks_frozen_test(L, index, KS_FROZEN_PARAMS) || s->params_late)
        return; /* params = params, or known from the run before */
    declare(L, index);
    s->params_late = true;
    if (s->undeclared_param) {
        s->kill = KS_KILL_AGAIN;
        ks_failure_raise_kill(L);
    }
}

/* A read before any declaration: what the command line gave, as what it looks like, or nil. */
static int read_undeclared(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    const char *name = luaL_checkstring(L, 2);
    if (!s->undeclared_param) {
        s->undeclared_param = ks_word_copy(L, name);
        s->undeclared_line = ks_word_line(L);
    }
    const struct ks_param *given = find_given(s, name);
    if (!given)
        lua_pushnil(L);
    else if (strcmp(given->value, "true") == 0 || strcmp(given->value, "false") == 0)
        lua_pushboolean(L, given->value[0] == 't');
    else if (lua_stringtonumber(L, given->value) != strlen(given->value) + 1)
        lua_pushstring(L, given->value);
    return 1;
}

static int refuse_write(lua_State *L)
{
    return ks_word_fail(L, KS_BAD_INPUT, "params is read-only; %s can't be set",
                        ks_word_show(L, 2));
}

int ks_params_push_undeclared(lua_State *L)
{
    const luaL_Reg methods[] = {
        {"__index", read_undeclared}, {"__newindex", refuse_write}, {NULL, NULL}};
    lua_newuserdatauv(L, 0, 0);
    luaL_newlib(L, methods);
    lua_setmetatable(L, -2);
    return 1;
}

void ks_params_check(lua_State *L)
{
    const struct ks_script *s = ks_script_of(L);
    if (s->params_declared)
        return;
    if (s->undeclared_param)
        ks_word_fail(L, KS_BAD_INPUT, "params.%s is read in line %d, but no params are declared",
                     s->undeclared_param, s->undeclared_line);
    if (s->n_given)
        ks_word_fail(L, KS_BAD_INPUT,
                     "-p %s=%s: the scenario has no params; it would declare them as params = { %s "
                     "= ... } at the head of the file",
                     s->given[0].name, s->given[0].value, s->given[0].name);
}

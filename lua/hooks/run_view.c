#include "lua/hooks/run_view.h"

#include <stdlib.h>
#include <string.h>

#include "lua/check/check.h"
#include "lua/check/frozen.h"
#include "lua/hooks/effects.h"
#include "lua/library/library.h"

/* ------------------------------------------------------------------ copying */

static int copy_facts(struct ks_run_view *v, const struct ks_facts *facts)
{
    v->arms = calloc(facts->n_arms + 1, sizeof *v->arms);
    if (!v->arms)
        return -1;
    for (; v->n_arms < facts->n_arms; v->n_arms++) {
        const struct ks_arm_facts *f = &facts->arms[v->n_arms];
        v->arms[v->n_arms].name = strdup(f->name);
        v->arms[v->n_arms].bytes = f->bytes;
        if (!v->arms[v->n_arms].name)
            return -1;
    }
    return 0;
}

static void copy_numbers(struct ks_arm_view *v, const struct ks_arm_snapshot *a)
{
    v->state = a->state;
    v->nonfinite = a->numbers.nonfinite;
    v->kld_mean = a->numbers.kld_mean;
    v->kld_sem = a->numbers.kld_sem;
    v->kld_p99 = a->numbers.kld_p99;
    v->kld_max = a->numbers.kld_max;
    v->ppl = a->numbers.ppl_arm;
    v->top1 = a->numbers.top1_agreement;
    v->overlap = a->numbers.topk_overlap;
}

int ks_run_view_copy(struct ks_script *s, const struct ks_snapshot *now, struct ks_error *err)
{
    struct ks_run_view *v = &s->view;
    v->windows = now->windows;
    v->positions = now->positions;
    if (!now->facts)
        return 0;
    if (!v->arms && copy_facts(v, now->facts) != 0)
        return ks_fail_memory(err, now->facts->n_arms * sizeof *v->arms, "a hook's view");
    for (size_t i = 0; i < v->n_arms && i < now->facts->n_arms; i++) {
        v->arms[i].bytes = now->facts->arms[i].bytes;
        copy_numbers(&v->arms[i], &now->arms[i]);
    }
    return 0;
}

/* ------------------------------------------------------------------ asking */

static void check_run(lua_State *L, const char *method)
{
    if (!ks_frozen_test(L, 1, KS_FROZEN_RUN))
        ks_word_fail(L, KS_BAD_INPUT, "%s is called with a colon: run:%s(...)", method, method);
    ks_frozen_table(L, 1);
    lua_pop(L, 1);
}

/* The reason at arg as text, or the one given. */
static const char *reason(lua_State *L, int arg, const char *otherwise)
{
    if (lua_isnoneornil(L, arg))
        return otherwise;
    ks_library_push_text(L, arg);
    return lua_tostring(L, -1);
}

static int note(lua_State *L)
{
    check_run(L, "note");
    ks_effects_add(L, KS_EFFECT_NOTE, 0, reason(L, 2, ""));
    return 0;
}

static int stop(lua_State *L)
{
    check_run(L, "stop");
    ks_effects_add(L, KS_EFFECT_STOP, 0, reason(L, 2, "stopped by the scenario"));
    return 0;
}

static int add(lua_State *L)
{
    check_run(L, "add");
    return ks_word_fail(L, KS_UNSUPPORTED,
                        "run:add is for a later version; this one (" KS_VERSION
                        ") doesn't have it yet");
}

static size_t arm_by_name(lua_State *L, const char *name)
{
    const struct ks_run_view *v = &ks_script_of(L)->view;
    for (size_t i = 0; i < v->n_arms; i++)
        if (strcmp(v->arms[i].name, name) == 0)
            return i;
    const char **names = lua_newuserdatauv(L, (v->n_arms + 1) * sizeof *names, 0);
    for (size_t i = 0; i < v->n_arms; i++)
        names[i] = v->arms[i].name;
    ks_word_fail(L, KS_BAD_INPUT, "run:drop: the run has no arm \"%s\"%s", name,
                 ks_word_nearest(L, name, names, v->n_arms));
}

static size_t arm_at(lua_State *L, int arg)
{
    const struct ks_frozen *f = ks_frozen_test(L, arg, KS_FROZEN_ARM_VIEW);
    if (f) {
        ks_frozen_table(L, arg);
        return f->index;
    }
    if (ks_frozen_test(L, arg, KS_FROZEN_ARM)) {
        ks_frozen_table(L, arg);
        lua_getfield(L, -1, "name");
        return arm_by_name(L, lua_tostring(L, -1));
    }
    return arm_by_name(L, ks_word_string(L, arg, "run:drop: the arm"));
}

/* An arm that is out already stays out for its first reason. */
static int drop(lua_State *L)
{
    check_run(L, "drop");
    size_t i = arm_at(L, 2);
    enum ks_arm_state state = ks_script_of(L)->view.arms[i].state;
    if (state != KS_ARM_DROPPED && state != KS_ARM_FAILED)
        ks_effects_add(L, KS_EFFECT_DROP, i, reason(L, 3, "dropped by the scenario"));
    return 0;
}

/* ------------------------------------------------------------------ showing */

static void set_number(lua_State *L, const char *name, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name);
}

static void set_integer(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static void freeze(lua_State *L, enum ks_frozen_kind kind, const char *what, bool list,
                   size_t index)
{
    ks_frozen_push(L, (struct ks_frozen){.kind = kind,
                                         .what = what,
                                         .list = list,
                                         .index = index,
                                         .epoch = ks_script_of(L)->epoch});
}

static void push_interval(lua_State *L, double mean, double sem)
{
    lua_createtable(L, 0, 3);
    set_number(L, "value", mean);
    set_number(L, "low", mean - 1.96 * sem);
    set_number(L, "high", mean + 1.96 * sem);
    freeze(L, KS_FROZEN_OTHER, "kld_mean", false, 0);
}

static void push_arm(lua_State *L, const struct ks_arm_view *a, size_t index)
{
    lua_createtable(L, 0, 10);
    lua_pushstring(L, a->name);
    lua_setfield(L, -2, "name");
    push_interval(L, a->kld_mean, a->kld_sem);
    lua_setfield(L, -2, "kld_mean");
    set_number(L, "kld_p99", a->kld_p99);
    set_number(L, "kld_max", a->kld_max);
    set_number(L, "ppl", a->ppl);
    set_number(L, "top1", a->top1);
    set_number(L, "overlap", a->overlap);
    set_integer(L, "nonfinite", a->nonfinite);
    set_integer(L, "bytes", a->bytes);
    freeze(L, KS_FROZEN_ARM_VIEW, "the run's arm", false, index);
}

static void push_run(lua_State *L)
{
    const luaL_Reg methods[] = {
        {"note", note}, {"stop", stop}, {"drop", drop}, {"add", add}, {NULL, NULL}};
    const struct ks_run_view *v = &ks_script_of(L)->view;
    luaL_newlib(L, methods);
    set_integer(L, "windows", v->windows);
    set_integer(L, "positions", v->positions);
    lua_createtable(L, (int)v->n_arms, 0);
    for (size_t i = 0; i < v->n_arms; i++) {
        push_arm(L, &v->arms[i], i);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    freeze(L, KS_FROZEN_OTHER, "run.arms", true, 0);
    lua_setfield(L, -2, "arms");
    freeze(L, KS_FROZEN_RUN, "the run", false, 0);
}

int ks_run_view_call_hook(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->hooks[s->hook]);
    push_run(L);
    lua_call(L, 1, 0);
    return 0;
}

/*
 * Loading: the file's text goes to the script's thread, which runs it in the sandbox, and comes
 * back as a plan. A script with hooks or renderers lives on behind the plan; another is ended.
 */
#include "lua/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "lua/check/check.h"
#include "lua/check/frozen.h"
#include "lua/hooks/hooks.h"
#include "lua/script/limits.h"
#include "lua/script/sandbox.h"
#include "lua/script/source.h"
#include "lua/words/params.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

const struct ks_script_limits ks_script_default_limits = {
    .load_ms = 5000,
    .hook_ms = 1000,
    .load_steps = 500000000,
    .hook_steps = 100000000,
    .memory_bytes = 256u << 20,
    .text_bytes = 16u << 20,
};

/* The chunk's value must be what scenario{} gave. Nothing is behind it on the stack. */
static void check_result(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    if (ks_frozen_test(L, -1, KS_FROZEN_SCENARIO))
        return;
    const char *found = lua_isnil(L, -1) ? "nothing" : ks_word_show(L, -1);
    if (s->plan)
        ks_word_fail(L, KS_BAD_INPUT,
                     "the file returned %s; write `return` before `scenario` in line %d", found,
                     s->plan_line);
    ks_word_fail(L, KS_BAD_INPUT,
                 "the file returned %s; its last statement must be `return scenario { reference = "
                 "..., corpus = ..., arms = ... }`",
                 found);
}

/* The world, the file, its value. The text is in the script so that nobody's stack must hold it. */
static int run_file(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    ks_sandbox_furnish(L);
    const char *name = lua_pushfstring(L, "=%s", s->chunk);
    bool marked = strncmp(s->text.bytes, BYTE_ORDER_MARK, 3) == 0;
    size_t skipped = marked ? 3 : 0;
    if (luaL_loadbufferx(L, s->text.bytes + skipped, s->text.len - skipped, name, "t") != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 1);
    check_result(L);
    ks_params_check(L);
    return 0;
}

static void load_once(struct ks_script *s)
{
    s->loading = true;
    s->failed = true;
    if (ks_sandbox_open(s, &s->error) != 0)
        return;
    s->failed = ks_sandbox_protect(s, run_file, s->limits.load_steps) != 0;
    s->loading = false;
}

/* Once more where the file read what it said later, its params, and once more for its seed. */
static void load(void *owner)
{
    struct ks_script *s = owner;
    load_once(s);
    for (int i = 0; i < 2 && s->kill == KS_KILL_AGAIN; i++) {
        ks_sandbox_close(s);
        ks_script_forget(s);
        load_once(s);
    }
    ks_script_close_files(s);
}

static bool has_functions(const struct ks_script *s)
{
    bool any = s->n_effects > 0; /* prints that wait for a log */
    for (int i = 0; i < KS_HOOKS; i++)
        any = any || s->hooks[i] != LUA_NOREF;
    for (size_t i = 0; i < s->plan->n_corpora; i++)
        any = any || s->renders[i] != LUA_NOREF;
    return any;
}

/* Takes the plan out of a script that has loaded; the script's thread ends or is the plan's. */
static struct ks_plan *take_plan(struct ks_script *s, struct ks_error *err)
{
    bool alive = has_functions(s);
    struct ks_plan *plan = s->plan;
    s->plan = NULL;
    if (!alive) {
        ks_script_thread_destroy(s->thread);
        return plan;
    }
    if (ks_hooks_attach(plan, s, err) == 0)
        return plan;
    ks_plan_destroy(plan);
    return NULL;
}

static void free_script(void *owner)
{
    ks_script_destroy(owner);
}

/* A script on a thread of its own, with the file's text; NULL on failure. */
static struct ks_script *start_script(const char *path, const struct ks_param *params,
                                      size_t n_params,
                                      const struct ks_scenario_overrides *overrides,
                                      const struct ks_script_limits *limits, struct ks_error *err)
{
    struct ks_script *s = ks_script_create(path, params, n_params, overrides, limits, err);
    if (!s)
        return NULL;
    if (ks_script_read_file(path, path, &s->text, err) == 0)
        s->thread = ks_script_thread_create(s, free_script, err);
    if (s->thread)
        return s;
    ks_script_destroy(s);
    return NULL;
}

struct ks_plan *ks_scenario_load_within(const char *path, const struct ks_param *params,
                                        size_t n_params,
                                        const struct ks_scenario_overrides *overrides,
                                        const struct ks_script_limits *limits, struct ks_error *err)
{
    struct ks_script *s = start_script(path, params, n_params, overrides, limits, err);
    if (!s)
        return NULL;
    if (!ks_script_thread_run(s->thread, load, limits->load_ms)) {
        ks_fail(err, KS_BAD_INPUT,
                "%s: did not load within %g s and was abandoned; is there an endless loop, or a "
                "pattern that tries everything?",
                path, limits->load_ms / 1000.0);
        return NULL;
    }
    if (!s->failed)
        return take_plan(s, err);
    *err = s->error;
    ks_script_thread_destroy(s->thread);
    return NULL;
}

struct ks_plan *ks_scenario_load(const char *path, const struct ks_param *params, size_t n_params,
                                 const struct ks_scenario_overrides *overrides,
                                 struct ks_error *err)
{
    return ks_scenario_load_within(path, params, n_params, overrides, &ks_script_default_limits,
                                   err);
}

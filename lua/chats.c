/*
 * Chat formats for a plan that no scenario made: a script of ours that has nothing in it but the
 * format's function.
 */
#include <stdlib.h>

#include "lua/formats/formats.h"
#include "lua/hooks/hooks.h"
#include "lua/scenario.h"
#include "lua/script/limits.h"
#include "lua/script/sandbox.h"

static const char *family_of(const struct ks_plan *plan)
{
    return ks_model_info(plan->reference)->chat_family;
}

static bool any_needed(const struct ks_plan *plan)
{
    for (size_t i = 0; i < plan->n_corpora; i++) {
        if (ks_format_needed(&plan->corpora[i], family_of(plan)))
            return true;
    }
    return false;
}

static int push_format(lua_State *L)
{
    ks_sandbox_furnish(L);
    ks_format_push(L, ks_script_of(L)->path, "chat");
    ks_script_of(L)->render.function = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static void load(void *owner)
{
    struct ks_script *s = owner;
    s->loading = true;
    s->failed = ks_sandbox_open(s, &s->error) != 0 ||
                ks_sandbox_protect(s, push_format, s->limits.load_steps) != 0;
    s->loading = false;
}

static void free_script(void *owner)
{
    ks_script_destroy(owner);
}

/* A script that is called by the format's name, and whose function is its render job's. */
static struct ks_script *load_format(const char *family, struct ks_error *err)
{
    const struct ks_script_limits *limits = &ks_script_default_limits;
    struct ks_script *s = ks_script_create(family, NULL, 0, NULL, limits, err);
    if (!s)
        return NULL;
    s->thread = ks_script_thread_create(s, free_script, err);
    if (!s->thread) {
        ks_script_destroy(s);
        return NULL;
    }
    if (!ks_script_thread_run(s->thread, load, limits->load_ms)) {
        ks_fail(err, KS_INTERNAL, "the chat format %s did not load", family);
        return NULL;
    }
    if (!s->failed)
        return s;
    *err = s->error;
    ks_script_thread_destroy(s->thread);
    return NULL;
}

static int list_renders(struct ks_script *s, const struct ks_plan *plan, struct ks_error *err)
{
    s->renders = malloc((plan->n_corpora + 1) * sizeof *s->renders);
    if (!s->renders)
        return ks_fail_memory(err, plan->n_corpora * sizeof *s->renders, "a list of corpora");
    for (size_t i = 0; i < plan->n_corpora; i++)
        s->renders[i] =
            ks_format_needed(&plan->corpora[i], family_of(plan)) ? s->render.function : LUA_NOREF;
    return 0;
}

int ks_scenario_format_chats(struct ks_plan *plan, struct ks_error *err)
{
    if (!any_needed(plan))
        return 0;
    struct ks_script *s = load_format(family_of(plan), err);
    if (!s)
        return -1;
    if (list_renders(s, plan, err)) {
        ks_script_thread_destroy(s->thread);
        return -1;
    }
    return ks_hooks_attach(plan, s, err);
}

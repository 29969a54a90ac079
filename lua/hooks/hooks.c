#include "lua/hooks/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "lua/hooks/effects.h"
#include "lua/hooks/render.h"
#include "lua/hooks/run_view.h"
#include "lua/script/sandbox.h"

/* A hook that takes longer is worth a line whenever it takes twice as long as any before. */
#define SLOW_NS 100000000

struct hook_state {
    bool off, timed;
    int64_t slowest_ns;
};

/* ks_hooks.ctx. Used on the run's thread alone. */
struct host {
    struct ks_script *script; /* NULL: abandoned */
    struct hook_state states[KS_HOOKS];
    struct ks_renderer *renderers; /* one a corpus of the plan */
    int hook_ms;
    char *path;
};

static const char *const hook_names[KS_HOOKS] = {"on_start", "on_window", "on_done"};

static void call_hook(void *owner)
{
    struct ks_script *s = owner;
    s->epoch++;
    s->failed = ks_sandbox_protect(s, ks_run_view_call_hook, s->limits.hook_steps) != 0;
    s->epoch++; /* the views are dead */
}

__attribute__((format(printf, 3, 4))) static void say(struct ks_run *run, enum ks_log_level level,
                                                      const char *format, ...)
{
    struct ks_error line;
    va_list args;
    va_start(args, format);
    vsnprintf(line.text, sizeof line.text, format, args);
    va_end(args);
    ks_run_note(run, level, line.text);
}

static void switch_all_off(struct host *h)
{
    for (int i = 0; i < KS_HOOKS; i++)
        h->states[i].off = true;
}

static void tell_failure(struct host *h, enum ks_hook hook, struct ks_run *run)
{
    const struct ks_script *s = h->script;
    h->states[hook].off = true;
    if (s->kill)
        switch_all_off(h);
    say(run, KS_LOG_WARNING, "lua %s off, the run goes on: %s: %s",
        s->kill ? "hooks are" : "hook is", hook_names[hook], s->error.text);
}

static void tell_time(struct host *h, enum ks_hook hook, struct ks_run *run, int64_t ns)
{
    struct hook_state *state = &h->states[hook];
    bool slow = ns > SLOW_NS && ns > 2 * state->slowest_ns;
    if (ns > state->slowest_ns)
        state->slowest_ns = ns;
    if (state->timed && !slow)
        return;
    state->timed = true;
    say(run, slow ? KS_LOG_WARNING : KS_LOG_INFO, "lua %s %.1f ms", hook_names[hook],
        (double)ns / 1e6);
}

static void abandon(struct host *h, enum ks_hook hook, struct ks_run *run)
{
    h->script = NULL;
    switch_all_off(h);
    say(run, KS_LOG_WARNING,
        "lua hooks are off, the run goes on: %s: %s did not return within %g s and was abandoned",
        h->path, hook_names[hook], h->hook_ms / 1000.0);
}

static void run_hook(struct host *h, enum ks_hook hook, struct ks_run *run,
                     const struct ks_snapshot *now)
{
    struct ks_script *s = h->script;
    struct ks_error err;
    if (!s || h->states[hook].off || s->hooks[hook] == LUA_NOREF)
        return;
    if (ks_run_view_copy(s, now, &err) != 0) {
        h->states[hook].off = true;
        say(run, KS_LOG_WARNING, "lua %s is off: %s", hook_names[hook], err.text);
        return;
    }
    s->hook = hook;
    int64_t start = ks_clock_ns();
    if (!ks_script_thread_run(s->thread, call_hook, h->hook_ms)) {
        abandon(h, hook, run);
        return;
    }
    int64_t took = ks_clock_ns() - start;
    ks_effects_apply(s, run);
    if (s->failed)
        tell_failure(h, hook, run);
    else
        tell_time(h, hook, run, took);
}

/* What the script printed while it was loaded has waited for a log. */
static void on_start(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    struct host *h = ctx;
    if (h->script)
        ks_effects_apply(h->script, run);
    run_hook(h, KS_HOOK_START, run, now);
}

static void on_window(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    run_hook(ctx, KS_HOOK_WINDOW, run, now);
}

static void on_done(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    run_hook(ctx, KS_HOOK_DONE, run, now);
}

static void destroy(void *ctx)
{
    struct host *h = ctx;
    if (h->script)
        ks_script_thread_destroy(h->script->thread);
    free(h->renderers);
    free(h->path);
    free(h);
}

static void attach_renderers(struct host *h, struct ks_plan *plan)
{
    for (size_t i = 0; i < plan->n_corpora; i++) {
        if (h->script->renders[i] == LUA_NOREF)
            continue;
        h->renderers[i] = (struct ks_renderer){
            .script = &h->script,
            .function = h->script->renders[i],
            .where = plan->corpora[i].where ? plan->corpora[i].where : plan->corpora[i].name};
        plan->corpora[i].render = ks_render;
        plan->corpora[i].render_ctx = &h->renderers[i];
    }
}

int ks_hooks_attach(struct ks_plan *plan, struct ks_script *s, struct ks_error *err)
{
    struct host *h = calloc(1, sizeof *h);
    struct ks_renderer *renderers = calloc(plan->n_corpora + 1, sizeof *renderers);
    char *path = strdup(s->path);
    if (!h || !renderers || !path) {
        free(h);
        free(renderers);
        free(path);
        ks_script_thread_destroy(s->thread);
        return ks_fail_memory(err, sizeof *h, "the scenario's hooks");
    }
    *h = (struct host){
        .script = s, .renderers = renderers, .path = path, .hook_ms = s->limits.hook_ms};
    plan->hooks = (struct ks_hooks){.ctx = h, .on_start = on_start, .destroy = destroy};
    if (s->hooks[KS_HOOK_WINDOW] != LUA_NOREF)
        plan->hooks.on_window = on_window;
    if (s->hooks[KS_HOOK_DONE] != LUA_NOREF)
        plan->hooks.on_done = on_done;
    attach_renderers(h, plan);
    return 0;
}

#include "lua/hooks/render.h"

#include <stdlib.h>
#include <string.h>

#include "lua/formats/formats.h"
#include "lua/script/sandbox.h"

static int copy_messages(struct ks_render_job *job, const struct ks_message *messages, size_t n,
                         struct ks_error *err)
{
    job->messages = calloc(n + 1, sizeof *job->messages);
    if (!job->messages)
        return ks_fail_memory(err, (n + 1) * sizeof *job->messages, "a chat's messages");
    for (; job->n < n; job->n++) {
        struct ks_message *m = &job->messages[job->n];
        m->role = strdup(messages[job->n].role);
        m->content = strdup(messages[job->n].content);
        if (!m->role || !m->content) {
            job->n++; /* so that half of it is freed too */
            return ks_fail_memory(err, strlen(messages[job->n - 1].content), "a chat's message");
        }
    }
    return 0;
}

static void push_messages(lua_State *L, const struct ks_render_job *job)
{
    lua_createtable(L, (int)job->n, 0);
    for (size_t i = 0; i < job->n; i++) {
        lua_createtable(L, 0, 2);
        lua_pushstring(L, job->messages[i].role);
        lua_setfield(L, -2, "role");
        lua_pushstring(L, job->messages[i].content);
        lua_setfield(L, -2, "content");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static int call_function(lua_State *L)
{
    struct ks_render_job *job = &ks_script_of(L)->render;
    lua_rawgeti(L, LUA_REGISTRYINDEX, job->function);
    push_messages(L, job);
    lua_call(L, 1, 1);
    ks_format_read(L);
    return 0;
}

static void render_job(void *owner)
{
    struct ks_script *s = owner;
    s->failed = ks_sandbox_protect(s, call_function, s->limits.hook_steps) != 0;
}

/* Takes the job's text out, or says why there is none. */
static int finish(struct ks_script *s, struct ks_rendered *out, struct ks_error *err)
{
    struct ks_render_job *job = &s->render;
    bool failed = s->failed;
    if (failed) {
        *err = s->error;
    } else {
        *out = (struct ks_rendered){.text = job->text.bytes,
                                    .len = job->text.len,
                                    .spans = job->spans,
                                    .n_spans = job->n_spans,
                                    .told = job->told};
        job->text = (struct ks_buf){0};
        job->spans = NULL;
    }
    ks_script_clear_render(s);
    return failed ? -1 : 0;
}

int ks_render(void *ctx, const struct ks_message *messages, size_t n, struct ks_rendered *out,
              struct ks_error *err)
{
    struct ks_renderer *r = ctx;
    struct ks_script *s = *r->script;
    if (!s)
        return ks_fail(err, KS_BAD_INPUT, "%s: render was abandoned before", r->where);
    int limit_ms = s->limits.hook_ms;
    s->render.function = r->function;
    if (copy_messages(&s->render, messages, n, err) != 0) {
        ks_script_clear_render(s);
        return -1;
    }
    if (!ks_script_thread_run(s->thread, render_job, limit_ms)) {
        *r->script = NULL;
        return ks_fail(err, KS_BAD_INPUT, "%s: render did not return within %g s", r->where,
                       limit_ms / 1000.0);
    }
    return finish(s, out, err);
}

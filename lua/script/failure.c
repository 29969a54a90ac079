#include "lua/script/failure.h"

#include "engine/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FRAMES 6

/* Appends to s->error.text, as much as fits. Nothing here allocates: the error may be about
 * memory. */
__attribute__((format(printf, 2, 3))) static void add(struct ks_script *s, const char *format, ...)
{
    size_t at = strlen(s->error.text);
    va_list args;
    va_start(args, format);
    vsnprintf(s->error.text + at, sizeof s->error.text - at, format, args);
    va_end(args);
}

/* The next frame at or above *level that runs the scenario's own text. */
static bool next_frame(lua_State *L, int *level, lua_Debug *ar)
{
    for (; lua_getstack(L, *level, ar); (*level)++) {
        lua_getinfo(L, "Sln", ar);
        if (ar->currentline > 0) {
            (*level)++;
            return true;
        }
    }
    return false;
}

static void add_function(struct ks_script *s, const lua_Debug *ar)
{
    if (ar->name)
        add(s, "in %s", ar->name);
    else
        add(s, "in the function of line %d", ar->linedefined);
}

/* Nothing where the error is in the file's main part, or in a function that we called: its line
 * says it all. */
static void add_traceback(struct ks_script *s, lua_State *L)
{
    lua_Debug ar, caller;
    int level = 0;
    if (!next_frame(L, &level, &ar) || !next_frame(L, &level, &caller))
        return;
    add(s, " (");
    add_function(s, &ar);
    for (int i = 1; i < MAX_FRAMES; i++) {
        add(s, ", called from line %d", caller.currentline);
        if (strcmp(caller.what, "main") != 0) {
            add(s, " ");
            add_function(s, &caller);
        }
        if (!next_frame(L, &level, &caller)) {
            add(s, ")");
            return;
        }
    }
    add(s, ", ...)");
}

static void add_hint(struct ks_script *s)
{
    if (s->undeclared_param && !s->params_declared)
        add(s,
            "; params.%s (line %d) has no value yet: declare `params = { %s = ... }` at the head "
            "of the file",
            s->undeclared_param, s->undeclared_line, s->undeclared_param);
}

/* Where the message's text starts behind its "chunk:12:", and the line; NULL if it has none. */
static const char *behind_place(const struct ks_script *s, const char *message, int *line)
{
    size_t n = strlen(s->chunk);
    if (strncmp(message, s->chunk, n) != 0 || message[n] != ':' ||
        !isdigit((unsigned char)message[n + 1]))
        return NULL;
    char *end;
    long found = strtol(message + n + 1, &end, 10);
    if (*end != ':')
        return NULL;
    *line = (int)found;
    return end[1] == ' ' ? end + 2 : end + 1;
}

static void describe(struct ks_script *s, lua_State *L, const char *message)
{
    lua_Debug ar;
    int level = 0, line = 0;
    s->error.text[0] = '\0';
    const char *text = behind_place(s, message, &line);
    if (!text && next_frame(L, &level, &ar))
        line = ar.currentline;
    if (line > 0)
        add(s, "%s:%d: %s", s->path, line, text ? text : message);
    else
        add(s, "%s: %s", s->path, text ? text : message);
    add_traceback(s, L);
    add_hint(s);
}

int ks_failure_handler(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    if (s->kill)
        return 1; /* described when it was raised */
    char about[128];
    if (lua_type(L, 1) == LUA_TSTRING) {
        describe(s, L, lua_tostring(L, 1));
        return 1;
    }
    snprintf(about, sizeof about, "an error was raised with %s%s; give error() a text",
             lua_isnil(L, 1) ? "" : "a ", luaL_typename(L, 1));
    describe(s, L, about);
    return 1;
}

static void write_kill(const struct ks_script *s, char *text, size_t size)
{
    int ms = s->loading ? s->limits.load_ms : s->limits.hook_ms;
    if (s->kill == KS_KILL_STEPS)
        snprintf(text, size, "the script was ended after %llu instructions; is a loop endless?",
                 (unsigned long long)s->max_steps);
    else
        snprintf(text, size, "the script was ended after %g s; is a loop endless?", ms / 1000.0);
}

int ks_failure_raise_kill(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    char about[128];
    if (s->kill != KS_KILL_AGAIN && !s->error.text[0]) {
        write_kill(s, about, sizeof about);
        describe(s, L, about);
    }
    lua_pushnil(L); /* no text: there may be no memory for one */
    lua_error(L);
    abort(); /* not reached */
}

void ks_failure_finish(struct ks_script *s, int status)
{
    if (status == LUA_ERRMEM && !s->kill) {
        s->error.text[0] = '\0';
        s->code = s->memory_capped ? KS_BAD_INPUT : KS_NO_MEMORY;
        if (s->memory_capped)
            add(s, "%s: the script needs more than its %zu MB of memory", s->path,
                s->limits.memory_bytes >> 20);
        else
            add(s, "%s: out of memory for the script", s->path);
    }
    char about[128];
    if (s->kill) {
        s->code = KS_BAD_INPUT;
        write_kill(s, about, sizeof about);
    }
    if (s->kill && !s->error.text[0]) /* by the allocator, which knows no line */
        add(s, "%s: %s", s->path, about);
    if (!s->error.text[0])
        add(s, "%s: an error came up while another was handled", s->path);
    s->error.code = s->code;
    ks_text_one_line(s->error.text);
}

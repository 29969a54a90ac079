#include "lua/formats/formats.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/path.h"
#include "lua/check/check.h"
#include "lua/script/script.h"
#include "lua/script/source.h"
#include "lua/words/words.h"

const struct ks_format_file *ks_format_named(const char *name)
{
    for (const struct ks_format_file *f = ks_format_files; f->name; f++) {
        if (strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

bool ks_format_needed(const struct ks_corpus_spec *spec, const char *family)
{
    return spec->kind == KS_CORPUS_CHAT && !spec->render && family &&
           strcmp(family, "chatml") != 0 && ks_format_named(family);
}

/* ------------------------------------------------------------------ its function */

static void refuse(lua_State *L, const char *name, const char *what)
{
    const char *names[64];
    size_t n = 0;
    while (ks_format_files[n].name && n < sizeof names / sizeof *names)
        n++;
    for (size_t i = 0; i < n; i++)
        names[i] = ks_format_files[i].name;
    ks_word_fail(L, KS_BAD_INPUT,
                 "%s: no chat format is called \"%s\"%s; a file of yours ends in .lua", what, name,
                 ks_word_nearest(L, name, names, n));
}

/* The text, of *len bytes, is the script's, so that nobody's stack must hold it. */
static const char *read_own(lua_State *L, const char *name, size_t *len)
{
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8's byte order mark */
    struct ks_script *s = ks_script_of(L);
    struct ks_error err;
    free(s->format_path);
    s->format_path = ks_word_resolve(L, name);
    s->format.len = 0;
    if (ks_script_read_file(s->format_path, name, &s->format, &err) != 0)
        ks_word_fail_with(L, &err);
    size_t skipped = strncmp(s->format.bytes, mark, 3) == 0 ? 3 : 0;
    *len = s->format.len - skipped;
    return s->format.bytes + skipped;
}

void ks_format_push(lua_State *L, const char *name, const char *what)
{
    bool own = ks_path_ends(name, ".lua");
    const struct ks_format_file *shipped = own ? NULL : ks_format_named(name);
    if (!own && !shipped)
        refuse(L, name, what);
    size_t len = own ? 0 : strlen(shipped->text);
    const char *text = own ? read_own(L, name, &len) : shipped->text;
    const char *chunk = lua_pushfstring(L, own ? "=%s" : "=%s.lua", ks_path_file(name));
    if (luaL_loadbufferx(L, text, len, chunk, "t") != LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
    lua_remove(L, -2);
    if (lua_type(L, -1) != LUA_TFUNCTION)
        ks_word_fail(L, KS_BAD_INPUT,
                     "%s: %s returned %s; a chat format returns a function(messages)", what, name,
                     ks_word_show(L, -1));
}

/* ------------------------------------------------------------------ what it gives */

static void put(lua_State *L, int index)
{
    struct ks_render_job *job = &ks_script_of(L)->render;
    struct ks_error err;
    size_t len;
    const char *text = lua_tolstring(L, index, &len);
    if (ks_buf_put(&job->text, text, len, &err) != 0)
        ks_word_fail_with(L, &err);
}

static void put_assistant(lua_State *L, int index)
{
    struct ks_render_job *job = &ks_script_of(L)->render;
    struct ks_error err;
    struct ks_span *spans = ks_grow(job->spans, &job->spans_cap, job->n_spans, sizeof *spans,
                                    "the parts of a chat", &err);
    if (!spans)
        ks_word_fail_with(L, &err);
    job->spans = spans;
    size_t start = job->text.len;
    put(L, index);
    spans[job->n_spans++] = (struct ks_span){start, job->text.len};
}

static void read_part(lua_State *L, lua_Integer i)
{
    int part = lua_gettop(L);
    if (lua_type(L, part) == LUA_TSTRING) {
        put(L, part);
    } else if (lua_type(L, part) == LUA_TTABLE &&
               lua_getfield(L, part, "assistant") == LUA_TSTRING) {
        put_assistant(L, -1);
    } else {
        ks_word_fail(L, KS_BAD_INPUT,
                     "render: part %lld must be a text or { assistant = text }, found %s",
                     (long long)i, ks_word_show(L, part));
    }
    lua_settop(L, part - 1);
}

void ks_format_read(lua_State *L)
{
    struct ks_render_job *job = &ks_script_of(L)->render;
    int result = lua_gettop(L);
    if (lua_type(L, result) == LUA_TSTRING) {
        put(L, result);
        return;
    }
    if (lua_type(L, result) != LUA_TTABLE)
        ks_word_fail(L, KS_BAD_INPUT, "render must return a string or a list of parts, found %s",
                     ks_word_show(L, result));
    job->told = true;
    lua_Integer n = (lua_Integer)lua_rawlen(L, result);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, result, i);
        read_part(L, i);
    }
    struct ks_error err;
    if (ks_buf_put(&job->text, "", 0, &err) != 0)
        ks_word_fail_with(L, &err);
}

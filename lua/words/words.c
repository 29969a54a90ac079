#include "lua/words/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lua/check/check.h"
#include "lua/check/frozen.h"

const luaL_Reg ks_words[] = {
    {"model", ks_word_model}, {"text", ks_word_text},         {"chat", ks_word_chat},
    {"arm", ks_word_arm},     {"scenario", ks_word_scenario}, {NULL, NULL},
};

int ks_word_call(lua_State *L)
{
    const struct ks_frozen *f = ks_frozen_any(L, 1);
    if (f->kind == KS_FROZEN_ARM_NAME)
        return ks_word_arm_body(L);
    return ks_word_fail(L, KS_BAD_INPUT, "%s can't be called", f->what);
}

void ks_word_only_loading(lua_State *L, const char *word)
{
    if (!ks_script_of(L)->loading)
        ks_word_fail(L, KS_BAD_INPUT, "`%s` is for loading; a hook can't call it", word);
}

/* Who writes a path into the command line means it from where that stands. */
static bool is_given(const struct ks_script *s, const char *path)
{
    for (size_t i = 0; i < s->n_given; i++)
        if (strcmp(s->given[i].value, path) == 0)
            return true;
    return false;
}

char *ks_word_resolve(lua_State *L, const char *path)
{
    const struct ks_script *s = ks_script_of(L);
    char *resolved = NULL;
    const char *folder = path[0] == '/' || is_given(s, path) ? "" : s->folder;
    if (asprintf(&resolved, "%s%s", folder, path) < 0)
        ks_word_fail(L, KS_NO_MEMORY, "out of memory for the path %s", path);
    return resolved;
}

char *ks_word_where(lua_State *L)
{
    char *where = NULL;
    if (asprintf(&where, "%s:%d", ks_script_of(L)->path, ks_word_line(L)) < 0)
        ks_word_fail(L, KS_NO_MEMORY, "out of memory for a place");
    return where;
}

static const char *find_name(const char *(*name_at)(size_t), const char *name)
{
    for (size_t i = 0; name_at(i); i++)
        if (strcasecmp(name_at(i), name) == 0)
            return name_at(i);
    return NULL;
}

static void refuse_name(lua_State *L, const char *(*name_at)(size_t), const char *name,
                        const char *what, const char *kind)
{
    size_t n = 0;
    while (name_at(n))
        n++;
    const char **names = lua_newuserdatauv(L, (n + 1) * sizeof *names, 0);
    for (size_t i = 0; i < n; i++)
        names[i] = name_at(i);
    ks_word_fail(L, KS_BAD_INPUT, "%s: unknown %s \"%s\"%s", what, kind, name,
                 ks_word_nearest(L, name, names, n));
}

const char *ks_word_type(lua_State *L, const char *name, const char *what)
{
    const char *found = find_name(ks_type_name, name);
    if (!found)
        refuse_name(L, ks_type_name, name, what, "type");
    return found;
}

const char *ks_word_kv_type(lua_State *L, const char *name, const char *what)
{
    const char *found = find_name(ks_kv_type_name, name);
    if (!found)
        refuse_name(L, ks_kv_type_name, name, what, "type of keys and values");
    return found;
}

const char *ks_word_preset(lua_State *L, const char *name, const char *what)
{
    const char *found = ks_preset_named(name);
    if (!found)
        refuse_name(L, ks_preset_name, name, what, "preset");
    return found;
}

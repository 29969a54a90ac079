#include "lua/words/words.h"

#include <stdlib.h>
#include <unistd.h>

#include "lua/check/check.h"
#include "lua/check/frozen.h"
#include "lua/formats/formats.h"

static const struct ks_key text_keys[] = {
    {"max_documents", false}, {"max_tokens", false},    {"order", false},
    {"short", false},         {"parse_special", false}, {NULL, false},
};
static const struct ks_key chat_keys[] = {
    {"max_documents", false}, {"max_tokens", false}, {"order", false}, {"short", false},
    {"render", false},        {"score", false},      {NULL, false},
};

static void check_readable(lua_State *L, const char *path, const char *shown)
{
    if (access(path, R_OK) == 0)
        return;
    struct ks_error err;
    ks_fail_errno(&err, "%s", shown);
    ks_word_fail_with(L, &err);
}

static void make_room(lua_State *L, struct ks_corpus_spec *spec, size_t n)
{
    spec->paths = calloc(n, sizeof *spec->paths);
    spec->shown = calloc(n, sizeof *spec->shown);
    if (!spec->paths || !spec->shown)
        ks_word_fail(L, KS_NO_MEMORY, "out of memory: %zu bytes for paths",
                     n * sizeof *spec->paths);
}

/* Where make_room has made some. */
static void add_path(lua_State *L, struct ks_corpus_spec *spec, const char *path)
{
    size_t i = spec->n_paths++; /* counted first, so that half of it is freed too */
    spec->shown[i] = ks_word_copy(L, path);
    spec->paths[i] = ks_word_resolve(L, path);
    check_readable(L, spec->paths[i], path);
}

/* A path or a list of them, argument 1. */
static void read_paths(lua_State *L, struct ks_corpus_spec *spec, const char *word)
{
    const char *what = lua_pushfstring(L, "%s: the path", word);
    if (lua_type(L, 1) != LUA_TTABLE) {
        const char *path = ks_word_string(L, 1, what);
        make_room(L, spec, 1);
        add_path(L, spec, path);
        return;
    }
    struct ks_form form = {L, 1, word};
    size_t n = ks_form_list(&form, 1, "paths");
    if (n == 0)
        ks_word_fail(L, KS_BAD_INPUT, "%s: the list of paths is empty", word);
    make_room(L, spec, n);
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        add_path(L, spec, ks_word_string(L, -1, what));
        lua_pop(L, 1);
    }
}

static void read_limits(const struct ks_form *form, struct ks_corpus_spec *spec)
{
    static const char *const orders[] = {"shuffled", "file", NULL};
    static const char *const shorts[] = {"skip", NULL};
    lua_Integer n;
    if (ks_form_integer(form, "max_documents", 1, LUA_MAXINTEGER, &n))
        spec->max_documents = (size_t)n;
    if (ks_form_integer(form, "max_tokens", 2, LUA_MAXINTEGER, &n))
        spec->max_tokens = (size_t)n;
    spec->file_order = ks_form_choice(form, "order", orders) == 1;
    spec->skip_short = ks_form_choice(form, "short", shorts) == 0;
}

static void read_chat(const struct ks_form *form, struct ks_script_corpus *corpus)
{
    static const char *const scores[] = {"all", "assistant", NULL};
    corpus->spec.assistant_only = ks_form_choice(form, "score", scores) == 1;
    int type = ks_form_get(form, "render");
    if (type != LUA_TNIL && type != LUA_TFUNCTION && type != LUA_TSTRING)
        ks_form_wrong(form, "render", "a function, the name of a chat format or a .lua file");
    if (type == LUA_TSTRING)
        ks_format_push(form->L, lua_tostring(form->L, -1), "render");
    if (type != LUA_TNIL)
        corpus->render = luaL_ref(form->L, LUA_REGISTRYINDEX);
    lua_settop(form->L, 2);
}

static int make_corpus(lua_State *L, enum ks_corpus_kind kind)
{
    const char *word = kind == KS_CORPUS_TEXT ? "text" : "chat";
    struct ks_script *s = ks_script_of(L);
    ks_word_only_loading(L, word);
    lua_settop(L, 2);
    struct ks_script_corpus *corpus =
        ks_word_append(L, (void **)&s->corpora, &s->n_corpora, sizeof *s->corpora);
    corpus->render = LUA_NOREF;
    corpus->spec.kind = kind;
    read_paths(L, &corpus->spec, word);
    if (!lua_isnil(L, 2)) {
        struct ks_form form = {L, 2, lua_pushfstring(L, "%s \"%s\"", word, corpus->spec.shown[0])};
        ks_form_open(&form, kind == KS_CORPUS_TEXT ? text_keys : chat_keys,
                     "text(\"x.jsonl\", { max_documents = 100 })");
        read_limits(&form, &corpus->spec);
        if (kind == KS_CORPUS_TEXT)
            corpus->spec.parse_special = ks_form_flag(&form, "parse_special");
        else
            read_chat(&form, corpus);
    }
    corpus->spec.where = ks_word_where(L);
    lua_newtable(L);
    lua_pushstring(L, corpus->spec.shown[0]);
    lua_setfield(L, -2, "path");
    ks_frozen_push(L, (struct ks_frozen){.kind = KS_FROZEN_CORPUS,
                                         .what = kind == KS_CORPUS_TEXT ? "a text" : "a chat",
                                         .index = s->n_corpora - 1});
    return 1;
}

int ks_word_text(lua_State *L)
{
    return make_corpus(L, KS_CORPUS_TEXT);
}

int ks_word_chat(lua_State *L)
{
    return make_corpus(L, KS_CORPUS_CHAT);
}

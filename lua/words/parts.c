#include "lua/words/parts.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/path.h"
#include "engine/base/text.h"
#include "lua/check/frozen.h"
#include "lua/formats/formats.h"
#include "lua/words/words.h"

/* Whether name was seen before; it has been now. */
static bool is_taken(lua_State *L, int seen, const char *name)
{
    bool taken = lua_getfield(L, seen, name) != LUA_TNIL;
    lua_pushboolean(L, 1);
    lua_setfield(L, seen, name);
    lua_pop(L, 1);
    return taken;
}

/* ------------------------------------------------------------------ corpora */

static char *stem_of(lua_State *L, const char *path)
{
    char *stem = ks_path_stem(path);
    if (!stem)
        ks_word_fail(L, KS_NO_MEMORY, "out of memory for the name of a corpus");
    return stem;
}

/* The function that writes a corpus: its own, or that of the reference's chat format where the
 * engine doesn't write it. */
static int renderer_of(lua_State *L, const struct ks_corpus_spec *spec, int own)
{
    const char *family = ks_model_info(ks_script_of(L)->plan->reference)->chat_family;
    if (own != LUA_NOREF || !ks_format_needed(spec, family))
        return own;
    ks_format_push(L, family, "chat");
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

/* Moves the corpus that the value on top of the stack is into the plan. key: its name, or NULL. */
static void take_corpus(const struct ks_form *form, const char *key, int seen)
{
    lua_State *L = form->L;
    struct ks_script *s = ks_script_of(L);
    const struct ks_frozen *f = ks_frozen_test(L, -1, KS_FROZEN_CORPUS);
    if (!f)
        ks_form_wrong(form, key ? key : "corpus", "a text or a chat (or a table of them)");
    struct ks_script_corpus *made = &s->corpora[f->index];
    if (!made->spec.where)
        ks_word_fail(L, KS_BAD_INPUT, "scenario: the same text or chat stands in the corpus twice");
    struct ks_error err;
    struct ks_corpus_spec *spec = ks_plan_add_corpus(s->plan, &err);
    if (!spec)
        ks_word_fail_with(L, &err);
    *spec = made->spec;
    made->spec = (struct ks_corpus_spec){0};
    s->renders[s->plan->n_corpora - 1] = renderer_of(L, spec, made->render);
    spec->name = key ? ks_word_copy(L, key) : stem_of(L, spec->shown[0]);
    if (!ks_text_printable(spec->name))
        ks_word_fail(L, KS_BAD_INPUT, "%s: the corpus's name has characters that can't be printed",
                     spec->where);
    if (is_taken(L, seen, spec->name))
        ks_word_fail(L, KS_BAD_INPUT,
                     "scenario: two corpora are called \"%s\"; name them: corpus = { a = text "
                     "..., b = text ... }",
                     spec->name);
    if (s->overrides.max_documents)
        spec->max_documents = s->overrides.max_documents;
}

static void take_keyed_corpora(const struct ks_form *form, int table, int seen)
{
    lua_State *L = form->L;
    size_t n;
    const char **keys = ks_word_string_keys(L, table, &n);
    for (size_t i = 0; i < n; i++) {
        lua_getfield(L, table, keys[i]);
        take_corpus(form, keys[i], seen);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

void ks_scenario_read_corpora(const struct ks_form *form)
{
    lua_State *L = form->L;
    struct ks_script *s = ks_script_of(L);
    s->renders = malloc((s->n_corpora + 1) * sizeof *s->renders);
    if (!s->renders)
        ks_word_fail(L, KS_NO_MEMORY, "out of memory for a list of corpora");
    lua_newtable(L);
    int seen = lua_gettop(L);
    int type = ks_form_get(form, "corpus"), table = lua_gettop(L);
    if (type == LUA_TNIL)
        ks_word_fail(L, KS_BAD_INPUT, "scenario: corpus is missing; write corpus = text \"x.txt\"");
    if (type != LUA_TTABLE) {
        take_corpus(form, NULL, seen);
    } else if (lua_rawlen(L, table) > 0) {
        size_t n = ks_form_list(form, table, "corpus");
        for (size_t i = 0; i < n; i++) {
            lua_rawgeti(L, table, (lua_Integer)i + 1);
            take_corpus(form, NULL, seen);
            lua_pop(L, 1);
        }
    } else {
        take_keyed_corpora(form, table, seen);
    }
    if (s->plan->n_corpora == 0)
        ks_word_fail(L, KS_BAD_INPUT, "scenario: the corpus is empty");
    lua_pop(L, 2);
}

/* ------------------------------------------------------------------ arms */

/* Moves the arm that the value on top of the stack is into the plan. */
static void take_arm(lua_State *L, size_t place, int seen)
{
    struct ks_script *s = ks_script_of(L);
    const struct ks_frozen *f = ks_frozen_test(L, -1, KS_FROZEN_ARM);
    if (!f)
        ks_word_fail(L, KS_BAD_INPUT,
                     "scenario: arms[%zu] must be an arm, found %s; write arm "
                     "\"name\" { ... }",
                     place, ks_word_show(L, -1));
    struct ks_arm_spec *made = &s->arms[f->index];
    if (!made->name)
        ks_word_fail(L, KS_BAD_INPUT, "scenario: arms[%zu] stands in the list twice", place);
    struct ks_error err;
    struct ks_arm_spec *arm = ks_plan_add_arm(s->plan, &err);
    if (!arm)
        ks_word_fail_with(L, &err);
    *arm = *made;
    *made = (struct ks_arm_spec){0};
    if (is_taken(L, seen, arm->name))
        ks_word_fail(L, KS_BAD_INPUT,
                     "scenario: arms[%zu]: a second arm is called \"%s\" (%s); "
                     "names are unique",
                     place, arm->name, arm->where);
}

void ks_scenario_read_arms(const struct ks_form *form)
{
    lua_State *L = form->L;
    lua_newtable(L);
    int seen = lua_gettop(L);
    int type = ks_form_get(form, "arms"), list = lua_gettop(L);
    if (type != LUA_TNIL && type != LUA_TTABLE)
        ks_form_wrong(form, "arms", "a list of arms");
    size_t n = type == LUA_TTABLE ? ks_form_list(form, list, "arms") : 0;
    if (n == 0)
        ks_word_fail(L, KS_BAD_INPUT,
                     "scenario: there are no arms; write arms = { arm \"q4\" { "
                     "preset = \"Q4_K_M\" } }");
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        take_arm(L, i + 1, seen);
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

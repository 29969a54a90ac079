#include "lua/words/words.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "lua/check/check.h"
#include "lua/check/frozen.h"

static const struct ks_key arm_keys[] = {
    {"preset", false},  {"override", false},   {"model", false},       {"tags", false},
    {"imatrix", false}, {"kv", false},         {"activations", false}, {"backend", true},
    {"logits", true},   {"noise_floor", true}, {"spare", true},        {NULL, false},
};

static const struct ks_key kv_keys[] = {{"k", false}, {"v", false}, {NULL, false}};

#define KV_EXAMPLE  "kv = { k = \"Q8_0\", v = \"Q8_0\" }"
#define ARM_EXAMPLE "arm \"q4\" { preset = \"Q4_K_M\" }"

static void add_override(const struct ks_form *form, struct ks_arm_spec *arm, const char *regex,
                         const char *type)
{
    lua_State *L = form->L;
    const char *what = lua_pushfstring(L, "%s: override \"%s\"", form->what, regex);
    const char *name = ks_word_type(L, type, what);
    struct ks_override_spec *o =
        ks_word_append(L, (void **)&arm->overrides, &arm->n_overrides, sizeof *o);
    o->regex = ks_word_copy(L, regex);
    o->type = ks_word_copy(L, name);
    lua_pop(L, 1);
}

/* { {"regex", "type"}, ... } on top of the stack. */
static void read_override_list(const struct ks_form *form, struct ks_arm_spec *arm)
{
    lua_State *L = form->L;
    int list = lua_gettop(L);
    size_t n = ks_form_list(form, list, "override");
    const char *what = lua_pushfstring(L, "%s: override", form->what);
    arm->overrides_ordered = true;
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        if (lua_type(L, -1) != LUA_TTABLE || ks_form_list(form, lua_gettop(L), "override") != 2)
            ks_word_fail(L, KS_BAD_INPUT,
                         "%s: entry %zu must be a pair, { \"regex\", \"TYPE\" }, found %s", what,
                         i + 1, ks_word_show(L, -1));
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        const char *regex = ks_word_string(L, -2, what), *type = ks_word_string(L, -1, what);
        add_override(form, arm, regex, type);
        lua_pop(L, 3);
    }
    lua_pop(L, 1);
}

static int by_regex(const void *a, const void *b)
{
    return strcmp(((const struct ks_override_spec *)a)->regex,
                  ((const struct ks_override_spec *)b)->regex);
}

/* { ["regex"] = "type", ... } on top of the stack; in bytewise order, as Lua's own is luck. */
static void read_override_keys(const struct ks_form *form, struct ks_arm_spec *arm)
{
    lua_State *L = form->L;
    int table = lua_gettop(L);
    const char *what = lua_pushfstring(L, "%s: override", form->what);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *regex = ks_word_string(L, -2, what);
        if (lua_type(L, -1) != LUA_TSTRING)
            ks_word_fail(L, KS_BAD_INPUT, "%s: \"%s\" must be a type's name, found %s", what, regex,
                         ks_word_show(L, -1));
        add_override(form, arm, regex, ks_word_string(L, -1, what));
    }
    lua_pop(L, 1);
    if (arm->n_overrides)
        qsort(arm->overrides, arm->n_overrides, sizeof *arm->overrides, by_regex);
}

static void read_override(const struct ks_form *form, struct ks_arm_spec *arm)
{
    int type = ks_form_get(form, "override");
    if (type != LUA_TNIL && type != LUA_TTABLE)
        ks_form_wrong(form, "override", "a table, { [\"regex\"] = \"TYPE\" }");
    if (type == LUA_TTABLE && lua_rawlen(form->L, -1) > 0)
        read_override_list(form, arm);
    else if (type == LUA_TTABLE)
        read_override_keys(form, arm);
    lua_pop(form->L, 1);
}

static void read_tags(const struct ks_form *form, struct ks_arm_spec *arm)
{
    lua_State *L = form->L;
    int type = ks_form_get(form, "tags"), list = lua_gettop(L);
    if (type != LUA_TNIL && type != LUA_TTABLE)
        ks_form_wrong(form, "tags", "a list of texts");
    size_t n = type == LUA_TTABLE ? ks_form_list(form, list, "tags") : 0;
    const char *what = lua_pushfstring(L, "%s: a tag", form->what);
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        const char *tag = ks_word_string(L, -1, what);
        char **slot = ks_word_append(L, (void **)&arm->tags, &arm->n_tags, sizeof *slot);
        *slot = ks_word_copy(L, tag);
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

static char *read_kv_type(const struct ks_form *kv, const char *key)
{
    const char *name = ks_form_string(kv, key);
    if (!name)
        return NULL;
    const char *what = lua_pushfstring(kv->L, "%s: %s", kv->what, key);
    char *type = ks_word_copy(kv->L, ks_word_kv_type(kv->L, name, what));
    lua_pop(kv->L, 1);
    return type;
}

/* { k = "type", v = "type" }, either of which may be left out. */
static void read_kv(const struct ks_form *form, struct ks_arm_spec *arm)
{
    lua_State *L = form->L;
    if (ks_form_get(form, "kv") != LUA_TNIL) {
        struct ks_form kv = {L, lua_gettop(L), lua_pushfstring(L, "%s: kv", form->what)};
        ks_form_open(&kv, kv_keys, KV_EXAMPLE);
        arm->kv_keys = read_kv_type(&kv, "k");
        arm->kv_values = read_kv_type(&kv, "v");
        if (!arm->kv_keys && !arm->kv_values)
            ks_word_fail(L, KS_BAD_INPUT, "%s names neither k nor v; write " KV_EXAMPLE, kv.what);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_model(const struct ks_form *form, struct ks_arm_spec *arm)
{
    lua_State *L = form->L;
    if (ks_form_get(form, "model") != LUA_TNIL) {
        const char *what = lua_pushfstring(L, "%s: model", form->what);
        if (arm->preset || arm->n_overrides)
            ks_word_fail(L, KS_BAD_INPUT,
                         "%s: an arm is a file (model) or is made from the reference (preset, "
                         "override), not both",
                         form->what);
        size_t index = ks_word_model_at(L, lua_gettop(L) - 1, what);
        arm->model = ks_model_ref(ks_script_of(L)->models[index].model);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_imatrix(const struct ks_form *form, struct ks_arm_spec *arm)
{
    lua_State *L = form->L;
    const char *path = ks_form_string(form, "imatrix");
    if (!path)
        return;
    if (!arm->preset && !arm->n_overrides)
        ks_word_fail(L, KS_BAD_INPUT,
                     "%s: an importance matrix (imatrix) is for quantizing: give a preset or an "
                     "override too",
                     form->what);
    arm->imatrix = ks_word_open_imatrix(L, path);
}

static void read_activations(const struct ks_form *form, struct ks_arm_spec *arm)
{
    static const char *const kinds[] = {"f32", "q8", NULL};
    if (ks_form_choice(form, "activations", kinds) == 1)
        arm->activations = KS_ACTIVATIONS_Q8;
}

/* arm "x": half an arm, that the braces complete. */
int ks_word_arm(lua_State *L)
{
    ks_word_only_loading(L, "arm");
    const char *name = ks_word_string(L, 1, "arm: the name");
    if (!ks_text_printable(name))
        ks_word_fail(L, KS_BAD_INPUT, "arm: the name %s has characters that can't be printed",
                     ks_word_show(L, 1));
    if (!lua_isnone(L, 2))
        ks_word_fail(L, KS_BAD_INPUT, "arm \"%s\" takes its table in braces behind it: %s", name,
                     ARM_EXAMPLE);
    lua_newtable(L);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "name");
    ks_frozen_push(
        L, (struct ks_frozen){.kind = KS_FROZEN_ARM_NAME, .what = "an arm without its braces"});
    return 1;
}

/* Arguments: the arm's name, its table. */
int ks_word_arm_body(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    ks_word_only_loading(L, "arm");
    lua_settop(L, 2);
    ks_frozen_table(L, 1);
    lua_getfield(L, 3, "name");
    struct ks_form form = {L, 2, lua_pushfstring(L, "arm \"%s\"", lua_tostring(L, 4))};
    ks_form_open(&form, arm_keys, ARM_EXAMPLE);
    struct ks_arm_spec *arm = ks_word_append(L, (void **)&s->arms, &s->n_arms, sizeof *s->arms);
    arm->name = ks_word_copy(L, lua_tostring(L, 4));
    arm->where = ks_word_where(L);
    const char *preset = ks_form_string(&form, "preset");
    if (preset)
        arm->preset = ks_word_copy(L, ks_word_preset(L, preset, form.what));
    read_override(&form, arm);
    read_tags(&form, arm);
    read_model(&form, arm);
    read_imatrix(&form, arm);
    read_kv(&form, arm);
    read_activations(&form, arm);
    lua_settop(L, 4);
    lua_newtable(L);
    lua_pushvalue(L, 4);
    lua_setfield(L, -2, "name");
    ks_frozen_push(
        L, (struct ks_frozen){.kind = KS_FROZEN_ARM, .what = "an arm", .index = s->n_arms - 1});
    return 1;
}

#include "lua/words/words.h"

#include <string.h>

#include "lua/check/check.h"
#include "lua/check/frozen.h"

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The time that opening takes is ours: it counts against no limit of the script's. */
static struct ks_model *open_unhurried(lua_State *L, const struct ks_script_model *m,
                                       const char *shown)
{
    struct ks_script *s = ks_script_of(L);
    struct ks_error err;
    ks_script_thread_stop_clock(s->thread);
    struct ks_model *model = ks_model_open(m->path, shown, m->convert_to, &err);
    ks_script_thread_start_clock(s->thread);
    if (model)
        return model;
    char name[64];
    if (ks_word_fetched_as(m->path, name, sizeof name))
        ks_word_fail(L, err.code, "%s; scenarios/fetch %s brings it", err.text, name);
    ks_word_fail_with(L, &err);
}

size_t ks_word_open_model(lua_State *L, const char *path, const char *convert_to)
{
    struct ks_script *s = ks_script_of(L);
    struct ks_script_model *m =
        ks_word_append(L, (void **)&s->models, &s->n_models, sizeof *s->models);
    m->value = LUA_NOREF;
    m->path = ks_word_resolve(L, path);
    if (convert_to)
        m->convert_to = ks_word_copy(L, convert_to);
    for (size_t i = 0; i + 1 < s->n_models; i++)
        if (s->models[i].model && same(s->models[i].path, m->path) &&
            same(s->models[i].convert_to, m->convert_to))
            return i; /* the new entry stays without a model, and is freed with the others */
    m->model = open_unhurried(L, m, path);
    return s->n_models - 1;
}

struct ks_imatrix *ks_word_open_imatrix(lua_State *L, const char *path)
{
    struct ks_script *s = ks_script_of(L);
    struct ks_error err;
    struct ks_script_imatrix *m =
        ks_word_append(L, (void **)&s->imatrices, &s->n_imatrices, sizeof *s->imatrices);
    m->path = ks_word_resolve(L, path);
    for (size_t i = 0; i + 1 < s->n_imatrices; i++)
        if (s->imatrices[i].imatrix && same(s->imatrices[i].path, m->path))
            return ks_imatrix_ref(s->imatrices[i].imatrix);
    ks_script_thread_stop_clock(s->thread);
    m->imatrix = ks_imatrix_open(m->path, path, &err);
    ks_script_thread_start_clock(s->thread);
    if (!m->imatrix)
        ks_word_fail_with(L, &err);
    return ks_imatrix_ref(m->imatrix);
}

static void push_shape(lua_State *L, const struct ks_tensor_info *t)
{
    lua_createtable(L, (int)t->n_dims, 0);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        lua_pushinteger(L, (lua_Integer)t->dims[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    ks_frozen_push(L, (struct ks_frozen){.kind = KS_FROZEN_OTHER, .what = "a shape", .list = true});
}

static void push_tensors(lua_State *L, const struct ks_model *model, size_t n)
{
    lua_newtable(L);
    for (size_t i = 0; i < n; i++) {
        struct ks_tensor_info t = ks_model_tensor_info(model, i);
        lua_newtable(L);
        lua_pushstring(L, t.name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, t.type);
        lua_setfield(L, -2, "type");
        push_shape(L, &t);
        lua_setfield(L, -2, "shape");
        lua_pushinteger(L, (lua_Integer)t.bytes);
        lua_setfield(L, -2, "bytes");
        ks_frozen_push(L, (struct ks_frozen){.kind = KS_FROZEN_OTHER, .what = "a tensor"});
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    ks_frozen_push(L, (struct ks_frozen){
                          .kind = KS_FROZEN_OTHER, .what = "the list of tensors", .list = true});
}

static void set_integer(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static void push_model(lua_State *L, size_t index)
{
    struct ks_script_model *m = &ks_script_of(L)->models[index];
    if (m->value != LUA_NOREF) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, m->value);
        return;
    }
    const struct ks_model_info *info = ks_model_info(m->model);
    lua_newtable(L);
    lua_pushstring(L, info->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, info->architecture);
    lua_setfield(L, -2, "architecture");
    set_integer(L, "layers", info->layers);
    set_integer(L, "hidden", info->hidden);
    set_integer(L, "vocab", info->vocab);
    set_integer(L, "context", info->context);
    set_integer(L, "bytes", info->bytes);
    lua_pushboolean(L, info->tied);
    lua_setfield(L, -2, "tied");
    push_tensors(L, m->model, info->n_tensors);
    lua_setfield(L, -2, "tensors");
    ks_frozen_push(L,
                   (struct ks_frozen){.kind = KS_FROZEN_MODEL, .what = "a model", .index = index});
    lua_pushvalue(L, -1);
    m->value = luaL_ref(L, LUA_REGISTRYINDEX);
}

int ks_word_model(lua_State *L)
{
    static const struct ks_key keys[] = {{"type", false}, {NULL, false}};
    ks_word_only_loading(L, "model");
    const char *path = ks_word_string(L, 1, "model: the path");
    const char *type = NULL;
    if (!lua_isnoneornil(L, 2)) {
        struct ks_form form = {L, 2, lua_pushfstring(L, "model \"%s\"", path)};
        ks_form_open(&form, keys, "model(\"x.gguf\", { type = \"F16\" })");
        type = ks_form_string(&form, "type");
        if (type)
            type = ks_word_type(L, type, form.what);
    }
    push_model(L, ks_word_open_model(L, path, type));
    return 1;
}

size_t ks_word_model_at(lua_State *L, int index, const char *what)
{
    const struct ks_frozen *f = ks_frozen_test(L, index, KS_FROZEN_MODEL);
    if (f)
        return f->index;
    if (lua_type(L, index) != LUA_TSTRING)
        ks_word_fail(L, KS_BAD_INPUT, "%s must be a model or a path, found %s", what,
                     ks_word_show(L, index));
    return ks_word_open_model(L, ks_word_string(L, index, what), NULL);
}

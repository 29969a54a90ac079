/*
 * The words of a scenario: model, text, chat, arm, scenario. Each checks what it is given where it
 * is given, so that a message has the right line.
 */
#ifndef KS_LUA_WORDS_WORDS_H
#define KS_LUA_WORDS_WORDS_H

#include <lauxlib.h>
#include <lua.h>

#include "lua/script/script.h"

extern const luaL_Reg ks_words[];

/* `value(...)` for a frozen value: the braces behind arm "x", an error for all others. */
int ks_word_call(lua_State *L);

int ks_word_model(lua_State *L);
int ks_word_text(lua_State *L);
int ks_word_chat(lua_State *L);
int ks_word_arm(lua_State *L);
int ks_word_arm_body(lua_State *L);
int ks_word_scenario(lua_State *L);

/* Opens the model at path, as the scenario wrote it, once; what: `reference`, for messages. Returns
 * the index into s->models. Raises. */
size_t ks_word_open_model(lua_State *L, const char *path, const char *convert_to);
/* The name under which scenarios/fetch brings the file at path, which is not there: from fetch.txt
 * in the folder that it should be in. false: nobody knows. */
bool ks_word_fetched_as(const char *path, char *name, size_t size);
/* The importance matrix at path, read once; the reference is the caller's. Raises. */
struct ks_imatrix *ks_word_open_imatrix(lua_State *L, const char *path);
/* The model that the value at index is, a path or a model value; raises. */
size_t ks_word_model_at(lua_State *L, int index, const char *what);

/* malloc'ed: the path to open for one that the scenario wrote, or that the command line gave. */
char *ks_word_resolve(lua_State *L, const char *path);
/* malloc'ed: "file.lua:12", where the script called us. */
char *ks_word_where(lua_State *L);
/* The name as the engine writes it (in any case, and a preset's short form, are understood); raises
 * unless it is one that arms accept. what opens the message. */
const char *ks_word_type(lua_State *L, const char *name, const char *what);
const char *ks_word_kv_type(lua_State *L, const char *name, const char *what);
const char *ks_word_preset(lua_State *L, const char *name, const char *what);
/* Raises in a hook. */
void ks_word_only_loading(lua_State *L, const char *word);

#endif

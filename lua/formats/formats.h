/*
 * Chat formats: Lua files that return a function from messages to text. Those that ship
 * (scenarios/chats) are built in, so that a program without its data folder has them too.
 *
 * A format's function gives one text, or a list of parts: texts, and { assistant = text } for what
 * counts with score = "assistant".
 */
#ifndef KS_LUA_FORMATS_FORMATS_H
#define KS_LUA_FORMATS_FORMATS_H

#include <lua.h>

#include "engine/engine.h"

struct ks_format_file {
    const char *name; /* "llama3"; NULL ends the list */
    const char *text;
};
extern const struct ks_format_file ks_format_files[];

/* The format of that name; NULL if none ships. */
const struct ks_format_file *ks_format_named(const char *name);

/* Whether a corpus without a render function of its own, for a reference with that chat family, is
 * written by a format's file: a chat is, but for ChatML, which the engine writes. */
bool ks_format_needed(const struct ks_corpus_spec *spec, const char *family);

/* Runs the format's file in L's sandbox and pushes its function. name: of one that ships, or the
 * path of a .lua, relative to the scenario. Raises. what opens messages. */
void ks_format_push(lua_State *L, const char *name, const char *what);

/* Pushes the result of a format's function, on top of the stack, into the script's render job: its
 * text and what is told of its parts. Raises for what is neither a text nor a list of parts. */
void ks_format_read(lua_State *L);

#endif

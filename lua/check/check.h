/*
 * Errors that a script's author understands, and the reading of tables that they wrote.
 *
 * Every function here that finds something wrong raises a Lua error ("file:line: ...") and does not
 * return. Strings that it gives are owned by the Lua state: they live while the value they came
 * from is on the stack or in its table.
 */
#ifndef KS_LUA_CHECK_CHECK_H
#define KS_LUA_CHECK_CHECK_H

#include <stdbool.h>

#include <lua.h>

#include "engine/base/error.h"

/* Raises "file:line: text", the place where the script called us. */
int ks_word_fail(lua_State *L, enum ks_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
/* Raises what the engine said, with the place in front. */
int ks_word_fail_with(lua_State *L, const struct ks_error *err) __attribute__((noreturn));
/* The line of the script that called us; 0 if none did. */
int ks_word_line(lua_State *L);

/* ", did you mean `x`?", or "" where nothing is near. Pushes what it returns. */
const char *ks_word_nearest(lua_State *L, const char *word, const char *const *words, size_t n);
/* The same among the string keys of the table at index. */
const char *ks_word_nearest_key(lua_State *L, int index, const char *word);
/* The string keys of the table at index (absolute), sorted so that nothing hangs on Lua's order.
 * Pushes the array; the keys live as long as the table. */
const char **ks_word_string_keys(lua_State *L, int index, size_t *n);
/* The value at index for a message: "x" in quotes, 12, true, "a table". Pushes what it returns. */
const char *ks_word_show(lua_State *L, int index);

/* malloc'ed copies that raise when there is no memory. */
char *ks_word_copy(lua_State *L, const char *text);
/* Grows an array by a zeroed last element; *items is valid whatever happens. */
void *ks_word_append(lua_State *L, void **items, size_t *n, size_t size);

/* The string argument arg of the word `what`; `what` opens the messages. No NUL inside, not "". */
const char *ks_word_string(lua_State *L, int arg, const char *what);

/* A table that the script wrote, by name. */
struct ks_form {
    lua_State *L;
    int index;        /* absolute */
    const char *what; /* `arm "x"` */
};

struct ks_key {
    const char *name; /* NULL ends a list */
    bool later;       /* understood, but not by this version */
};

/* Refuses a value that is no table (`example` shows the form), and keys that are not listed. */
void ks_form_open(const struct ks_form *f, const struct ks_key *keys, const char *example);
/* NULL where absent. */
const char *ks_form_string(const struct ks_form *f, const char *key);
/* false where absent. */
bool ks_form_integer(const struct ks_form *f, const char *key, lua_Integer min, lua_Integer max,
                     lua_Integer *out);
bool ks_form_flag(const struct ks_form *f, const char *key);
/* The index in choices (NULL-terminated), or -1 where absent. */
int ks_form_choice(const struct ks_form *f, const char *key, const char *const *choices);
/* Pushes the value and gives its type. */
int ks_form_get(const struct ks_form *f, const char *key);
/* Raises "WHAT: KEY must be EXPECTED, found ...", where the value is on top of the stack. */
int ks_form_wrong(const struct ks_form *f, const char *key, const char *expected)
    __attribute__((noreturn));
/* The number of elements of the list at index; raises where it has holes or other keys. */
size_t ks_form_list(const struct ks_form *f, int index, const char *key);

#endif

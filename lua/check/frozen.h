/*
 * Values of ours in a script: userdata that can be read and never written.
 *
 * A frozen value wraps a Lua table that the script can't reach. Reading an unknown field is an
 * error that names the nearest one; so is writing, and reading a run's view after its hook has
 * returned.
 */
#ifndef KS_LUA_CHECK_FROZEN_H
#define KS_LUA_CHECK_FROZEN_H

#include <stdbool.h>

#include <lua.h>

enum ks_frozen_kind {
    KS_FROZEN_LIBRARY,
    KS_FROZEN_MODEL,
    KS_FROZEN_CORPUS,
    KS_FROZEN_ARM,
    KS_FROZEN_ARM_NAME, /* arm "x", before its braces */
    KS_FROZEN_SCENARIO,
    KS_FROZEN_PARAMS,
    KS_FROZEN_RUN,
    KS_FROZEN_ARM_VIEW,
    KS_FROZEN_OTHER,
};

struct ks_frozen {
    enum ks_frozen_kind kind;
    const char *what; /* "a model", for messages; a string literal */
    bool list;        /* past its end is nil, not an error */
    size_t index;     /* for its maker: into the script's models, corpora, arms */
    uint64_t epoch;   /* 0: for ever; else alive while the script's epoch is this */
};

/* Replaces the table on top of the stack by a frozen value of it. */
void ks_frozen_push(lua_State *L, struct ks_frozen value);
/* The frozen value at index, of that kind; NULL if it is something else. */
const struct ks_frozen *ks_frozen_test(lua_State *L, int index, enum ks_frozen_kind kind);
/* Whatever kind; NULL if it is not frozen. */
const struct ks_frozen *ks_frozen_any(lua_State *L, int index);
/* Pushes the table inside; raises an error if the value is dead. */
void ks_frozen_table(lua_State *L, int index);
/* Calls handler for `value(...)`, with the value as its first argument. Once, at the start. */
void ks_frozen_setup(lua_State *L, lua_CFunction call);

#endif

/*
 * The texts of Lua files.
 */
#ifndef KS_LUA_SCRIPT_SOURCE_H
#define KS_LUA_SCRIPT_SOURCE_H

#include "engine/base/bytes.h"

/* Appends the file at path to text, which is NUL-terminated then. shown: how errors name it. */
int ks_script_read_file(const char *path, const char *shown, struct ks_buf *text,
                        struct ks_error *err);

#endif

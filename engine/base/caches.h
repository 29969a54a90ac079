/*
 * Where this program keeps what it could make again. Stateless; any thread.
 */
#ifndef KS_ENGINE_BASE_CACHES_H
#define KS_ENGINE_BASE_CACHES_H

#include "engine/base/error.h"

/* The user's folder: $XDG_CACHE_HOME/kldscope, or ~/.cache/kldscope. It need not be there yet.
 * malloc'ed; NULL with *err where neither is known. */
char *ks_caches_folder(struct ks_error *err);

/* Makes a folder where it is missing, and those that it lies in, for the user alone. path is as it
 * was afterwards. -1 with errno. */
int ks_caches_make(char *path);

#endif

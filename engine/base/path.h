/*
 * Paths as text: nothing here looks at a file. Pure; any thread.
 */
#ifndef KS_ENGINE_BASE_PATH_H
#define KS_ENGINE_BASE_PATH_H

#include <stdbool.h>

/* What stands behind the last slash: "x.gguf" of "models/x.gguf". Points into path. */
const char *ks_path_file(const char *path);
/* The same without its ending: "x". malloc'ed; NULL when out of memory. */
char *ks_path_stem(const char *path);
/* Whether path ends so, in any case: ks_path_ends("A.TXT", ".txt"). */
bool ks_path_ends(const char *path, const char *ending);

#endif

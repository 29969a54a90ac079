#include "engine/base/path.h"

#include <string.h>
#include <strings.h>

const char *ks_path_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A name that begins with its only dot is a name, not an ending. */
char *ks_path_stem(const char *path)
{
    const char *file = ks_path_file(path), *dot = strrchr(file, '.');
    return strndup(file, dot && dot > file ? (size_t)(dot - file) : strlen(file));
}

bool ks_path_ends(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

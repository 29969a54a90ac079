#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/path.h"
#include "lua/words/words.h"

/* Whether a line of the list (name, package, version, file inside, ...) is about that file. */
static bool is_about(char *line, const char *file, char *name, size_t size)
{
    char *rest = NULL;
    const char *words[4] = {0};
    for (int i = 0; i < 4; i++)
        words[i] = strtok_r(i == 0 ? line : NULL, " \n", &rest);
    if (!words[3] || words[0][0] == '#' || strcmp(ks_path_file(words[3]), file) != 0)
        return false;
    snprintf(name, size, "%s", words[0]);
    return true;
}

bool ks_word_fetched_as(const char *path, char *name, size_t size)
{
    char list[4096], *line = NULL;
    size_t cap = 0;
    const char *file = ks_path_file(path);
    int n = snprintf(list, sizeof list, "%.*sfetch.txt", (int)(file - path), path);
    if (n < 0 || (size_t)n >= sizeof list || access(path, F_OK) == 0 || errno != ENOENT)
        return false;
    FILE *f = fopen(list, "r");
    bool known = false;
    while (f && !known && getline(&line, &cap, f) > 0)
        known = is_about(line, file, name, size);
    free(line);
    if (f)
        fclose(f);
    return known;
}

#include "tui/cli/head.h"

#include <string.h>

/* The index of the word among words (NULL-terminated); -1 if it's none of them. */
static int index_of(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

int cli_read_head(const struct cli_head_words *w, enum ks_head_choice *head,
                  enum ks_head_path *path, struct ks_error *err)
{
    /* in the order of the enums */
    static const char *const heads[] = {"auto", "cpu", "vulkan", NULL};
    static const char *const paths[] = {"auto", "few", "many", "matrix", NULL};
    int chosen = w->head ? index_of(w->head, heads) : KS_HEAD_AUTO;
    int way = w->path ? index_of(w->path, paths) : KS_HEAD_PATH_AUTO;
    if (chosen < 0)
        return ks_fail(err, KS_BAD_INPUT, "--head %s: it is auto, cpu or vulkan", w->head);
    if (way < 0)
        return ks_fail(err, KS_BAD_INPUT, "--head-path %s: it is auto, few, many or matrix",
                       w->path);
    if (chosen == KS_HEAD_CPU && (w->device || w->path))
        return ks_fail(err, KS_BAD_INPUT, "--head cpu has no --%s: that is a GPU's",
                       w->device ? "device" : "head-path");
    *head = (enum ks_head_choice)chosen;
    *path = (enum ks_head_path)way;
    return 0;
}

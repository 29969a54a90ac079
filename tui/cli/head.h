/*
 * The words that say where an output head is multiplied: --head, --device, --head-path.
 */
#ifndef KS_TUI_CLI_HEAD_H
#define KS_TUI_CLI_HEAD_H

#include "tui/cli/cli.h"

struct cli_head_words {
    const char *head, *device, *path; /* as given, or NULL */
};

/* What they mean; head and path are AUTO where nothing is said. -1 with *err for a word that means
 * nothing, or what a CPU's head can't have. */
int cli_read_head(const struct cli_head_words *w, enum ks_head_choice *head,
                  enum ks_head_path *path, struct ks_error *err);

#endif

/*
 * Where a run is kept: the file that `kldscope run` is told, or finds a name for.
 */
#ifndef KS_TUI_CLI_RUNFILE_H
#define KS_TUI_CLI_RUNFILE_H

#include "tui/cli/cli.h"

struct cli_runfile_words {
    const char *out, *shard; /* "2/3" */
    bool resume, none;
};

/* Sets the plan's shard and file. Without a name it's STEM-DATE-TIME.kld in the current folder, of
 * the operand's stem, with -2of3 behind it for a shard; to go on, the newest of those names that is
 * there. */
int cli_choose_runfile(const struct cli_runfile_words *w, const char *operand, struct ks_plan *plan,
                       struct ks_error *err);

#endif

/*
 * Progress and warnings of the commands that make files, on standard error.
 */
#ifndef KS_TUI_CLI_MAKING_H
#define KS_TUI_CLI_MAKING_H

#include "tui/cli/cli.h"

struct cli_making {
    struct ks_making_hooks hooks; /* what the engine gets */
    const char *what;             /* "tensors" */
    size_t n;                     /* of them, as far as was told */
    bool terminal, line_open;
};

/* hooks point to m, which stays where it is. An interrupt ends the work. */
void cli_making_begin(struct cli_making *m, const char *what);
void cli_making_end(struct cli_making *m);

#endif

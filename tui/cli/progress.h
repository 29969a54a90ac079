/*
 * How a run goes, told on standard error: a line that is written over in a terminal, lines now and
 * then in a log; warnings and errors as they come.
 */
#ifndef KS_TUI_CLI_PROGRESS_H
#define KS_TUI_CLI_PROGRESS_H

#include "tui/cli/cli.h"

/* Private but for its size. */
struct cli_progress {
    bool terminal;
    int64_t told_ns;
    uint64_t log_told; /* log lines seen so far, lost ones too */
    bool line_open;
    char told[256]; /* the newest text, to say nothing twice in a log */
};

struct cli_progress cli_progress_begin(void);
void cli_progress_tell(struct cli_progress *p, const struct ks_snapshot *s);
/* Takes an open line away, so that others can be written. */
void cli_progress_end(struct cli_progress *p);

#endif

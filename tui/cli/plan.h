/*
 * From the words of `kldscope run` to a plan: a scenario's, or one made without Lua.
 */
#ifndef KS_TUI_CLI_PLAN_H
#define KS_TUI_CLI_PLAN_H

#include "tui/cli/head.h"
#include "tui/cli/runfile.h"
#include "tui/cli/scoring.h"

struct cli_run_wishes {
    struct cli_list operands; /* one: a scenario, or a reference model */
    struct cli_list arms, corpora, params;
    size_t window, max_documents, threads;
    struct cli_head_words head;
    struct cli_runfile_words file;
    struct cli_scoring_words scoring;
    bool no_cache;
};

/* NULL with *err. The plan is the caller's. */
struct ks_plan *cli_make_plan(const struct cli_run_wishes *w, struct ks_error *err);

#endif

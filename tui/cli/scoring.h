/*
 * The words that make a run comparable with llama-perplexity: --scoring, --activations.
 */
#ifndef KS_TUI_CLI_SCORING_H
#define KS_TUI_CLI_SCORING_H

#include "tui/cli/cli.h"

struct cli_scoring_words {
    const char *scoring, *activations; /* as given, or NULL */
};

/* -1 with *err for a word that means nothing, and for --activations beside a scenario, whose arms
 * say their own. */
int cli_check_scoring(const struct cli_scoring_words *w, bool scenario, struct ks_error *err);
/* Puts what was checked into a plan: its scoring, where it is said, and what all arms do. */
int cli_set_scoring(struct ks_plan *plan, const struct cli_scoring_words *w, struct ks_error *err);

#endif

/*
 * The loop of the workbench: waits for the person, the run, signals and standard error, and draws
 * at most ten times a second for the run's sake. While nothing comes it sleeps.
 */
#ifndef KS_TUI_LOOP_H
#define KS_TUI_LOOP_H

#include "tui/source.h"
#include "tui/tui.h"

/* As ks_tui_run, over any source. */
int ks_loop_run(const struct ks_tui_source *source, const struct ks_tui_options *options,
                struct ks_error *err);

#endif

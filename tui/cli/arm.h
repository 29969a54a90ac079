/*
 * Arms that --arm names without a scenario.
 */
#ifndef KS_TUI_CLI_ARM_H
#define KS_TUI_CLI_ARM_H

#include "engine/engine.h"

/*
 * Appends the arm that a word means: a preset, the path of a GGUF, or either with "+kv=TYPE" or
 * "+kv=KEYS/VALUES" behind it; "kv=..." alone leaves the weights as the reference's. Its name is
 * the word, a file's without folder and ending. What a file is called goes before what it could
 * mean. Whether keys and values can be kept so is the run's to say.
 */
int cli_add_arm(struct ks_plan *plan, const char *word, struct ks_error *err);

#endif

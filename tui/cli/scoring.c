#include "tui/cli/scoring.h"

#include <string.h>

/* Which of two words it is; -1 with *err where it's neither. NULL is the first. */
static int which(const char *option, const char *word, const char *const words[2],
                 struct ks_error *err)
{
    for (int i = 0; i < 2; i++)
        if (!word || strcmp(word, words[i]) == 0)
            return i;
    return ks_fail(err, KS_BAD_INPUT, "--%s %s: it is %s or %s", option, word, words[0], words[1]);
}

/* In the order of the enums. */
static int read_scoring(const struct cli_scoring_words *w, struct ks_error *err)
{
    return which("scoring", w->scoring, (const char *const[]){"window", "llama"}, err);
}

static int read_activations(const struct cli_scoring_words *w, struct ks_error *err)
{
    return which("activations", w->activations, (const char *const[]){"f32", "q8"}, err);
}

int cli_check_scoring(const struct cli_scoring_words *w, bool scenario, struct ks_error *err)
{
    if (read_scoring(w, err) < 0 || read_activations(w, err) < 0)
        return -1;
    if (scenario && w->activations)
        return ks_fail(
            err, KS_BAD_INPUT,
            "--activations is for the arms that --arm names; in a scenario each says its "
            "own, arm \"x\" { activations = \"q8\" }");
    return 0;
}

int cli_set_scoring(struct ks_plan *plan, const struct cli_scoring_words *w, struct ks_error *err)
{
    int scoring = read_scoring(w, err), activations = read_activations(w, err);
    if (scoring < 0 || activations < 0)
        return -1;
    if (w->scoring)
        plan->scoring = (enum ks_scoring)scoring;
    for (size_t i = 0; w->activations && i < plan->n_arms; i++)
        plan->arms[i].activations = (enum ks_activations)activations;
    return 0;
}

#include <stdio.h>
#include <stdlib.h>

#include "tui/cli/making.h"
#include "tui/cli/plan.h"

static int make(const struct cli_run_wishes *w, const char *out)
{
    struct ks_error err;
    struct cli_making making;
    cli_making_begin(&making, "tokens");
    struct ks_plan *plan = cli_make_plan(w, &err);
    int failed = plan ? ks_imatrix_make(plan, out, &making.hooks, &err) : -1;
    cli_making_end(&making);
    ks_plan_destroy(plan);
    if (failed)
        return cli_fail(&err);
    cli_put(stdout, out, 0);
    printf(": from %zu tokens\n", making.n);
    return cli_finish_output();
}

int cli_imatrix(const struct cli_command *self, int argc, char **argv)
{
    struct cli_run_wishes w = {0};
    const char *out = NULL;
    const struct cli_option options[] = {
        {"output", 'o', "OUT", "the GGUF to write", CLI_STRING, &out},
        {"corpus", 0, "FILE", "a text to learn from, with a model in a scenario's place (repeats)",
         CLI_LIST, &w.corpora},
        {"window", 0, "N", "tokens in a window (512)", CLI_COUNT, &w.window},
        {"max-documents", 0, "N", "of each file, the first ones", CLI_COUNT, &w.max_documents},
        {"param", 'p', "NAME=VALUE", "a parameter of the scenario (repeats)", CLI_LIST, &w.params},
        {"threads", 0, "N", "worker threads (all that are allowed)", CLI_THREADS, &w.threads},
        {0},
    };
    int status = cli_parse(self, options, argc, argv, &w.operands);
    if (status < 0 && !out)
        status = cli_usage(self, "name the output: -o OUT.gguf");
    if (status < 0 && w.operands.n != 1)
        status = cli_usage(self, "name a scenario, or a model with --corpus");
    if (status < 0)
        status = make(&w, out);
    free(w.operands.items);
    free(w.corpora.items);
    free(w.params.items);
    return status;
}

#include <stdlib.h>

#include "tui/cli/making.h"

static int merge(const struct cli_list *shards, const char *out)
{
    struct ks_error err;
    struct cli_making making;
    cli_catch_interrupts();
    cli_making_begin(&making, "windows");
    int failed = ks_merge(shards->items, shards->n, out, &making.hooks, &err);
    cli_making_end(&making);
    if (failed)
        return cli_fail(&err);
    cli_put(stdout, out, 0);
    printf(": %zu windows of %zu files\n", making.n, shards->n);
    return cli_finish_output();
}

int cli_merge(const struct cli_command *self, int argc, char **argv)
{
    const char *out = NULL;
    struct cli_list shards = {0};
    const struct cli_option options[] = {
        {"output", 'o', "OUT", "the run file to make; one that is there is never overwritten",
         CLI_STRING, &out},
        {0},
    };
    int status = cli_parse(self, options, argc, argv, &shards);
    if (status < 0 && shards.n == 0)
        status = cli_usage(self, "name the run files of the shards");
    if (status < 0 && !out)
        status = cli_usage(self, "name the output: -o OUT.kld");
    if (status < 0)
        status = merge(&shards, out);
    free(shards.items);
    return status;
}

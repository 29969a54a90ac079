#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tui/cli/cli.h"

struct printing {
    json_t *rows; /* NULL: a table */
    char group[64];
};

static void print_row(void *ctx, const struct ks_bench_row *r)
{
    struct printing *p = ctx;
    if (p->rows) {
        json_t *o = json_pack("{s:s, s:s, s:f, s:s}", "group", r->group, "name", r->name, "value",
                              r->value, "unit", r->unit);
        if (o && isfinite(r->limit))
            json_object_update_new(
                o, json_pack("{s:f, s:s}", "limit", r->limit, "limit_name", r->limit_name));
        json_array_append_new(p->rows, o);
        return;
    }
    if (strcmp(p->group, r->group) != 0) {
        snprintf(p->group, sizeof p->group, "%s", r->group);
        printf("\n%s\n", r->group);
    }
    printf("  %-44s %12.4g %-10s", r->name, r->value, r->unit);
    if (isfinite(r->limit))
        printf(" %5.1f %% of %s", 100 * r->value / r->limit, r->limit_name);
    printf("\n");
    fflush(stdout);
}

int cli_bench(const struct cli_command *self, int argc, char **argv)
{
    bool json = false;
    size_t threads = 0;
    char model[4096], corpus[4096];
    struct ks_bench_wishes w = {.model = model, .corpus = corpus};
    snprintf(model, sizeof model, "%s/models/scope-6m.f16.gguf", cli_data_folder());
    snprintf(corpus, sizeof corpus, "%s/corpora/stories.jsonl", cli_data_folder());
    const struct cli_option options[] = {
        {"json", 0, NULL, "one JSON array", CLI_FLAG, &json},
        {"device", 0, "DEVICE", "the GPU of the gpu group, by index, UUID or a part of its name",
         CLI_STRING, &w.device},
        {"model", 0, "GGUF", "of the tokenizer and pipeline groups (the embedded one)", CLI_STRING,
         &w.model},
        {"corpus", 0, "FILE", "the text of the same (.txt or .jsonl)", CLI_STRING, &w.corpus},
        {"threads", 0, "N", "worker threads (all that are allowed)", CLI_THREADS, &threads},
        {0},
    };
    struct cli_list operands = {0};
    int status = cli_parse(self, options, argc, argv, &operands);
    if (status < 0 && operands.n > 1)
        status = cli_usage(self, "one group at a time");
    if (status < 0) {
        struct printing p = {.rows = json ? json_array() : NULL};
        struct ks_error err;
        w.only = operands.n ? operands.items[0] : NULL;
        w.threads = (int)threads;
        if (ks_bench(&w, print_row, &p, &err))
            status = cli_fail(&err);
        else if (json)
            json_dumpf(p.rows, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
        if (status < 0)
            status = cli_finish_output();
        json_decref(p.rows);
    }
    free(operands.items);
    return status;
}

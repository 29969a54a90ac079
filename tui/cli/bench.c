#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tui/cli/cli.h"

enum { MAX_COLUMNS = 16 };

struct printing {
    json_t *rows; /* NULL: text */
    char group[64];
    /* The line of a table that is being filled. */
    char line[32], cells[MAX_COLUMNS][12];
    char columns[MAX_COLUMNS][64]; /* what each holds: of the group's first line */
    size_t n_columns;
    bool told; /* the columns */
};

static void add_json(json_t *rows, const struct ks_bench_row *r)
{
    json_t *o = json_pack("{s:s, s:s, s:f, s:s}", "group", r->group, "name", r->name, "value",
                          r->value, "unit", r->unit);
    if (o && isfinite(r->limit))
        json_object_update_new(
            o, json_pack("{s:f, s:s}", "limit", r->limit, "limit_name", r->limit_name));
    json_array_append_new(rows, o);
}

static void tell_columns(struct printing *p)
{
    for (size_t c = 0; c < p->n_columns; c++)
        printf("  %c  %s\n", 'a' + (int)c, p->columns[c]);
    printf("  %-10s", "");
    for (size_t c = 0; c < p->n_columns; c++)
        printf(" %9c", 'a' + (int)c);
    printf("\n");
    p->told = true;
}

static void finish_line(struct printing *p)
{
    if (!p->line[0])
        return;
    if (!p->told)
        tell_columns(p);
    printf("  %-10s", p->line);
    for (size_t c = 0; c < p->n_columns; c++)
        printf(" %9s", p->cells[c]);
    printf("\n");
    fflush(stdout);
    memset(p->cells, 0, sizeof p->cells);
    p->line[0] = '\0';
}

static void begin_group(struct printing *p, const char *group)
{
    finish_line(p);
    p->n_columns = 0;
    p->told = false;
    snprintf(p->group, sizeof p->group, "%s", group);
    printf("\n%s\n", group);
}

/* Where there is a limit, the share of it is what tells. */
static void add_cell(struct printing *p, const struct ks_bench_row *r)
{
    char column[sizeof *p->columns];
    bool limited = isfinite(r->limit);
    if (strcmp(p->line, r->line) != 0)
        finish_line(p);
    snprintf(p->line, sizeof p->line, "%s", r->line);
    snprintf(column, sizeof column, "%s, %s%s", r->column, limited ? "% of " : "",
             limited ? r->limit_name : r->unit);
    size_t c = 0;
    while (c < p->n_columns && strcmp(p->columns[c], column) != 0)
        c++;
    assert(c < MAX_COLUMNS);
    if (c == p->n_columns)
        memcpy(p->columns[p->n_columns++], column, sizeof column);
    double shown = limited ? 100 * r->value / r->limit : r->value;
    snprintf(p->cells[c], sizeof *p->cells,
             limited        ? "%.1f"
             : shown < 1000 ? "%.4g"
                            : "%.0f",
             shown);
}

static void print_row(void *ctx, const struct ks_bench_row *r)
{
    struct printing *p = ctx;
    if (p->rows) {
        add_json(p->rows, r);
        return;
    }
    if (strcmp(p->group, r->group) != 0)
        begin_group(p, r->group);
    if (r->line) {
        add_cell(p, r);
        return;
    }
    finish_line(p);
    printf("  %-44s %12.4g ", r->name, r->value);
    if (isfinite(r->limit))
        printf("%-10s %5.1f %% of %s", r->unit, 100 * r->value / r->limit, r->limit_name);
    else
        printf("%s", r->unit);
    printf("\n");
    fflush(stdout);
}

static int print_json(const json_t *rows)
{
    json_dumpf(rows, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    printf("\n");
    return cli_finish_output();
}

static int measure(const struct ks_bench_wishes *w, bool json)
{
    struct printing p = {.rows = json ? json_array() : NULL};
    struct ks_error err;
    if (json && !p.rows) {
        ks_fail_memory(&err, sizeof *p.rows, "the benchmark's lines");
        return cli_fail(&err);
    }
    bool failed = ks_bench(w, print_row, &p, &err) != 0;
    finish_line(&p);
    int status = failed ? cli_fail(&err) : json ? print_json(p.rows) : cli_finish_output();
    json_decref(p.rows);
    return status;
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
        w.only = operands.n ? operands.items[0] : NULL;
        w.threads = (int)threads;
        status = measure(&w, json);
    }
    free(operands.items);
    return status;
}

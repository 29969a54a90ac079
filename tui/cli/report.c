#include <stdlib.h>
#include <string.h>

#include "tui/cli/cli.h"

static char *make_report(const struct ks_snapshot *s, const char *format, bool timing,
                         struct ks_error *err)
{
    if (strcmp(format, "json") == 0)
        return ks_report_json(s, timing, err);
    return ks_report_table(s, cli_output_width(), err);
}

static int report(const char *path, const char *format, bool timing)
{
    struct ks_error err;
    struct ks_saved *saved = ks_saved_open(path, &err);
    if (!saved)
        return cli_fail(&err);
    const struct ks_snapshot *s = ks_saved_snapshot(saved);
    char *text = make_report(s, format, timing, &err);
    if (text)
        fputs(text, stdout);
    int status = text ? cli_finish_output() : cli_fail(&err);
    free(text);
    ks_snapshot_release(s);
    ks_saved_close(saved);
    return status;
}

int cli_report(const struct cli_command *self, int argc, char **argv)
{
    const char *format = "table";
    bool timing = false;
    struct cli_list operands = {0};
    const struct cli_option options[] = {
        {"format", 0, "table|json", "what to print (table)", CLI_STRING, &format},
        {"timing", 0, NULL, "times and threads in the JSON as well", CLI_FLAG, &timing},
        {0},
    };
    int status = cli_parse(self, options, argc, argv, &operands);
    if (status < 0 && operands.n != 1)
        status = cli_usage(self, operands.n ? "one run file at a time" : "name a run file: a .kld");
    if (status < 0 && strcmp(format, "table") != 0 && strcmp(format, "json") != 0)
        status = cli_usage(self, "--format %s: it is table or json", format);
    if (status < 0)
        status = report(operands.items[0], format, timing);
    free(operands.items);
    return status;
}

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "tui/cli/cli.h"

/* "20G", "1.5 GB", "800M", "0": decimal, as disks are sold. false where it's no size, or where it
 * has no unit: ten bytes are what nobody means by 10. */
static bool read_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(text, "0123456789.");
    char *end;
    double n = strtod(text, &end);
    if (digits == 0 || end != text + digits)
        return false;
    end += strspn(end, " ");
    const char *behind = end;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        end++;
        for (const char *u = units; u <= unit; u++)
            n *= 1000;
    }
    if (toupper((unsigned char)*end) == 'B')
        end++;
    bool whole = *end == '\0' && (end > behind || n == 0);
    if (!whole || !(n < 0x1p63))
        return false;
    *bytes = (uint64_t)n;
    return true;
}

/* "3.65 MB" or "10 GB". */
static void print_size(uint64_t bytes)
{
    if (bytes < 1000000000)
        printf("%.4g MB\n", (double)bytes / 1e6);
    else
        printf("%.4g GB\n", (double)bytes / 1e9);
}

static void print_text(const struct ks_cache_facts *f)
{
    printf("folder     ");
    cli_put(stdout, f->folder, 0);
    printf("\ntensors    %llu, ", (unsigned long long)f->tensors);
    print_size(f->bytes);
    if (f->oldest_unix_ns > 0) {
        time_t oldest = (time_t)(f->oldest_unix_ns / 1000000000);
        struct tm when;
        char text[32];
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", localtime_r(&oldest, &when));
        printf("           the first to go was last used on %s\n", text);
    }
    printf("limit      ");
    if (f->limit_bytes > 0)
        print_size(f->limit_bytes);
    else
        printf("0: nothing is kept\n");
}

static int print_json(const struct ks_cache_facts *f)
{
    json_t *o =
        json_pack("{s:s, s:I, s:I, s:I}", "folder", f->folder, "tensors", (json_int_t)f->tensors,
                  "bytes", (json_int_t)f->bytes, "limit_bytes", (json_int_t)f->limit_bytes);
    if (!o)
        return cli_json_failed("the cache");
    json_dumpf(o, stdout, JSON_INDENT(1));
    printf("\n");
    json_decref(o);
    return cli_finish_output();
}

static int act(bool clear, const uint64_t *limit, struct ks_cache_facts *facts,
               struct ks_error *err)
{
    if (limit && ks_cache_set_limit(*limit, facts, err))
        return -1;
    return clear ? ks_cache_clear(facts, err) : ks_cache_look(facts, err);
}

int cli_cache(const struct cli_command *self, int argc, char **argv)
{
    bool json = false, clear = false;
    const char *limit = NULL;
    uint64_t bytes = 0;
    const struct cli_option options[] = {
        {"clear", 0, NULL, "remove all of it", CLI_FLAG, &clear},
        {"limit", 0, "SIZE", "hold no more than SIZE from now on (10G, 500M; 0: keep nothing)",
         CLI_STRING, &limit},
        {"json", 0, NULL, "one JSON object", CLI_FLAG, &json},
        {0},
    };
    struct cli_list operands = {0};
    int status = cli_parse(self, options, argc, argv, &operands);
    if (status < 0 && operands.n)
        status = cli_usage(self, "cache takes no operand, not \"%s\"", operands.items[0]);
    if (status < 0 && limit && !read_size(limit, &bytes))
        status = cli_usage(self, "--limit takes a size such as 10G or 500M, not \"%s\"", limit);
    free(operands.items);
    if (status >= 0)
        return status;
    struct ks_cache_facts facts;
    struct ks_error err;
    if (act(clear, limit ? &bytes : NULL, &facts, &err))
        return cli_fail(&err);
    if (json)
        return print_json(&facts);
    print_text(&facts);
    return cli_finish_output();
}

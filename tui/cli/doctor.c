#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <jansson.h>

#include "tui/cli/devices.h"

static void join(char *text, size_t size, const char *const *words, size_t n)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n && words[i] && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", words[i]);
}

struct terminal {
    bool out;
    int columns, lines;
    const char *type, *codeset;
    bool utf8;
};

static struct terminal look_at_terminal(void)
{
    struct terminal t = {.out = isatty(STDOUT_FILENO) != 0};
    struct winsize size;
    if (t.out && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        t.columns = size.ws_col;
        t.lines = size.ws_row;
    }
    t.type = getenv("TERM");
    t.codeset = nl_langinfo(CODESET);
    t.utf8 = strcmp(t.codeset, "UTF-8") == 0;
    return t;
}

static void print_text(const struct ks_machine *m, const struct terminal *t, const char *device)
{
    char paths[128], not [128];
    join(paths, sizeof paths, m->isas, sizeof m->isas / sizeof *m->isas);
    join(not, sizeof not, m->isas_not, sizeof m->isas_not / sizeof *m->isas_not);
    printf("kldscope   %s\n", KS_VERSION);
    printf("cpu        %s, %d online\n", m->cpu, m->cpus);
    printf("threads    %d would be used: what affinity and cgroup allow (--threads)\n", m->threads);
    const char *asked = getenv("KLDSCOPE_ISA");
    printf("paths      %s would be used: %s\n", m->isa,
           asked && *asked ? "KLDSCOPE_ISA asks for it"
                           : "the fastest that was run here (KLDSCOPE_ISA asks for another)");
    printf("           run here: %s; not here: %s\n", paths, *not ? not : "none");
    printf("memory     %.1f GB, %.1f GB of it available\n", (double)m->memory_bytes / 1e9,
           (double)m->memory_available_bytes / 1e9);
    cli_print_devices(device);
    printf("terminal   ");
    if (t->out) {
        cli_put(stdout, t->type ? t->type : "no TERM", 0);
        printf(", %d x %d, %s: %s\n", t->columns, t->lines, t->codeset,
               t->utf8 ? "block glyphs" : "ASCII glyphs");
    } else {
        printf("none on standard output: runs are headless\n");
    }
    printf("scenarios  ");
    cli_put(stdout, cli_data_folder(), 0);
    putchar('\n');
}

static json_t *list_json(const char *const *words, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n && words[i]; i++)
        json_array_append_new(list, json_string(words[i]));
    return list;
}

static int print_json(const struct ks_machine *m, const struct terminal *t, const char *device)
{
    json_t *o = json_pack(
        "{s:s, s:s, s:i, s:i, s:s, s:o, s:o, s:I, s:I, s:o, s:{s:b, s:s?, s:i, s:i, s:s}, s:s}",
        "version", KS_VERSION, "cpu", m->cpu, "cpus", m->cpus, "threads", m->threads, "isa", m->isa,
        "isas", list_json(m->isas, 8), "isas_not", list_json(m->isas_not, 8), "memory_bytes",
        (json_int_t)m->memory_bytes, "memory_available_bytes",
        (json_int_t)m->memory_available_bytes, "gpu", cli_devices_json(device), "terminal",
        "output", (int)t->out, "type", t->type, "columns", t->columns, "lines", t->lines, "codeset",
        t->codeset, "scenarios", cli_data_folder());
    if (!o)
        return cli_json_failed("this machine");
    json_dumpf(o, stdout, JSON_INDENT(1));
    printf("\n");
    json_decref(o);
    return cli_finish_output();
}

int cli_doctor(const struct cli_command *self, int argc, char **argv)
{
    bool json = false;
    const char *device = NULL;
    const struct cli_option options[] = {
        {"json", 0, NULL, "one JSON object", CLI_FLAG, &json},
        {"device", 0, "DEVICE", "a GPU by index, UUID or a part of its name", CLI_STRING, &device},
        {0},
    };
    struct cli_list operands = {0};
    int status = cli_parse(self, options, argc, argv, &operands);
    if (status < 0 && operands.n)
        status = cli_usage(self, "doctor takes no operand");
    free(operands.items);
    if (status >= 0)
        return status;
    struct ks_machine machine;
    struct ks_error err;
    if (ks_machine_probe(&machine, &err))
        return cli_fail(&err);
    struct terminal t = look_at_terminal();
    if (json)
        return print_json(&machine, &t, device);
    print_text(&machine, &t, device);
    return cli_finish_output();
}

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "tui/cli/cli.h"

#define MAX_OPTIONS 48
#define HELP_COLUMN 28
#define HELP_WIDTH  96

int cli_usage(const struct cli_command *self, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_say("%s%s; see kldscope %s --help", text, n >= (int)sizeof text ? "..." : "", self->name);
    return CLI_USAGE;
}

static void print_wrapped(const char *text, int column)
{
    int at = column;
    while (*text) {
        int len = (int)strcspn(text, " ");
        if (at > column && at + 1 + len > HELP_WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        }
        if (at > column)
            at += printf(" ");
        at += printf("%.*s", len, text);
        text += len + (text[len] == ' ');
    }
    printf("\n");
}

static void print_option(const struct cli_option *o)
{
    char left[64];
    int n = o->letter ? snprintf(left, sizeof left, "  -%c, --%s", o->letter, o->name)
                      : snprintf(left, sizeof left, "      --%s", o->name);
    if (o->arg)
        snprintf(left + n, sizeof left - (size_t)n, " %s", o->arg);
    if (strlen(left) >= HELP_COLUMN - 1)
        printf("%s\n%*s", left, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, left);
    print_wrapped(o->help, HELP_COLUMN);
}

static int print_page(const struct cli_command *self, const struct cli_option *options)
{
    printf("Usage: kldscope %s\n%s.\n\n%s\n\nOptions:\n", self->usage, self->summary, self->help);
    for (; options->name; options++)
        print_option(options);
    print_option(&(struct cli_option){.name = "help", .help = "show this page"});
    return cli_finish_output();
}

static int list_add(struct cli_list *list, const char *item)
{
    const char **items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (!items)
        return -1;
    items[list->n++] = item;
    list->items = items;
    return 0;
}

static int out_of_memory(void)
{
    cli_say("out of memory");
    return CLI_INTERNAL;
}

/* -1 to go on, else the exit status. */
static int take_number(const struct cli_command *self, const struct cli_option *o,
                       const char *value)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    if (errno || end == value || *end || !isdigit((unsigned char)*value))
        return cli_usage(self, "--%s takes a whole number, not \"%s\"", o->name, value);
    if (o->kind == CLI_THREADS && n > KS_MAX_THREADS)
        return cli_usage(self, "--%s takes a number up to %d, not %s", o->name, KS_MAX_THREADS,
                         value);
    *(size_t *)o->target = (size_t)n;
    return -1;
}

/* The same. */
static int take(const struct cli_command *self, const struct cli_option *o, const char *value)
{
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)o->target = true;
        return -1;
    case CLI_STRING:
        *(const char **)o->target = value;
        return -1;
    case CLI_LIST:
        return list_add(o->target, value) ? out_of_memory() : -1;
    case CLI_COUNT:
    case CLI_THREADS:
        return take_number(self, o, value);
    }
    return CLI_INTERNAL;
}

static int unknown(const struct cli_command *self, const struct cli_option *options,
                   const char *given)
{
    const char *names[MAX_OPTIONS];
    size_t n = 0;
    for (; options[n].name; n++)
        names[n] = options[n].name;
    char word[64];
    const char *start = given + strspn(given, "-");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(start, "="), start);
    const char *near = ks_nearest_word(word, names, n);
    if (near)
        return cli_usage(self, "unknown option %s, did you mean --%s?", given, near);
    return cli_usage(self, "unknown option %s", given);
}

/* The tables that getopt_long wants. Returns the number of options. */
static size_t translate(const struct cli_option *options, struct option *longs, char *letters)
{
    size_t n = 0;
    *letters++ = ':';
    for (; options[n].name; n++) {
        longs[n] = (struct option){.name = options[n].name,
                                   .has_arg = options[n].arg ? required_argument : no_argument,
                                   .val = 256 + (int)n};
        if (options[n].letter) {
            *letters++ = options[n].letter;
            if (options[n].arg)
                *letters++ = ':';
        }
    }
    longs[n] = (struct option){.name = "help", .val = 256 + (int)n};
    longs[n + 1] = (struct option){0};
    *letters = '\0';
    return n;
}

static const struct cli_option *find(const struct cli_option *options, int value)
{
    if (value >= 256)
        return &options[value - 256];
    for (; options->name; options++)
        if (options->letter == value)
            return options;
    return NULL;
}

int cli_parse(const struct cli_command *self, const struct cli_option *options, int argc,
              char **argv, struct cli_list *operands)
{
    struct option longs[MAX_OPTIONS + 2];
    char letters[2 * MAX_OPTIONS + 2];
    size_t n = translate(options, longs, letters);
    opterr = 0;
    optind = 0; /* glibc: start anew */
    int got;
    while ((got = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (got == 256 + (int)n)
            return print_page(self, options);
        if (got == ':')
            return cli_usage(self, "%s needs a value", argv[optind - 1]);
        if (got == '?')
            return unknown(self, options, argv[optind - 1]);
        int status = take(self, find(options, got), optarg);
        if (status >= 0)
            return status;
    }
    for (int i = optind; i < argc; i++)
        if (list_add(operands, argv[i]))
            return out_of_memory();
    return -1;
}

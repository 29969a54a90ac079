/*
 * The command line: subcommands, their options, their help.
 *
 * A command is one row of the table in main.c and one function in a file of its own. It prints its
 * results to stdout and complaints to stderr, and returns the exit status: 0 done, 1 a check
 * failed, 2 usage or input, 3 our own fault, 130 interrupted. Main thread only.
 */
#ifndef KS_TUI_CLI_CLI_H
#define KS_TUI_CLI_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/engine.h"

enum { CLI_DONE = 0, CLI_DIFFERS = 1, CLI_USAGE = 2, CLI_INTERNAL = 3, CLI_INTERRUPTED = 130 };

enum cli_option_kind {
    CLI_FLAG,    /* bool * */
    CLI_STRING,  /* const char ** */
    CLI_COUNT,   /* size_t *, a whole number */
    CLI_THREADS, /* size_t *, a whole number up to KS_MAX_THREADS */
    CLI_LIST,    /* struct cli_list *, may repeat */
};

struct cli_list {
    const char **items;
    size_t n;
};

struct cli_option {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* 0: none */
    const char *arg;  /* the argument's name in the help; NULL for a flag */
    const char *help;
    enum cli_option_kind kind;
    void *target;
};

struct cli_command {
    const char *name;
    const char *usage;   /* "run SCENARIO.lua [OPTION]..." */
    const char *summary; /* one line for the list */
    const char *help;    /* paragraphs for the page */
    int (*run)(const struct cli_command *self, int argc, char **argv);
};

/*
 * Parses GNU-style long options (--name value, --name=value), letters, and "--". Handles --help by
 * printing the command's page. Returns -1 to go on, with the operands in *operands; else the exit
 * status. argv[0] is the command's name. Free operands' items and lists' items.
 */
int cli_parse(const struct cli_command *self, const struct cli_option *options, int argc,
              char **argv, struct cli_list *operands);

/*
 * What comes from files and people goes to standard output and error through these: one line of
 * printable characters, everything else as \\n or \\x1b. cli_utf8: the locale's characters are
 * UTF-8's; else all beyond ASCII is written that way.
 */
extern volatile sig_atomic_t cli_utf8;
enum { CLI_SHOWN = 4 };
/* The bytes that show what text begins with (not its end), *len of them; returns how many bytes of
 * text they show. May be called in a signal handler. */
size_t cli_show_next(const char *text, char out[CLI_SHOWN], size_t *len);
/* Writes text, with blanks behind it up to width columns; nothing where f is NULL. Returns the
 * text's columns. */
int cli_put(FILE *f, const char *text, int width);
/* "kldscope: ...", a line on standard error. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of two parts, in a signal handler. */
void cli_say_in_handler(const char *file, const char *what);

/* Prints "kldscope: text" and returns the exit status that belongs to the error. */
int cli_fail(const struct ks_error *err);
int cli_usage(const struct cli_command *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Opens the model that is a command's only operand, or complains; *status is the exit status. What
 * is only looked at need not be a model that can be computed. */
enum cli_opening { CLI_TO_LOOK_AT, CLI_TO_COMPUTE };
struct ks_model *cli_open_model(const struct cli_command *self, const struct cli_list *operands,
                                enum cli_opening opening, int *status);
/* All of a file, or of stdin for "-". malloc'ed, NUL behind its end. NULL with *err. */
char *cli_read_file(const char *path, size_t *len, struct ks_error *err);
/* Complains that what was found out of `subject` makes no JSON; returns the exit status. */
int cli_json_failed(const char *subject);
/* Flushes stdout; a full disk or closed pipe is an error like any other. */
int cli_finish_output(void);

/* Where shipped scenarios are: KLDSCOPE_DATA or the folder set at build. */
const char *cli_data_folder(void);

/* Set by handlers of SIGINT and SIGTERM, and SIGHUP. */
extern volatile sig_atomic_t cli_interrupted, cli_hung_up;
/* For a command that looks at the flags often and has something to save: SIGINT and SIGTERM set
 * theirs once, a second one ends the program at once with 130. A signal that was ignored when the
 * program began stays so. Other commands are ended by a signal as any program is. */
void cli_catch_interrupts(void);
/* A mapped model that shrinks, or that its disk cannot read, ends the program with 2 and the file's
 * name; a pipe or file that takes no more is an error of the write. */
void cli_catch_faults(void);

/* Columns for a table on standard output; 0 where that's no terminal. */
int cli_output_width(void);

int cli_run(const struct cli_command *self, int argc, char **argv);
int cli_inspect(const struct cli_command *self, int argc, char **argv);
int cli_tokens(const struct cli_command *self, int argc, char **argv);
int cli_logits(const struct cli_command *self, int argc, char **argv);
int cli_imatrix(const struct cli_command *self, int argc, char **argv);
int cli_quantize(const struct cli_command *self, int argc, char **argv);
int cli_watch(const struct cli_command *self, int argc, char **argv);
int cli_report(const struct cli_command *self, int argc, char **argv);
int cli_merge(const struct cli_command *self, int argc, char **argv);
int cli_cache(const struct cli_command *self, int argc, char **argv);
int cli_doctor(const struct cli_command *self, int argc, char **argv);
int cli_bench(const struct cli_command *self, int argc, char **argv);

#endif

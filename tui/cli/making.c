#include "tui/cli/making.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool tell_progress(void *ctx, size_t done, size_t n)
{
    struct cli_making *m = ctx;
    m->n = n;
    if (m->terminal)
        fprintf(stderr, "\r%zu of %zu %s", done, n, m->what);
    m->line_open = m->terminal;
    return !cli_interrupted;
}

void cli_making_end(struct cli_making *m)
{
    if (m->line_open)
        fputc('\n', stderr);
    m->line_open = false;
}

static void tell_warning(void *ctx, const char *text)
{
    cli_making_end(ctx);
    cli_say("warning: %s", text);
}

void cli_making_begin(struct cli_making *m, const char *what)
{
    const char *term = getenv("TERM");
    *m = (struct cli_making){
        .hooks = {m, tell_progress, tell_warning},
        .what = what,
        .terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0,
    };
}

#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tui/cli/cli.h"
#include "tui/cli/progress.h"
#include "tui/tui.h"

/* Between two looks at a file. */
enum { LOOK_MS = 100 };

/* Of a picture that goes to no terminal. */
enum { WIDTH = 100, HEIGHT = 30 };

struct wishes {
    const char *path;
    bool once, plain, no_mouse, ascii;
    const char *theme;
};

static bool is_interrupted(void)
{
    return cli_interrupted || cli_hung_up;
}

/* A run that was started a moment ago is still preparing: its file has nothing in it yet. */
static struct ks_saved *open_file(const char *path, struct ks_error *err)
{
    struct ks_saved *saved;
    for (bool told = false; !(saved = ks_saved_open(path, err)); told = true) {
        if (err->code != KS_TOO_EARLY)
            return NULL;
        if (!told)
            cli_say("%s; waiting for it", err->text);
        poll(NULL, 0, LOOK_MS);
        if (is_interrupted()) {
            ks_fail(err, KS_CANCELLED, "%s: left before its run was prepared", path);
            return NULL;
        }
    }
    return saved;
}

static int print(char *text, const struct ks_error *err)
{
    if (!text)
        return cli_fail(err);
    fputs(text, stdout);
    free(text);
    return cli_finish_output();
}

static int print_picture(struct ks_saved *saved, const struct wishes *w)
{
    struct ks_error err;
    struct winsize size;
    int width = WIDTH, height = HEIGHT;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
        size.ws_row > 0) {
        width = size.ws_col;
        height = size.ws_row;
    }
    return print(ks_tui_picture(saved, w->path, w->ascii || !cli_utf8, width, height, &err), &err);
}

/* ------------------------------------------------------------------ without a screen */

/* Until the run has ended, or its writer has. -1 with *err where the file can't be followed. */
static int follow(struct ks_saved *saved, struct ks_error *err)
{
    struct cli_progress p = cli_progress_begin();
    int failed = 0;
    for (bool over = false, news; !over && !failed;) {
        const struct ks_snapshot *s = ks_saved_snapshot(saved);
        cli_progress_tell(&p, s);
        over = s->state >= KS_RUN_DONE;
        ks_snapshot_release(s);
        if (!over)
            poll(NULL, 0, LOOK_MS);
        if (is_interrupted())
            failed = ks_fail(err, KS_CANCELLED, "left; the run goes on");
        else if (!over && ks_saved_refresh(saved, &news, err) && err->code != KS_SYSTEM)
            failed = -1;
    }
    cli_progress_end(&p);
    return failed;
}

static int watch_plain(struct ks_saved *saved, const struct wishes *w)
{
    struct ks_error err;
    if (follow(saved, &err))
        return cli_fail(&err);
    if (ks_saved_is_cut_short(saved))
        cli_say("the process that wrote this run is gone: stopped, go on with run --resume --out "
                "%s",
                w->path);
    const struct ks_snapshot *s = ks_saved_snapshot(saved);
    int status = print(ks_report_table(s, cli_output_width(), &err), &err);
    ks_snapshot_release(s);
    return status;
}

/* ------------------------------------------------------------------ all */

static int watch_on_screen(struct ks_saved *saved, const struct wishes *w)
{
    struct ks_error err;
    struct ks_tui_options options = {
        .mouse = !w->no_mouse,
        .ascii = w->ascii,
        .theme = w->theme,
        .interrupted = &cli_interrupted,
    };
    if (ks_tui_watch(saved, w->path, &options, &err))
        return cli_fail(&err);
    return is_interrupted() ? CLI_INTERRUPTED : CLI_DONE;
}

static int watch(const struct wishes *w)
{
    struct ks_error err;
    cli_catch_interrupts();
    struct ks_saved *saved = open_file(w->path, &err);
    if (!saved)
        return cli_fail(&err);
    int status;
    if (w->once)
        status = print_picture(saved, w);
    else if (w->plain || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        status = watch_plain(saved, w);
    else
        status = watch_on_screen(saved, w);
    ks_saved_close(saved);
    return status;
}

int cli_watch(const struct cli_command *self, int argc, char **argv)
{
    struct wishes w = {0};
    struct cli_list operands = {0};
    const struct cli_option options[] = {
        {"once", 0, NULL, "print one picture as text and leave", CLI_FLAG, &w.once},
        {"plain", 0, NULL, "no screen: progress on standard error, the table at the end", CLI_FLAG,
         &w.plain},
        {"no-mouse", 0, NULL, "leave the mouse to the terminal", CLI_FLAG, &w.no_mouse},
        {"ascii", 0, NULL, "draw with ASCII alone", CLI_FLAG, &w.ascii},
        {"theme", 0, "NAME", "dark, light, mono or colourblind", CLI_STRING, &w.theme},
        {0},
    };
    int status = cli_parse(self, options, argc, argv, &operands);
    if (status < 0 && operands.n != 1)
        status = cli_usage(self, operands.n ? "one run file at a time" : "name a run file: a .kld");
    if (status < 0) {
        w.path = operands.items[0];
        status = watch(&w);
    }
    free(operands.items);
    return status;
}

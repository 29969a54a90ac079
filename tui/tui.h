/*
 * The workbench: the live screen over a run.
 *
 * It owns the terminal between ks_tui_run's call and return, reads immutable snapshots, and steers
 * the run only through engine.h. One at a time, on the main thread.
 */
#ifndef KS_TUI_TUI_H
#define KS_TUI_TUI_H

#include <signal.h>

#include "engine/engine.h"

struct ks_tui_options {
    bool mouse;
    bool ascii;        /* no glyphs beyond ASCII even where the locale has them */
    const char *theme; /* "dark", "light", "mono", "colourblind"; NULL: dark, mono with NO_COLOR */
    const volatile sig_atomic_t *interrupted; /* set by main's handlers: leave; or NULL */
    bool detach; /* a terminal that goes away ends the screen, and not the run */
};

/* What showing a run may return beside 0 and -1. */
enum { KS_TUI_DETACHED = 1 };

/*
 * Shows the run until the person quits or the terminal goes away. 0, or -1 where no screen can be
 * opened (the text says what to do instead) or memory gives out. A run that is unfinished then has
 * been asked to stop; it is not joined. KS_TUI_DETACHED, with options->detach alone: the terminal
 * went away from an unfinished run, which was not asked to stop; the standard streams may lead
 * nowhere.
 *
 * Meanwhile it takes SIGWINCH, TSTP, CONT, INT, TERM, HUP and the deadly ones over, handing each on
 * to the handler that was there, and standard error where that is a terminal: its lines become
 * notes of the run. LC_CTYPE is set from the environment, to know whether the terminal has UTF-8.
 */
int ks_tui_run(struct ks_run *run, const struct ks_tui_options *options, struct ks_error *err);

/*
 * The same screen over a run file, to look on: nothing is changed or steered. What goes wrong with
 * the file meanwhile is told on the screen. path: as the person named the file.
 */
int ks_tui_watch(struct ks_saved *saved, const char *path, const struct ks_tui_options *options,
                 struct ks_error *err);

/* One picture of that screen as text, width columns and height lines of it; the caller's to free().
 * NULL with *err. */
char *ks_tui_picture(struct ks_saved *saved, const char *path, bool ascii, int width, int height,
                     struct ks_error *err);

#endif

/*
 * The terminal: the one place that knows curses. It puts a grid on it and reads what a person does.
 *
 * One at a time, on the main thread; signals.h must be open, because a terminal registers there how
 * a crash restores it.
 */
#ifndef KS_TUI_TERM_TERM_H
#define KS_TUI_TERM_TERM_H

#include "tui/draw/grid.h"
#include "tui/term/input.h"

struct ks_term;

/*
 * mouse: false emits no mouse codes. theme: a name, or NULL: dark, mono with NO_COLOR. A terminal
 * without colours shows mono in any case. NULL with *err where standard input or output is no
 * terminal, or the terminal cannot place its cursor.
 */
struct ks_term *ks_term_open(bool mouse, const char *theme, struct ks_error *err);
void ks_term_close(struct ks_term *t); /* accepts NULL */

/* Its size now; follows it where it changed. At least 1x1. */
void ks_term_size(struct ks_term *t, int *width, int *height);

/* Shows the grid, sending what differs from the last one. The cursor is at (x, y), hidden where
 * x < 0. */
int ks_term_show(struct ks_term *t, const struct ks_grid *g, int x, int y, struct ks_error *err);

/* Takes the next event that is there without waiting: 1, or 0 where there is none. */
int ks_term_read(struct ks_term *t, struct ks_event *event);

/* The next show sends everything. */
void ks_term_repaint(struct ks_term *t);

/* Gives the terminal to the shell, and takes it back. */
void ks_term_leave(struct ks_term *t);
void ks_term_enter(struct ks_term *t);

#endif

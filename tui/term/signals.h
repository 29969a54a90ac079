/*
 * Signals while the screen is up.
 *
 * Ordinary ones (WINCH, TSTP, CONT, INT, TERM, HUP) are noted, handed on to whoever had them
 * before, and wake a descriptor that the loop polls, so that none is lost between two polls and it
 * doesn't matter which thread they reach. Deadly ones (SEGV, BUS, ILL, FPE, ABRT, QUIT, SYS, ...)
 * restore the terminal with what was prepared for them and then die as they would have.
 *
 * A process has one table of signal handlers, so this is the one module with a state of its own:
 * open it once at a time, on the main thread.
 */
#ifndef KS_TUI_TERM_SIGNALS_H
#define KS_TUI_TERM_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "engine/base/error.h"

#define KS_RESET_SIZE 256

/* What a crash does with the terminal. */
struct ks_reset {
    char bytes[KS_RESET_SIZE]; /* to standard output */
    size_t len;
    struct termios modes; /* of before */
};

int ks_signals_open(struct ks_error *err);
void ks_signals_close(void);

/* Polls readable when a signal was noted. */
int ks_signals_fd(void);
/* Empties what the descriptor polls. */
void ks_signals_drain(void);
/* Whether the signal came since the last time this was asked. */
bool ks_signals_came(int sig);

/* Copied. NULL: nothing to restore. */
void ks_signals_on_crash(const struct ks_reset *reset);
/* On a crash, standard error is `real` again and gets what is left in `pipe`; -1, -1: it is. */
void ks_signals_stderr(int real, int pipe);

/* Stops the process as Ctrl-Z does; returns when it goes on. */
void ks_signals_suspend(void);

#endif

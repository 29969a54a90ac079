/*
 * UTF-8 as a terminal shows it: one cluster at a time, with its width in columns.
 *
 * Text comes from files and people, so nothing in it may move the cursor or hide: control
 * characters become their pictures (U+2400..), invisible and invalid ones U+FFFD, and in ASCII
 * everything that is not printable ASCII becomes '?' in as many columns as it had. Joiners and
 * variation selectors are dropped, because terminals disagree about their width.
 *
 * Pure functions; any thread.
 */
#ifndef KS_TUI_DRAW_TEXT_H
#define KS_TUI_DRAW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_CLUSTER_CODEPOINTS 4

/* What shares a cell: a base and up to three marks that combine with it (more are dropped). */
struct ks_cluster {
    uint32_t text[KS_CLUSTER_CODEPOINTS]; /* 0 behind the last */
    int columns;                          /* 1 or 2 */
};

/* Fills *out with the cluster at text (len bytes) and returns the bytes taken; 0 at the end. */
size_t ks_text_next(const char *text, size_t len, bool ascii, struct ks_cluster *out);

/* Columns of the whole text. */
int ks_text_columns(const char *text, bool ascii);

/* The bytes of text that fit in columns (at least one cluster, unless the text is empty), cut
 * behind a space where there is one. *skip: bytes to leave out before the next line. */
size_t ks_text_wrap(const char *text, int columns, bool ascii, size_t *skip);

/* How many lines the text takes in columns; 1 for an empty text. */
int ks_text_lines(const char *text, int columns, bool ascii);

#endif

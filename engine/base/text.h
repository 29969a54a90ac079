/*
 * Text that came from outside, on its way to a terminal or a log: names in files and scripts may
 * hold anything, and a control character among them would move somebody's cursor.
 *
 * Pure functions on the caller's memory; any thread.
 */
#ifndef KS_ENGINE_BASE_TEXT_H
#define KS_ENGINE_BASE_TEXT_H

#include <stdbool.h>

/* Makes spaces of control characters (C0, DEL, and C1 as UTF-8 spells them), so that text is one
 * line and does nothing but show. */
void ks_text_one_line(char *text);
/* Whether text is UTF-8 without control characters. */
bool ks_text_printable(const char *text);

#endif

/*
 * Which arms the arms pane lists, and in which order: those that the filter lets through, sorted by
 * a column, arms without a value last whatever the direction, equals in the scenario's order.
 */
#ifndef KS_TUI_SCREEN_ROWS_H
#define KS_TUI_SCREEN_ROWS_H

#include "tui/screen/columns.h"

/* Row of arm i of the snapshot (facts not NULL), or of the reference. */
struct ks_row ks_row_of_arm(const struct ks_snapshot *shown, size_t i);
struct ks_row ks_row_of_reference(const struct ks_snapshot *shown);

/* Fills s->rows anew and keeps the selection on an arm that is listed. */
int ks_rows_make(struct ks_screen *s, struct ks_error *err);
/* The same where s->rows is large enough already. */
void ks_rows_order(struct ks_screen *s);

#define KS_REASON_SIZE 512
/* Why an arm has fewer measurements than it should, "" where nothing is wrong or row is the
 * reference's. */
void ks_row_reason(const struct ks_row *row, char out[KS_REASON_SIZE]);

/* The selection goes up or down the list; page: rows of a page. */
void ks_rows_move(struct ks_screen *s, enum ks_stride stride, int direction, int page);

/* Where the selected arm is in s->rows; n_rows if it isn't. */
size_t ks_rows_selected(const struct ks_screen *s);

#endif

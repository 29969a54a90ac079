/*
 * A table of short texts, printed with the decimal points of each column under one another. Private
 * to the reports; one thread at a time.
 */
#ifndef KS_ENGINE_REPORT_COLUMNS_H
#define KS_ENGINE_REPORT_COLUMNS_H

#include "engine/report/format.h"

/* Row 0 is the head. Column 0 is text and stays; the others are right-aligned and may be dropped.
 */
struct ks_columns {
    int rows, columns;
    char (*cells)[KS_CELL]; /* (rows, columns), "" at first */
};

int ks_columns_init(struct ks_columns *g, int rows, int columns, struct ks_error *err);
void ks_columns_finish(struct ks_columns *g); /* accepts a zeroed one */
char *ks_columns_cell(const struct ks_columns *g, int row, int column);

/* Appends the table with a rule under its head, without the first so many columns of drops[n_drops]
 * that it takes to stay within width. */
int ks_columns_print(const struct ks_columns *g, int width, const int *drops, int n_drops,
                     struct ks_buf *out, struct ks_error *err);

#endif

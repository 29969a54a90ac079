/*
 * The columns of the arms pane, as one table: what they show, how wide they are, what they sort by,
 * and which go first where there is no room.
 */
#ifndef KS_TUI_SCREEN_COLUMNS_H
#define KS_TUI_SCREEN_COLUMNS_H

#include "tui/screen/format.h"
#include "tui/screen/screen.h"

/* An arm, or the reference where facts is NULL. */
struct ks_row {
    const struct ks_facts *run;
    const struct ks_arm_facts *facts;
    const struct ks_arm_snapshot *arm; /* NULL for the reference */
    const struct ks_numbers *numbers;
};

enum ks_column_kind { KS_COLUMN_VALUE, KS_COLUMN_NAME, KS_COLUMN_TREND };

struct ks_column {
    const char *label;  /* in sort menus and the help: "KLD mean" */
    const char *narrow; /* the head where the label has no room; NULL: it is cut */
    const char *help;
    enum ks_column_kind kind;
    int columns; /* its width; of the name and the trend the least one */
    int keep;    /* the lowest is dropped first */
    bool left;   /* the head is aligned to the left */
    /* What the head says, where it isn't the label. */
    void (*head)(const struct ks_glyphs *glyphs, const struct ks_facts *run,
                 char out[KS_FORMAT_SIZE]);
    /* The value to sort by, NaN: none. NULL: it doesn't sort. */
    double (*value)(const struct ks_row *row);
    /* What a row shows, in exactly that width. NULL: the name, the trend. */
    void (*text)(const struct ks_row *row, char out[KS_FORMAT_SIZE]);
};

/* NULL past the end. */
const struct ks_column *ks_column_at(size_t i);
size_t ks_column_index(const char *label); /* the table's length where there is none */

#define KS_MAX_COLUMNS 16

/* Which columns fit in width, and how wide each then is, in the table's order. */
struct ks_columns_fit {
    size_t column[KS_MAX_COLUMNS];
    int x[KS_MAX_COLUMNS], columns[KS_MAX_COLUMNS];
    size_t n;
};
/* longest_name: of the arms, in columns. */
struct ks_columns_fit ks_columns_fit(int width, int longest_name);

/* Whether a row has a measurement to show. */
bool ks_row_measured(const struct ks_row *row);

#endif

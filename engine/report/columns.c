#include "engine/report/columns.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2

/* A column as it is laid out: so many characters up to the point, so many from it on. */
struct lane {
    int left, right;
    bool dropped;
};

int ks_columns_init(struct ks_columns *g, int rows, int columns, struct ks_error *err)
{
    size_t n = (size_t)rows * (size_t)columns;
    char(*cells)[KS_CELL] = calloc(n, sizeof *cells);
    if (!cells)
        return ks_fail_memory(err, n * sizeof *cells, "a table");
    *g = (struct ks_columns){rows, columns, cells};
    return 0;
}

void ks_columns_finish(struct ks_columns *g)
{
    free(g->cells);
    *g = (struct ks_columns){0};
}

char *ks_columns_cell(const struct ks_columns *g, int row, int column)
{
    return g->cells[row * g->columns + column];
}

static int before_point(const char *text)
{
    return (int)strcspn(text, ".");
}

/* "-" and "inf" stand at the right edge, where no digit says otherwise. */
static bool has_digits(const char *text)
{
    return strpbrk(text, "0123456789") != NULL;
}

/* Where the head or a word is wider than the numbers, those keep to its right. */
static void measure(const struct ks_columns *g, int column, struct lane *lane)
{
    *lane = (struct lane){0};
    for (int r = 1; r < g->rows; r++) {
        const char *text = ks_columns_cell(g, r, column);
        if (column > 0 && !has_digits(text))
            continue;
        int left = column == 0 ? (int)strlen(text) : before_point(text);
        int right = (int)strlen(text) - left;
        lane->left = left > lane->left ? left : lane->left;
        lane->right = right > lane->right ? right : lane->right;
    }
    for (int r = 0; r < g->rows; r++) {
        int len = (int)strlen(ks_columns_cell(g, r, column));
        if (len > lane->left + lane->right)
            lane->left = len - lane->right;
    }
}

static int total_width(const struct ks_columns *g, const struct lane *lanes)
{
    int width = 0;
    for (int c = 0; c < g->columns; c++) {
        if (!lanes[c].dropped)
            width += lanes[c].left + lanes[c].right + (c > 0 ? GAP : 0);
    }
    return width;
}

static int print_row(const struct ks_columns *g, int row, const struct lane *lanes,
                     struct ks_buf *out, struct ks_error *err)
{
    int owed = 0; /* blanks, written only before what follows, so that no line ends in them */
    for (int c = 0; c < g->columns; c++) {
        if (lanes[c].dropped)
            continue;
        const char *text = ks_columns_cell(g, row, c);
        int len = (int)strlen(text), room = lanes[c].left + lanes[c].right;
        int before = c == 0                          ? 0
                     : row == 0 || !has_digits(text) ? room - len
                                                     : lanes[c].left - before_point(text);
        owed += before + (c > 0 ? GAP : 0);
        if (len > 0) {
            if (ks_buf_printf(out, err, "%*s%s", owed, "", text))
                return -1;
            owed = 0;
        }
        owed += room - before - len;
    }
    return ks_buf_put(out, "\n", 1, err);
}

static int print_rule(int width, struct ks_buf *out, struct ks_error *err)
{
    for (int i = 0; i < width; i++) {
        if (ks_buf_put(out, "-", 1, err))
            return -1;
    }
    return ks_buf_put(out, "\n", 1, err);
}

int ks_columns_print(const struct ks_columns *g, int width, const int *drops, int n_drops,
                     struct ks_buf *out, struct ks_error *err)
{
    struct lane *lanes = calloc((size_t)g->columns, sizeof *lanes);
    if (!lanes)
        return ks_fail_memory(err, (size_t)g->columns * sizeof *lanes, "a table's columns");
    for (int c = 0; c < g->columns; c++)
        measure(g, c, &lanes[c]);
    for (int d = 0; d < n_drops && total_width(g, lanes) > width; d++)
        lanes[drops[d]].dropped = true;
    int rc = 0;
    for (int r = 0; r < g->rows && rc == 0; r++) {
        rc = print_row(g, r, lanes, out, err);
        if (r == 0 && rc == 0)
            rc = print_rule(total_width(g, lanes), out, err);
    }
    free(lanes);
    return rc;
}

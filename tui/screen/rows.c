#include "tui/screen/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ks_row ks_row_of_arm(const struct ks_snapshot *shown, size_t i)
{
    return (struct ks_row){
        .run = shown->facts,
        .facts = &shown->facts->arms[i],
        .arm = &shown->arms[i],
        .numbers = &shown->arms[i].numbers,
    };
}

struct ks_row ks_row_of_reference(const struct ks_snapshot *shown)
{
    return (struct ks_row){.run = shown->facts, .numbers = &shown->reference};
}

/* Where a document is in its file, for the person who goes and looks. */
static void place_of(const struct ks_facts *run, uint32_t document, char out[256])
{
    out[0] = '\0';
    if (!run->document || document >= run->documents || !run->document[document].file)
        return;
    const struct ks_document_facts *d = &run->document[document];
    if (d->line > 0)
        snprintf(out, 256, " (%s:%u)", d->file, d->line);
    else
        snprintf(out, 256, " (%s)", d->file);
}

static void nonfinite_reason(const struct ks_row *row, char out[KS_REASON_SIZE])
{
    const struct ks_numbers *n = row->numbers;
    char place[256], count[KS_FORMAT_SIZE];
    place_of(row->run, n->first_nonfinite_document, place);
    ks_format_count(count, n->nonfinite);
    snprintf(out, KS_REASON_SIZE, "non-finite at doc %u%s pos %u, %s position%s in all",
             n->first_nonfinite_document, place, n->first_nonfinite_offset, count,
             n->nonfinite == 1 ? "" : "s");
}

void ks_row_reason(const struct ks_row *row, char out[KS_REASON_SIZE])
{
    const struct ks_numbers *n = row->numbers;
    out[0] = '\0';
    if (!row->arm)
        return;
    if (row->arm->state == KS_ARM_DROPPED)
        snprintf(out, KS_REASON_SIZE, "dropped: %s", row->arm->why);
    else if (row->arm->state == KS_ARM_FAILED)
        snprintf(out, KS_REASON_SIZE, "failed: %s", row->arm->why);
    else if (n->nonfinite > 0)
        nonfinite_reason(row, out);
}

/* Whether needle is in text, ASCII letters without regard to case. */
static bool contains(const char *text, const char *needle)
{
    size_t len = strlen(needle);
    for (; text && *text; text++) {
        if (strncasecmp(text, needle, len) == 0)
            return true;
    }
    return len == 0;
}

static bool passes(const struct ks_screen *s, const struct ks_arm_facts *arm)
{
    return s->filter[0] == '\0' || contains(arm->name, s->filter) ||
           contains(arm->recipe, s->filter);
}

/* Below 0 where a comes first by the sort column alone. */
static int by_column(const struct ks_screen *s, const struct ks_row *a, const struct ks_row *b)
{
    const struct ks_column *column = ks_column_at(s->sort);
    int order = 0;
    if (!column)
        return 0;
    if (column->kind == KS_COLUMN_NAME) {
        order = strcasecmp(a->facts->name, b->facts->name);
    } else {
        double va = column->value(a), vb = column->value(b);
        if (isnan(va) || isnan(vb))
            return isnan(va) - isnan(vb);
        order = (va > vb) - (va < vb);
    }
    return s->descending ? -order : order;
}

static int compare(const void *left, const void *right, void *ctx)
{
    const struct ks_screen *s = ctx;
    size_t i = *(const size_t *)left, j = *(const size_t *)right;
    struct ks_row a = ks_row_of_arm(ks_screen_shown(s), i),
                  b = ks_row_of_arm(ks_screen_shown(s), j);
    int order = by_column(s, &a, &b);
    return order ? order : (i > j) - (i < j);
}

size_t ks_rows_selected(const struct ks_screen *s)
{
    size_t at = 0;
    while (at < s->n_rows && s->rows[at] != s->selected)
        at++;
    return at;
}

void ks_rows_order(struct ks_screen *s)
{
    const struct ks_facts *facts = ks_screen_shown(s)->facts;
    size_t before = ks_rows_selected(s);
    s->n_rows = 0;
    for (size_t i = 0; facts && i < facts->n_arms && s->n_rows < s->rows_cap; i++) {
        if (passes(s, &facts->arms[i]))
            s->rows[s->n_rows++] = i;
    }
    if (s->n_rows == 0)
        return;
    qsort_r(s->rows, s->n_rows, sizeof *s->rows, compare, s);
    if (ks_rows_selected(s) == s->n_rows)
        s->selected = s->rows[before < s->n_rows ? before : s->n_rows - 1];
}

int ks_rows_make(struct ks_screen *s, struct ks_error *err)
{
    const struct ks_facts *facts = s->now->facts;
    if (facts && facts->n_arms > s->rows_cap) {
        size_t *rows = reallocarray(s->rows, facts->n_arms, sizeof *rows);
        if (!rows)
            return ks_fail_memory(err, facts->n_arms * sizeof *rows, "the rows of the arms pane");
        s->rows = rows;
        s->rows_cap = facts->n_arms;
    }
    ks_rows_order(s);
    return 0;
}

void ks_rows_move(struct ks_screen *s, enum ks_stride stride, int direction, int page)
{
    if (s->n_rows == 0)
        return;
    int n = (int)s->n_rows, at = (int)ks_rows_selected(s);
    int step = stride == KS_BY_LINE ? 1 : stride == KS_TO_END ? n : page > 1 ? page : 1;
    at += direction * step;
    at = at < 0 ? 0 : at >= n ? n - 1 : at;
    s->selected = s->rows[at];
}

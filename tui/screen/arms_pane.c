/*
 * The table of arms: a head, the reference, and an arm a row. Where an arm has no measurement its
 * reason stands in place of the numbers.
 */
#include <math.h>
#include <stdio.h>

#include "tui/draw/strip.h"
#include "tui/screen/columns.h"
#include "tui/screen/rows.h"

#define REASON_LEAST 24 /* columns in which a reason beside the numbers still tells something */

/* How a pane's inside is divided. */
struct table {
    struct ks_rect inside;
    int head_rows, reference_rows; /* 0 or 1 */
    int y, rows;                   /* of the arms */
    struct ks_columns_fit fit;
};

static int longest_name(const struct ks_facts *facts, bool ascii)
{
    int longest = 0;
    for (size_t i = 0; i < facts->n_arms; i++) {
        int columns = ks_text_columns(facts->arms[i].name, ascii);
        longest = columns > longest ? columns : longest;
    }
    return longest;
}

static struct table table_of(const struct ks_screen *s, struct ks_rect r)
{
    struct table t = {.inside = ks_screen_inside(r)};
    const struct ks_facts *facts = ks_screen_shown(s)->facts;
    t.head_rows = t.inside.h >= 2;
    t.reference_rows = t.inside.h >= 4;
    t.y = t.inside.y + t.head_rows + t.reference_rows;
    t.rows = t.inside.h - t.head_rows - t.reference_rows;
    t.fit = ks_columns_fit(t.inside.w, longest_name(facts, s->glyphs->ascii));
    return t;
}

/* ------------------------------------------------------------------ a row */

static void draw_head(const struct ks_screen *s, struct ks_grid *g, const struct table *t)
{
    const struct ks_facts *run = ks_screen_shown(s)->facts;
    const char *arrow = s->glyphs->one[s->descending ? KS_GLYPH_DESCENDING : KS_GLYPH_ASCENDING];
    for (size_t i = 0; i < t->fit.n; i++) {
        const struct ks_column *column = ks_column_at(t->fit.column[i]);
        int x = t->inside.x + t->fit.x[i], width = t->fit.columns[i];
        bool sorted = s->sort == t->fit.column[i], named = column->kind == KS_COLUMN_NAME;
        int role = sorted ? KS_ROLE_COLUMN_SORTED : KS_ROLE_COLUMN_HEAD;
        char label[KS_FORMAT_SIZE];
        if (column->head)
            column->head(s->glyphs, run, label);
        else
            snprintf(label, sizeof label, "%s", column->label);
        if (column->narrow && ks_text_columns(label, g->ascii) > width - column->left)
            snprintf(label, sizeof label, "%s", column->narrow);
        int text = ks_text_columns(label, g->ascii);
        int at = column->left ? x + 1 : named ? x : x + width - text;
        ks_grid_fit(g, at, t->inside.y, x + width - at, role, label);
        if (sorted)
            ks_grid_text(g, named ? at + text : at - 1, t->inside.y, 1, role, arrow);
    }
}

static int spark_level(const struct ks_screen *s, float p99)
{
    double span = s->trend.high - s->trend.low;
    int levels = s->glyphs->sparks;
    if (p99 <= 0)
        return 0;
    if (!isfinite(p99) || span <= 0)
        return isfinite(p99) ? levels / 2 : levels - 1;
    int level = (int)floor((log10((double)p99) - s->trend.low) / span * levels);
    return level < 0 ? 0 : level >= levels ? levels - 1 : level;
}

/* The newest windows, the last one at the right end once there are enough. */
static void draw_trend(const struct ks_screen *s, struct ks_grid *g, int x, int y, int width,
                       const struct ks_numbers *numbers)
{
    size_t room = width > 1 ? (size_t)width - 1 : 0;
    size_t from = numbers->n_trend > room ? numbers->n_trend - room : 0;
    for (size_t i = from; i < numbers->n_trend; i++) {
        float p99 = numbers->trend[i];
        if (!isnan(p99))
            ks_grid_text(g, x + 1 + (int)(i - from), y, 1, KS_ROLE_TREND,
                         s->glyphs->spark[spark_level(s, p99)]);
    }
}

static const char *mark_of(const struct ks_screen *s, const struct ks_row *row)
{
    if (row->arm->state == KS_ARM_DROPPED)
        return s->glyphs->one[KS_GLYPH_DROPPED];
    if (row->arm->state == KS_ARM_FAILED || row->numbers->nonfinite > 0)
        return s->glyphs->one[KS_GLYPH_FAILED];
    if (row->arm->state == KS_ARM_WAITING)
        return s->glyphs->one[KS_GLYPH_WAITING];
    return " ";
}

static int role_of(const struct ks_row *row)
{
    if (!row->facts)
        return KS_ROLE_REFERENCE;
    if (row->arm->state == KS_ARM_DROPPED || row->arm->state == KS_ARM_WAITING)
        return KS_ROLE_DIM;
    if (row->arm->state == KS_ARM_FAILED || (row->numbers->nonfinite && !ks_row_measured(row)))
        return KS_ROLE_BROKEN;
    return KS_ROLE_TEXT;
}

/* A value that is not there stands back. */
static void draw_value(struct ks_grid *g, int x, int y, int width, int role, const char *text)
{
    const char *p = text;
    while (*p == ' ')
        p++;
    ks_grid_text(g, x, y, width, *p == '-' && (p[1] == ' ' || !p[1]) ? KS_ROLE_DIM : role, text);
}

static void draw_values(const struct ks_screen *s, struct ks_grid *g, const struct table *t, int y,
                        const struct ks_row *row)
{
    char reason[KS_REASON_SIZE];
    ks_row_reason(row, reason);
    bool instead = reason[0] && !ks_row_measured(row);
    bool beside = reason[0] && row->arm->state != KS_ARM_RUNNING;
    for (size_t i = 0; i < t->fit.n; i++) {
        const struct ks_column *column = ks_column_at(t->fit.column[i]);
        int x = t->inside.x + t->fit.x[i], width = t->fit.columns[i];
        int rest = t->inside.x + t->inside.w - x;
        char text[KS_FORMAT_SIZE];
        if (column->kind == KS_COLUMN_NAME) {
            ks_grid_fit(g, x, y, width, role_of(row), row->facts ? row->facts->name : "ref");
        } else if (instead) {
            ks_grid_fit(g, x, y, rest, role_of(row), reason);
            return;
        } else if (column->kind == KS_COLUMN_TREND && beside && rest >= REASON_LEAST) {
            ks_grid_fit(g, x + 1, y, rest - 1, role_of(row), reason);
        } else if (column->kind == KS_COLUMN_TREND) {
            draw_trend(s, g, x, y, width, row->numbers);
        } else {
            column->text(row, text);
            draw_value(g, x, y, width, role_of(row), text);
        }
    }
}

static void draw_arm(const struct ks_screen *s, struct ks_grid *g, const struct table *t, int y,
                     size_t arm)
{
    struct ks_row row = ks_row_of_arm(ks_screen_shown(s), arm);
    int x = t->inside.x;
    if (arm == s->selected) {
        ks_grid_text(g, x, y, 1, KS_ROLE_TITLE_FOCUS, s->glyphs->one[KS_GLYPH_SELECTED]);
        ks_grid_select(g, (struct ks_rect){x, y, t->inside.w, 1});
    }
    if (t->inside.w > 1)
        ks_grid_text(g, x + 1, y, 1, role_of(&row), mark_of(s, &row));
    draw_values(s, g, t, y, &row);
}

/* ------------------------------------------------------------------ the pane */

/* The first row shown moves no more than it must to show the selected one. */
static void scroll_to_selected(struct ks_screen *s, int rows)
{
    int at = (int)ks_rows_selected(s), n = (int)s->n_rows;
    if (at == n)
        at = 0;
    if (s->arms_top > at)
        s->arms_top = at;
    if (s->arms_top < at - rows + 1)
        s->arms_top = at - rows + 1;
    if (s->arms_top > n - rows)
        s->arms_top = n - rows;
    if (s->arms_top < 0)
        s->arms_top = 0;
}

static void more_text(const struct ks_screen *s, int rows, char out[48])
{
    int above = s->arms_top, below = (int)s->n_rows - s->arms_top - rows;
    out[0] = '\0';
    if (above > 0 || below > 0)
        snprintf(out, 48, "%s%d %s%d more", s->glyphs->one[KS_GLYPH_ABOVE], above,
                 s->glyphs->one[KS_GLYPH_BELOW], below > 0 ? below : 0);
}

static void draw_table(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    struct table t = table_of(s, r);
    char count[48], more[48];
    scroll_to_selected(s, t.rows);
    snprintf(count, sizeof count, "%zu/%zu", s->n_rows, shown->facts->n_arms);
    more_text(s, t.rows, more);
    ks_screen_frame(s, g, r, KS_PANE_ARMS, count, more);
    if (t.head_rows)
        draw_head(s, g, &t);
    if (t.reference_rows) {
        struct ks_row reference = ks_row_of_reference(shown);
        draw_values(s, g, &t, t.inside.y + t.head_rows, &reference);
    }
    for (int i = 0; i < t.rows && (size_t)(s->arms_top + i) < s->n_rows; i++)
        draw_arm(s, g, &t, t.y + i, s->rows[s->arms_top + i]);
    if (s->n_rows == 0 && t.rows > 0) {
        char none[KS_FILTER_SIZE + 48];
        snprintf(none, sizeof none, "no arm's name or recipe holds \"%s\"", s->filter);
        ks_grid_fit(g, t.inside.x + 1, t.y, t.inside.w - 1, KS_ROLE_DIM, none);
    }
}

/* "31 of 43" in what is being done makes a bar. */
static double fraction_in(const char *doing)
{
    for (const char *p = doing; *p; p++) {
        unsigned long done, all;
        int end = 0;
        bool starts = (p == doing || p[-1] == ' ');
        if (starts && sscanf(p, "%lu of %lu%n", &done, &all, &end) == 2 && all > 0 && done <= all)
            return (double)done / (double)all;
    }
    return NAN;
}

/* No table yet: what goes on instead. */
static void draw_preparing(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    bool preparing = shown->state == KS_RUN_PREPARING;
    struct ks_rect in = ks_screen_frame(s, g, r, KS_PANE_ARMS, "", "");
    const char *text =
        preparing ? shown->doing : "The run ended before there was an arm to measure.";
    int margin = in.w > 20 ? 2 : 0, y = in.y + (in.h >= 4);
    int width = in.w - 2 * margin;
    if (preparing && in.h >= 3)
        ks_grid_fit(g, in.x + margin, y++, width, KS_ROLE_PREPARING, "Preparing the run");
    y += ks_grid_wrap(g, (struct ks_rect){in.x + margin, y, width, in.y + in.h - y}, KS_ROLE_TEXT,
                      *text ? text : "starting");
    double fraction = fraction_in(shown->doing);
    if (preparing && isfinite(fraction) && y < in.y + in.h)
        ks_strip_bar(g, s->glyphs, in.x + margin, y, width < 60 ? width : 60, fraction);
}

static void draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    if (ks_screen_shown(s)->facts)
        draw_table(s, g, r);
    else
        draw_preparing(s, g, r);
}

static void move(struct ks_screen *s, struct ks_rect r, enum ks_stride stride, int direction)
{
    if (ks_screen_shown(s)->facts)
        ks_rows_move(s, stride, direction, table_of(s, r).rows);
}

static void click_head(struct ks_screen *s, const struct table *t, int x)
{
    for (size_t i = 0; i < t->fit.n; i++) {
        size_t index = t->fit.column[i];
        const struct ks_column *column = ks_column_at(index);
        bool sorts = column->value || column->kind == KS_COLUMN_NAME;
        int from = t->inside.x + t->fit.x[i];
        if (sorts && x >= from && x < from + t->fit.columns[i])
            ks_screen_sort(s, index, s->sort == index && !s->descending);
    }
}

static void click(struct ks_screen *s, struct ks_rect r, int x, int y)
{
    if (!ks_screen_shown(s)->facts)
        return;
    struct table t = table_of(s, r);
    int row = y - t.y;
    if (t.head_rows && y == t.inside.y)
        click_head(s, &t, x);
    else if (row >= 0 && row < t.rows && (size_t)(s->arms_top + row) < s->n_rows)
        s->selected = s->rows[s->arms_top + row];
}

const struct ks_pane ks_arms_pane = {
    .name = "arms",
    .draw = draw,
    .move = move,
    .click = click,
};

/*
 * The selected arm's KLD by position: bars over a log10 axis that all arms share, and the numbers
 * beside it.
 */
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "tui/screen/axis.h"
#include "tui/screen/format.h"
#include "tui/screen/rows.h"
#include "tui/screen/stats.h"

#define STATS_COLUMNS  21
#define CHART_MIN      24
#define GUTTER_COLUMNS 5 /* "1.5k" and the side of the axis */
#define AXIS_ROWS      2

/* ------------------------------------------------------------------ the chart */

struct chart {
    struct ks_axis axis;
    struct ks_rect bars; /* without the axis and its labels */
    uint64_t top;        /* the count that fills the height */
    const struct ks_numbers *numbers;
};

static struct chart chart_of(const struct ks_screen *s, struct ks_rect r,
                             const struct ks_numbers *numbers)
{
    struct chart c = {
        .bars = {r.x + GUTTER_COLUMNS, r.y, r.w - GUTTER_COLUMNS, r.h - AXIS_ROWS},
        .numbers = numbers,
    };
    bool known = s->decades.high > s->decades.low;
    c.axis = ks_axis_make(known ? (int)s->decades.low : -6, known ? (int)s->decades.high : 0,
                          c.bars.w > 1 ? c.bars.w : 1);
    uint64_t most = 1;
    for (int x = 0; x < c.axis.columns; x++) {
        uint64_t count = ks_axis_count(&c.axis, numbers->hist, x);
        most = count > most ? count : most;
    }
    c.top = ks_axis_nice(most);
    return c;
}

/* A bar in steps of a cell's parts; what is not nothing is at least the smallest step. */
static void draw_bar(const struct ks_screen *s, struct ks_grid *g, const struct chart *c, int x,
                     int role)
{
    uint64_t count = ks_axis_count(&c->axis, c->numbers->hist, x);
    int steps = s->glyphs->bars - 1;
    double share = (double)count / (double)c->top;
    int height = (int)(share * c->bars.h * steps + 0.5);
    if (count > 0 && height == 0)
        height = 1;
    for (int row = 0; row < c->bars.h; row++) {
        int left = height - row * steps;
        if (left <= 0)
            break;
        ks_grid_text(g, c->bars.x + x, c->bars.y + c->bars.h - 1 - row, 1, role,
                     s->glyphs->bar[left > steps ? steps : left]);
    }
}

static void draw_bars(const struct ks_screen *s, struct ks_grid *g, const struct chart *c)
{
    int tail = ks_axis_column(&c->axis, c->numbers->kld_p99);
    for (int x = 0; x < c->axis.columns; x++) {
        bool in_tail = tail >= 0 && x > tail + c->axis.columns_per_bin - 1;
        draw_bar(s, g, c, x, in_tail ? KS_ROLE_BAR_TAIL : KS_ROLE_BAR);
    }
}

static void draw_count_axis(const struct ks_screen *s, struct ks_grid *g, const struct chart *c)
{
    const char *const *one = s->glyphs->one;
    int side = c->bars.x - 1, bottom = c->bars.y + c->bars.h;
    char label[KS_FORMAT_SIZE];
    ks_grid_repeat_down(g, side, c->bars.y, c->bars.h, KS_ROLE_AXIS, one[KS_GLYPH_AXIS_SIDE]);
    ks_grid_text(g, side, bottom, 1, KS_ROLE_AXIS, one[KS_GLYPH_AXIS_CORNER]);
    ks_grid_right(g, side - 4, bottom, 4, KS_ROLE_LABEL, "0");
    for (int quarter = 1; quarter <= 4; quarter++) {
        bool whole = c->bars.h * quarter % 4 == 0 && c->top * (uint64_t)quarter % 4 == 0;
        bool room = quarter == 4 || c->bars.h >= (quarter == 2 ? 6 : 16);
        if (!whole || !room)
            continue;
        int y = c->bars.y + c->bars.h - c->bars.h * quarter / 4;
        ks_format_count_short(label, c->top * (uint64_t)quarter / 4);
        ks_grid_text(g, side, y, 1, KS_ROLE_AXIS, one[KS_GLYPH_AXIS_SIDE_TICK]);
        ks_grid_right(g, side - 4, y, 4, KS_ROLE_LABEL, label);
    }
}

static void draw_nats_axis(const struct ks_screen *s, struct ks_grid *g, const struct chart *c)
{
    const char *const *one = s->glyphs->one;
    int y = c->bars.y + c->bars.h, x = c->bars.x, step = ks_axis_label_step(&c->axis);
    ks_grid_repeat(g, x, y, c->axis.columns, KS_ROLE_AXIS, one[KS_GLYPH_AXIS]);
    for (int power = c->axis.low; power <= c->axis.high; power++) {
        int at = x + ks_axis_decade(&c->axis, power);
        char label[KS_FORMAT_SIZE];
        if (power > c->axis.low && power < c->axis.high)
            ks_grid_text(g, at, y, 1, KS_ROLE_AXIS, one[KS_GLYPH_AXIS_TICK]);
        if (power % step != 0)
            continue;
        snprintf(label, sizeof label, "%d", power);
        int columns = ks_text_columns(label, g->ascii), from = at - columns + 1;
        if (from + columns <= x + c->bars.w)
            ks_grid_text(g, from, y + 1, columns, KS_ROLE_LABEL, label);
    }
}

static void draw_quantiles(const struct ks_screen *s, struct ks_grid *g, const struct chart *c)
{
    const struct ks_numbers *n = c->numbers;
    const double quantiles[] = {n->kld_median, n->kld_p90, n->kld_p99, n->kld_p999};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        int x = ks_axis_column(&c->axis, quantiles[i]);
        if (x >= 0 && x < c->axis.columns)
            ks_grid_text(g, c->bars.x + x, c->bars.y + c->bars.h, 1, KS_ROLE_QUANTILE,
                         s->glyphs->one[KS_GLYPH_QUANTILE]);
    }
}

static void draw_chart(const struct ks_screen *s, struct ks_grid *g, const struct chart *c)
{
    if (c->bars.h <= 0 || c->bars.w <= 0)
        return;
    draw_bars(s, g, c);
    draw_count_axis(s, g, c);
    draw_nats_axis(s, g, c);
    draw_quantiles(s, g, c);
}

/* ------------------------------------------------------------------ the pane */

static void draw_measured(const struct ks_screen *s, struct ks_grid *g, struct ks_rect in,
                          const struct ks_row *row)
{
    char reason[KS_REASON_SIZE];
    ks_row_reason(row, reason);
    if (reason[0] && in.h > 6) {
        int rows =
            ks_grid_wrap(g, (struct ks_rect){in.x + 1, in.y, in.w - 2, 2}, KS_ROLE_BROKEN, reason);
        in.y += rows;
        in.h -= rows;
    }
    bool beside = in.w >= CHART_MIN + STATS_COLUMNS;
    bool above = !beside && in.h > 4;
    struct ks_rect room = {in.x, in.y + above, in.w - (beside ? STATS_COLUMNS + 1 : 0),
                           in.h - above};
    struct chart c = chart_of(s, room, row->numbers);
    draw_chart(s, g, &c);
    if (beside)
        ks_stats_draw(s, g,
                      (struct ks_rect){in.x + in.w - STATS_COLUMNS, in.y, STATS_COLUMNS, in.h},
                      row->numbers, &c.axis);
    else if (above)
        ks_stats_draw_line(g, in, row->numbers);
}

static void draw_nothing(struct ks_grid *g, struct ks_rect in, const struct ks_row *row)
{
    char reason[KS_REASON_SIZE] = "";
    if (row)
        ks_row_reason(row, reason);
    const char *text = reason[0] ? reason
                       : row     ? "no position of this arm is measured yet"
                                 : "no arm is selected";
    int margin = in.w > 20 ? 2 : 0, top = in.h > 3;
    ks_grid_wrap(g, (struct ks_rect){in.x + margin, in.y + top, in.w - 2 * margin, in.h - top},
                 reason[0] ? KS_ROLE_BROKEN : KS_ROLE_DIM, text);
}

static void draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    if (!shown->facts || s->n_rows == 0) {
        draw_nothing(g, ks_screen_frame(s, g, r, KS_PANE_HISTOGRAM, "", ""), NULL);
        return;
    }
    struct ks_row row = ks_row_of_arm(shown, s->selected);
    char more[96];
    bool same = strcasecmp(row.facts->name, row.facts->recipe) == 0;
    snprintf(more, sizeof more, "%s%s%s", row.facts->name, same ? "" : "  ",
             same ? "" : row.facts->recipe);
    struct ks_rect in =
        ks_screen_frame(s, g, r, KS_PANE_HISTOGRAM, more, "x: log10 nats, y: positions");
    if (ks_row_measured(&row))
        draw_measured(s, g, in, &row);
    else
        draw_nothing(g, in, &row);
}

static void move(struct ks_screen *s, struct ks_rect r, enum ks_stride stride, int direction)
{
    (void)r;
    ks_rows_move(s, stride, direction, 5);
}

const struct ks_pane ks_histogram_pane = {
    .name = "KLD histogram",
    .draw = draw,
    .move = move,
};

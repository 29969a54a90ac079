/*
 * The log: newest at the bottom, long lines wrapped. Scrolling back holds the snapshot that was
 * shown, so that the lines stay where they are until the end is asked for again.
 */
#include <stdio.h>
#include <string.h>

#include "tui/screen/format.h"
#include "tui/screen/screen.h"

#define CLOCK_COLUMNS 9 /* "12:04:11 " */
#define LEVEL_COLUMNS 2 /* "W " */
#define CLOCK_MIN     30

static const struct ks_snapshot *source_of(const struct ks_screen *s)
{
    return s->log_held ? s->log_held : ks_screen_shown(s);
}

static int indent(struct ks_rect in)
{
    return in.w >= CLOCK_MIN ? CLOCK_COLUMNS + LEVEL_COLUMNS : in.w > 8 ? LEVEL_COLUMNS : 0;
}

static int lines_of(const struct ks_log_line *line, struct ks_rect in, bool ascii)
{
    return ks_text_lines(line->text, in.w - indent(in), ascii);
}

static int all_lines(const struct ks_snapshot *from, struct ks_rect in, bool ascii)
{
    int lines = 0;
    for (size_t i = 0; i < from->n_log; i++)
        lines += lines_of(&from->log[i], in, ascii);
    return lines;
}

static int role_of(enum ks_log_level level)
{
    return level == KS_LOG_ERROR     ? KS_ROLE_LOG_ERROR
           : level == KS_LOG_WARNING ? KS_ROLE_LOG_WARNING
                                     : KS_ROLE_LOG_INFO;
}

/* Draws a line whose first row is at y; rows outside of `in` are left out. */
static void draw_line(struct ks_grid *g, struct ks_rect in, int y, const struct ks_log_line *line)
{
    static const char *const letters[] = {"I", "W", "E"};
    int x = in.x + indent(in), width = in.w - indent(in);
    int role = role_of(line->level);
    const char *text = line->text;
    for (bool first = true; first || *text; first = false, y++) {
        size_t skip, n = ks_text_wrap(text, width, g->ascii, &skip);
        bool visible = y >= in.y && y < in.y + in.h;
        if (visible && first && indent(in) > LEVEL_COLUMNS) {
            char clock[KS_FORMAT_SIZE];
            ks_format_clock(clock, line->unix_ns);
            ks_grid_text(g, in.x, y, CLOCK_COLUMNS, KS_ROLE_DIM, clock);
        }
        if (visible && first && indent(in) > 0)
            ks_grid_text(g, x - LEVEL_COLUMNS, y, 1, role, letters[line->level]);
        if (visible)
            ks_grid_part(g, x, y, width, role == KS_ROLE_LOG_INFO ? KS_ROLE_TEXT : role, text, n);
        text += n + skip;
    }
}

static void note_of(const struct ks_screen *s, char out[64])
{
    out[0] = '\0';
    if (s->log_held)
        snprintf(out, 64, "held, G:follow");
}

static void draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    char note[64];
    note_of(s, note);
    struct ks_rect in = ks_screen_frame(s, g, r, KS_PANE_LOG, "", note);
    const struct ks_snapshot *from = source_of(s);
    int all = all_lines(from, in, g->ascii);
    int y = all <= in.h ? in.y : in.y + in.h - all + s->log_up;
    if (y > in.y && all > in.h)
        y = in.y;
    for (size_t i = 0; i < from->n_log; i++) {
        draw_line(g, in, y, &from->log[i]);
        y += lines_of(&from->log[i], in, g->ascii);
    }
}

static void move(struct ks_screen *s, struct ks_rect r, enum ks_stride stride, int direction)
{
    struct ks_rect in = ks_screen_inside(r);
    int most = all_lines(source_of(s), in, s->glyphs->ascii) - in.h;
    int step = stride == KS_BY_LINE ? 1 : stride == KS_BY_PAGE ? in.h : most;
    int up = s->log_up - direction * step;
    if (up > most)
        up = most;
    if (up <= 0) {
        ks_screen_hold_log(s, false);
        return;
    }
    if (!s->log_held)
        ks_screen_hold_log(s, true);
    s->log_up = up;
}

const struct ks_pane ks_log_pane = {
    .name = "log",
    .draw = draw,
    .move = move,
};

/*
 * The help: the table of actions, the columns of the arms pane and the marks, as one list to scroll
 * through.
 */
#include <stdio.h>

#include "tui/screen/actions.h"
#include "tui/screen/columns.h"
#include "tui/screen/screen.h"

#define NAME_COLUMNS 16
#define MARGIN       2

/* What stands in front of an arm or a run. */
static const struct {
    enum ks_glyph_id glyph;
    const char *text;
} marks[] = {
    {KS_GLYPH_SELECTED, "the selected arm"},
    {KS_GLYPH_FAILED, "failed, or has positions whose logits are not finite"},
    {KS_GLYPH_DROPPED, "dropped by a hook or a person; what was measured stays"},
    {KS_GLYPH_WAITING, "not built yet"},
    {KS_GLYPH_QUANTILE, "on the histogram's axis: p50, p90, p99, p99.9"},
};

/* Draws one entry when its turn is on the page; `line` counts all entries. */
struct page {
    struct ks_grid *g;
    struct ks_rect in;
    int top, line;
};

static void put_entry(struct page *p, int name_role, const char *name, const char *text)
{
    int y = p->in.y + p->line - p->top;
    int width = p->in.w - MARGIN;
    p->line++;
    if (!p->g || y < p->in.y || y >= p->in.y + p->in.h)
        return;
    int used = ks_grid_fit(p->g, p->in.x + MARGIN, y, width, name_role, name);
    if (!*text)
        return;
    int at = used < NAME_COLUMNS ? NAME_COLUMNS : used + 1;
    ks_grid_fit(p->g, p->in.x + MARGIN + at, y, width - at, KS_ROLE_TEXT, text);
}

static void put_heading(struct page *p, const char *text)
{
    if (p->line > 0)
        p->line++;
    put_entry(p, KS_ROLE_TITLE_FOCUS, text, "");
}

static void put_all(const struct ks_screen *s, struct page *p)
{
    put_heading(p, "Keys");
    for (size_t i = 0; ks_action_at(i); i++)
        put_entry(p, KS_ROLE_KEY, ks_action_at(i)->shown, ks_action_at(i)->help);
    put_entry(p, KS_ROLE_KEY, "mouse", "click: focus, select, sort, press a hint; wheel: move");
    put_heading(p, "Columns");
    for (size_t i = 0; ks_column_at(i); i++)
        put_entry(p, KS_ROLE_COLUMN_HEAD, ks_column_at(i)->label, ks_column_at(i)->help);
    put_heading(p, "Marks");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        put_entry(p, KS_ROLE_KEY, s->glyphs->one[marks[i].glyph], marks[i].text);
}

static int all_lines(const struct ks_screen *s)
{
    struct page p = {0};
    put_all(s, &p);
    return p.line;
}

static struct ks_rect area(const struct ks_screen *s)
{
    struct ks_layout layout = ks_screen_layout(s);
    int y = layout.header.h, below = layout.hints.h;
    return (struct ks_rect){0, y, s->width, s->height - y - below};
}

void ks_help_draw(struct ks_screen *s, struct ks_grid *g)
{
    struct ks_rect all = area(s), in = ks_screen_inside(all);
    int lines = all_lines(s);
    if (s->help_top > lines - in.h)
        s->help_top = lines - in.h;
    if (s->help_top < 0)
        s->help_top = 0;
    char note[48] = "";
    if (lines > in.h)
        snprintf(note, sizeof note, "%d-%d of %d", s->help_top + 1, s->help_top + in.h, lines);
    ks_screen_box(s, g, all, true, " help ", note);
    struct page p = {.g = g, .in = in, .top = s->help_top};
    put_all(s, &p);
}

void ks_help_move(struct ks_screen *s, enum ks_stride stride, int direction)
{
    int page = ks_screen_inside(area(s)).h;
    int lines = all_lines(s);
    int step = stride == KS_BY_LINE ? 1 : stride == KS_BY_PAGE ? page : lines;
    int top = s->help_top + direction * step;
    top = top > lines - page ? lines - page : top;
    s->help_top = top < 0 ? 0 : top;
}

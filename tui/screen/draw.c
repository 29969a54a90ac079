#include "tui/screen/screen.h"

static bool is_there(struct ks_rect r)
{
    return r.w > 0 && r.h > 0;
}

/* The focus leaves a pane that lost its place, for one that has one. */
static void keep_focus_visible(struct ks_screen *s, const struct ks_layout *layout)
{
    for (enum ks_pane_id id = 0; !is_there(layout->panes[s->focus]) && id < KS_PANE_COUNT; id++) {
        if (is_there(layout->panes[id]))
            s->focus = id;
    }
}

static void draw_panes(struct ks_screen *s, struct ks_grid *g, const struct ks_layout *layout)
{
    for (enum ks_pane_id id = 0; id < KS_PANE_COUNT; id++) {
        if (is_there(layout->panes[id]))
            ks_screen_pane(id)->draw(s, g, layout->panes[id]);
    }
    if (is_there(layout->notice))
        ks_notice_draw(s, g, layout->notice);
}

static struct ks_rect cleared_row(struct ks_grid *g, int y)
{
    struct ks_rect row = {0, y, g->width, 1};
    ks_grid_repeat(g, 0, y, g->width, KS_ROLE_TEXT, " ");
    return row;
}

void ks_screen_draw(struct ks_screen *s, struct ks_grid *g)
{
    s->width = g->width;
    s->height = g->height;
    s->n_hits = 0;
    ks_grid_clear(g);
    struct ks_layout layout = ks_screen_layout(s);
    keep_focus_visible(s, &layout);
    if (s->help)
        ks_help_draw(s, g);
    else
        draw_panes(s, g, &layout);

    /* Where these have no row of their own, they lie over the panes while they matter. */
    if (is_there(layout.header))
        ks_header_draw(s, g, layout.header);
    else if (s->frozen)
        ks_header_draw(s, g, cleared_row(g, 0));
    if (is_there(layout.hints))
        ks_hints_draw(s, g, layout.hints);
    else if (s->leave_asked || s->filtering)
        ks_hints_draw(s, g, cleared_row(g, g->height - 1));
}

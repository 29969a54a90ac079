#include <stdio.h>

#include "tui/screen/screen.h"

static bool has_border(struct ks_rect r)
{
    return r.w >= KS_BORDER_MIN_WIDTH && r.h >= KS_BORDER_MIN_HEIGHT;
}

struct ks_rect ks_screen_inside(struct ks_rect r)
{
    return has_border(r) ? (struct ks_rect){r.x + 1, r.y + 1, r.w - 2, r.h - 2} : r;
}

static void draw_border(struct ks_grid *g, struct ks_rect r, const struct ks_glyphs *glyphs,
                        bool focus)
{
    const char *const *one = glyphs->one + (focus ? KS_GLYPH_FOCUS_TL : KS_GLYPH_CORNER_TL);
    const char *line = one[KS_GLYPH_LINE], *side = one[KS_GLYPH_SIDE];
    int role = focus ? KS_ROLE_BORDER_FOCUS : KS_ROLE_BORDER;
    int right = r.x + r.w - 1, bottom = r.y + r.h - 1;
    ks_grid_repeat(g, r.x + 1, r.y, r.w - 2, role, line);
    ks_grid_repeat(g, r.x + 1, bottom, r.w - 2, role, line);
    ks_grid_repeat_down(g, r.x, r.y + 1, r.h - 2, role, side);
    ks_grid_repeat_down(g, right, r.y + 1, r.h - 2, role, side);
    ks_grid_text(g, r.x, r.y, 1, role, one[KS_GLYPH_CORNER_TL]);
    ks_grid_text(g, right, r.y, 1, role, one[KS_GLYPH_CORNER_TR]);
    ks_grid_text(g, r.x, bottom, 1, role, one[KS_GLYPH_CORNER_BL]);
    ks_grid_text(g, right, bottom, 1, role, one[KS_GLYPH_CORNER_BR]);
}

void ks_screen_box(const struct ks_screen *s, struct ks_grid *g, struct ks_rect r, bool focus,
                   const char *title, const char *note)
{
    if (!has_border(r))
        return;
    draw_border(g, r, s->glyphs, focus);
    int used =
        ks_grid_fit(g, r.x + 2, r.y, r.w - 4, focus ? KS_ROLE_TITLE_FOCUS : KS_ROLE_TITLE, title);
    char padded[160];
    snprintf(padded, sizeof padded, " %s ", note);
    int wanted = ks_text_columns(padded, g->ascii);
    if (*note && wanted <= r.w - 4 - used - 2)
        ks_grid_text(g, r.x + r.w - 2 - wanted, r.y, wanted, KS_ROLE_DIM, padded);
}

struct ks_rect ks_screen_frame(const struct ks_screen *s, struct ks_grid *g, struct ks_rect r,
                               enum ks_pane_id id, const char *more, const char *note)
{
    char title[160];
    snprintf(title, sizeof title, " %d %s%s%s ", (int)id + 1, ks_screen_pane(id)->name,
             *more ? "  " : "", more);
    ks_screen_box(s, g, r, s->focus == id && !s->help, title, note);
    return ks_screen_inside(r);
}

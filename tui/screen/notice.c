#include "tui/screen/screen.h"

const char *ks_notice_text(const struct ks_screen *s, bool *bad)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    const struct ks_tui_source *source = s->source;
    const char *text = source->look ? source->notice(source->ctx, bad) : "";
    if (*text)
        return text;
    *bad = shown->state == KS_RUN_FAILED;
    if (*bad)
        return shown->failure;
    return shown->state == KS_RUN_PREPARING && shown->facts ? shown->doing : "";
}

void ks_notice_draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    bool bad;
    const char *text = ks_notice_text(s, &bad);
    const char *mark = s->glyphs->one[bad ? KS_GLYPH_RUN_FAILED : KS_GLYPH_PREPARING];
    int margin = r.w > 4 ? 3 : 0;
    if (margin > 0)
        ks_grid_text(g, r.x + 1, r.y, 1, bad ? KS_ROLE_FAILED : KS_ROLE_PREPARING, mark);
    struct ks_rect in = {r.x + margin, r.y, r.w - margin - (margin > 0), r.h};
    ks_grid_wrap(g, in, bad ? KS_ROLE_BROKEN : KS_ROLE_NOTICE, text);
}

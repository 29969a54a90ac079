#include "tui/screen/screen.h"

const char *ks_notice_text(const struct ks_snapshot *shown)
{
    if (shown->state == KS_RUN_FAILED)
        return shown->failure;
    if (shown->state == KS_RUN_PREPARING && shown->facts)
        return shown->doing;
    return "";
}

void ks_notice_draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    bool failed = shown->state == KS_RUN_FAILED;
    const char *mark = s->glyphs->one[failed ? KS_GLYPH_RUN_FAILED : KS_GLYPH_PREPARING];
    int margin = r.w > 4 ? 3 : 0;
    if (margin > 0)
        ks_grid_text(g, r.x + 1, r.y, 1, failed ? KS_ROLE_FAILED : KS_ROLE_PREPARING, mark);
    struct ks_rect text = {r.x + margin, r.y, r.w - margin - (margin > 0), r.h};
    ks_grid_wrap(g, text, failed ? KS_ROLE_BROKEN : KS_ROLE_NOTICE, ks_notice_text(shown));
}

#include "tui/screen/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tui/screen/rows.h"

#define LEAVE_NS 5000000000 /* how long a first q stands */

static const struct ks_pane *const panes[KS_PANE_COUNT] = {
    [KS_PANE_ARMS] = &ks_arms_pane,
    [KS_PANE_HISTOGRAM] = &ks_histogram_pane,
    [KS_PANE_LOG] = &ks_log_pane,
};

const struct ks_pane *ks_screen_pane(enum ks_pane_id id)
{
    return panes[id];
}

const struct ks_snapshot *ks_screen_shown(const struct ks_screen *s)
{
    return s->frozen ? s->frozen : s->now;
}

bool ks_screen_unfinished(const struct ks_screen *s)
{
    return s->now->state == KS_RUN_PREPARING || s->now->state == KS_RUN_RUNNING ||
           s->now->state == KS_RUN_PAUSED;
}

/* ------------------------------------------------------------------ snapshots */

/* Releases a snapshot that none of the three places holds any more. */
static void let_go(struct ks_screen *s, const struct ks_snapshot *old)
{
    if (old && old != s->now && old != s->frozen && old != s->log_held)
        s->source->release(s->source->ctx, old);
}

static void widen(struct ks_range *r, double low, double high)
{
    bool empty = r->high < r->low;
    if (empty || low < r->low)
        r->low = low;
    if (empty || high > r->high)
        r->high = high;
}

/* The decade under which at most one position in 100 lies, and the end of the last one in use. */
static void widen_decades(struct ks_range *r, const struct ks_numbers *n)
{
    uint64_t total = n->hist_below + n->hist_above, below = n->hist_below;
    int first = -1, last = -1;
    for (int b = 0; b < KS_HIST_BINS; b++)
        total += n->hist[b];
    for (int b = 0; b < KS_HIST_BINS; b++) {
        below += n->hist[b];
        if (first < 0 && below > total / 100)
            first = b;
        if (n->hist[b] > 0)
            last = b;
    }
    if (first < 0 || last < 0)
        return;
    widen(r, KS_HIST_MIN + first / 10, KS_HIST_MIN + last / 10 + 1);
}

static void widen_trend(struct ks_range *r, const struct ks_numbers *n, size_t from)
{
    for (size_t i = from; i < n->n_trend; i++) {
        if (isfinite(n->trend[i]) && n->trend[i] > 0)
            widen(r, log10((double)n->trend[i]), log10((double)n->trend[i]));
    }
}

static void widen_ranges(struct ks_screen *s)
{
    size_t seen = s->trend_seen;
    for (size_t i = 0; s->now->facts && i < s->now->facts->n_arms; i++) {
        const struct ks_numbers *n = &s->now->arms[i].numbers;
        widen_decades(&s->decades, n);
        widen_trend(&s->trend, n, seen);
        if (n->n_trend > s->trend_seen)
            s->trend_seen = n->n_trend;
    }
}

int ks_screen_refresh(struct ks_screen *s, struct ks_error *err)
{
    const struct ks_snapshot *fresh = s->source->snapshot(s->source->ctx), *old = s->now;
    if (fresh == s->now || fresh == s->frozen || fresh == s->log_held) {
        s->source->release(s->source->ctx, fresh);
        if (fresh == s->now)
            return 0;
    }
    s->now = fresh;
    let_go(s, old);
    widen_ranges(s);
    return ks_rows_make(s, err);
}

int ks_screen_init(struct ks_screen *s, const struct ks_tui_source *source, bool ascii,
                   struct ks_error *err)
{
    *s = (struct ks_screen){
        .source = source,
        .glyphs = ks_glyphs_get(ascii),
        .width = 80,
        .height = 24,
        .sort = ks_column_index("KLD mean"),
        .decades = {0, -1},
        .trend = {0, -1},
    };
    return ks_screen_refresh(s, err);
}

void ks_screen_finish(struct ks_screen *s)
{
    const struct ks_snapshot *now = s->now;
    ks_screen_freeze(s, false);
    ks_screen_hold_log(s, false);
    s->now = NULL;
    let_go(s, now);
    free(s->rows);
    s->rows = NULL;
    s->n_rows = s->rows_cap = 0;
}

void ks_screen_freeze(struct ks_screen *s, bool on)
{
    const struct ks_snapshot *old = s->frozen;
    s->frozen = on ? s->now : NULL;
    let_go(s, old);
    if (s->now)
        ks_rows_order(s);
}

void ks_screen_hold_log(struct ks_screen *s, bool on)
{
    const struct ks_snapshot *old = s->log_held;
    s->log_held = on ? ks_screen_shown(s) : NULL;
    s->log_up = 0;
    let_go(s, old);
}

/* ------------------------------------------------------------------ what actions do */

struct ks_layout ks_screen_layout(const struct ks_screen *s)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    bool bad;
    const char *notice = ks_notice_text(s, &bad);
    size_t n_arms = shown->facts ? shown->facts->n_arms : 0;
    bool ascii = s->glyphs->ascii;
    int room = s->width > 4 ? s->width - 4 : 1;
    return ks_layout_make((struct ks_layout_wish){
        .width = s->width,
        .height = s->height,
        .zoomed = s->zoomed,
        .zoom = s->focus,
        .preparing = !shown->facts || shown->state == KS_RUN_PREPARING,
        .arm_rows = shown->facts ? (int)(n_arms < 999 ? n_arms : 999) + 2 : 5,
        .notice_rows = *notice ? ks_text_lines(notice, room, ascii) : 0,
    });
}

static bool is_there(struct ks_rect r)
{
    return r.w > 0 && r.h > 0;
}

/* Panes that have no room cannot have the focus, but a zoomed one shows any. */
void ks_screen_focus(struct ks_screen *s, enum ks_pane_id id)
{
    struct ks_layout layout = ks_screen_layout(s);
    if (s->zoomed || is_there(layout.panes[id]))
        s->focus = id;
}

void ks_screen_move(struct ks_screen *s, enum ks_stride stride, int direction)
{
    if (s->help) {
        ks_help_move(s, stride, direction);
        return;
    }
    struct ks_layout layout = ks_screen_layout(s);
    panes[s->focus]->move(s, layout.panes[s->focus], stride, direction);
}

void ks_screen_sort(struct ks_screen *s, size_t column, bool descending)
{
    s->sort = column;
    s->descending = descending;
    ks_rows_order(s);
}

void ks_screen_filter_set(struct ks_screen *s, const char *text)
{
    size_t len = strlen(text);
    if (len >= sizeof s->filter)
        return;
    memmove(s->filter, text, len + 1);
    ks_rows_order(s);
}

void ks_screen_filter_open(struct ks_screen *s)
{
    memcpy(s->filter_before, s->filter, sizeof s->filter);
    s->filtering = true;
}

void ks_screen_leave(struct ks_screen *s)
{
    if (s->source->look || !ks_screen_unfinished(s) ||
        (s->leave_asked && s->now_ns < s->leave_until_ns)) {
        s->quit = true;
        return;
    }
    s->leave_asked = true;
    s->leave_until_ns = s->now_ns + LEAVE_NS;
}

int64_t ks_screen_tick(struct ks_screen *s, int64_t now_ns)
{
    s->now_ns = now_ns;
    if (s->leave_asked && now_ns >= s->leave_until_ns)
        s->leave_asked = false;
    return s->leave_asked ? s->leave_until_ns : -1;
}

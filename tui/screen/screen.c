#include "tui/screen/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "tui/screen/actions.h"
#include "tui/screen/rows.h"

#define LEAVE_NS  5000000000 /* how long a first q stands */
#define WHEEL_ROW 3

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

/* The decade under which at most one position in 500 lies, and the end of the last one in use. */
static void widen_decades(struct ks_range *r, const struct ks_numbers *n)
{
    uint64_t total = n->hist_below + n->hist_above, below = n->hist_below;
    int first = -1, last = -1;
    for (int b = 0; b < KS_HIST_BINS; b++)
        total += n->hist[b];
    for (int b = 0; b < KS_HIST_BINS; b++) {
        below += n->hist[b];
        if (first < 0 && below > total / 500)
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
    const char *notice = ks_notice_text(shown);
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
    if (!ks_screen_unfinished(s) || (s->leave_asked && s->now_ns < s->leave_until_ns)) {
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

/* ------------------------------------------------------------------ events */

static void filter_backspace(struct ks_screen *s)
{
    size_t len = strlen(s->filter);
    while (len > 0 && ((unsigned char)s->filter[len - 1] & 0xc0) == 0x80)
        len--;
    if (len > 0)
        len--;
    s->filter[len] = '\0';
    ks_rows_order(s);
}

static void filter_type(struct ks_screen *s, uint32_t key)
{
    utf8proc_uint8_t bytes[4];
    size_t len = strlen(s->filter);
    if (key < 0x20 || key == 0x7f || key > 0x10ffff || !utf8proc_codepoint_valid((int32_t)key))
        return;
    size_t n = (size_t)utf8proc_encode_char((utf8proc_int32_t)key, bytes);
    if (len + n >= sizeof s->filter)
        return;
    memcpy(s->filter + len, bytes, n);
    s->filter[len + n] = '\0';
    ks_rows_order(s);
}

static void filter_key(struct ks_screen *s, uint32_t key)
{
    switch (key) {
    case KS_KEY_ENTER:
        s->filtering = false;
        break;
    case KS_KEY_ESCAPE:
        s->filtering = false;
        ks_screen_filter_set(s, s->filter_before);
        break;
    case KS_KEY_BACKSPACE:
        filter_backspace(s);
        break;
    case KS_KEY_CTRL_U:
        ks_screen_filter_set(s, "");
        break;
    case KS_KEY_UP:
    case KS_KEY_DOWN:
        ks_screen_move(s, KS_BY_LINE, key == KS_KEY_UP ? -1 : 1);
        break;
    default:
        filter_type(s, key);
    }
}

static void press(struct ks_screen *s, uint32_t key)
{
    bool asked = s->leave_asked;
    const struct ks_action *action = ks_action_for(key);
    if (s->filtering)
        filter_key(s, key);
    else if (action)
        action->run(s);
    if (asked && !s->quit)
        s->leave_asked = false;
}

static enum ks_pane_id pane_at(const struct ks_layout *layout, int x, int y)
{
    enum ks_pane_id id = 0;
    while (id < KS_PANE_COUNT && !ks_rect_has(layout->panes[id], x, y))
        id++;
    return id;
}

static void click(struct ks_screen *s, int x, int y)
{
    for (size_t i = 0; i < s->n_hits; i++) {
        const struct ks_hit *hit = &s->hits[i];
        if (y == hit->y && x >= hit->x && x < hit->x + hit->columns) {
            hit->action->run(s);
            return;
        }
    }
    if (s->help)
        return;
    struct ks_layout layout = ks_screen_layout(s);
    enum ks_pane_id id = pane_at(&layout, x, y);
    if (id == KS_PANE_COUNT)
        return;
    s->focus = id;
    if (panes[id]->click)
        panes[id]->click(s, layout.panes[id], x, y);
}

static void wheel(struct ks_screen *s, int x, int y, int direction)
{
    if (s->help) {
        for (int i = 0; i < WHEEL_ROW; i++)
            ks_help_move(s, KS_BY_LINE, direction);
        return;
    }
    struct ks_layout layout = ks_screen_layout(s);
    enum ks_pane_id id = pane_at(&layout, x, y);
    if (id == KS_PANE_COUNT)
        return;
    for (int i = 0; i < (id == KS_PANE_LOG ? WHEEL_ROW : 1); i++)
        panes[id]->move(s, layout.panes[id], KS_BY_LINE, direction);
}

void ks_screen_event(struct ks_screen *s, const struct ks_event *event, int64_t now_ns)
{
    ks_screen_tick(s, now_ns);
    switch (event->kind) {
    case KS_EVENT_KEY:
        press(s, event->key);
        break;
    case KS_EVENT_CLICK:
        click(s, event->x, event->y);
        break;
    case KS_EVENT_WHEEL_UP:
        wheel(s, event->x, event->y, -1);
        break;
    case KS_EVENT_WHEEL_DOWN:
        wheel(s, event->x, event->y, 1);
        break;
    }
}

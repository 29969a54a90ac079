/*
 * What a person does to the screen: a key goes to the open prompt or to the table of actions, a
 * click and the wheel to what lies under them.
 */
#include <string.h>
#include <utf8proc.h>

#include "tui/screen/actions.h"
#include "tui/screen/rows.h"

#define WHEEL_ROWS 3 /* of the log, a notch */

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
    if (ks_screen_pane(id)->click)
        ks_screen_pane(id)->click(s, layout.panes[id], x, y);
}

static void wheel(struct ks_screen *s, int x, int y, int direction)
{
    if (s->help) {
        for (int i = 0; i < WHEEL_ROWS; i++)
            ks_help_move(s, KS_BY_LINE, direction);
        return;
    }
    struct ks_layout layout = ks_screen_layout(s);
    enum ks_pane_id id = pane_at(&layout, x, y);
    if (id == KS_PANE_COUNT)
        return;
    for (int i = 0; i < (id == KS_PANE_LOG ? WHEEL_ROWS : 1); i++)
        ks_screen_pane(id)->move(s, layout.panes[id], KS_BY_LINE, direction);
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

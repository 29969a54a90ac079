#include "tui/screen/actions.h"

#include <string.h>

#include "tui/screen/columns.h"
#include "tui/screen/screen.h"

static void up(struct ks_screen *s)
{
    ks_screen_move(s, KS_BY_LINE, -1);
}

static void down(struct ks_screen *s)
{
    ks_screen_move(s, KS_BY_LINE, 1);
}

static void page_up(struct ks_screen *s)
{
    ks_screen_move(s, KS_BY_PAGE, -1);
}

static void page_down(struct ks_screen *s)
{
    ks_screen_move(s, KS_BY_PAGE, 1);
}

static void to_first(struct ks_screen *s)
{
    ks_screen_move(s, KS_TO_END, -1);
}

static void to_last(struct ks_screen *s)
{
    ks_screen_move(s, KS_TO_END, 1);
}

static void cycle_focus(struct ks_screen *s, int step)
{
    enum ks_pane_id before = s->focus;
    int id = (int)before;
    do {
        id = (id + step + KS_PANE_COUNT) % KS_PANE_COUNT;
        ks_screen_focus(s, (enum ks_pane_id)id);
    } while (s->focus == before && id != (int)before);
}

static void focus_next(struct ks_screen *s)
{
    cycle_focus(s, 1);
}

static void focus_previous(struct ks_screen *s)
{
    cycle_focus(s, -1);
}

/* A pane that has no room is zoomed, so that its number always shows it. */
static void focus_or_zoom(struct ks_screen *s, enum ks_pane_id id)
{
    s->help = false;
    ks_screen_focus(s, id);
    if (s->focus != id) {
        s->zoomed = true;
        s->focus = id;
    }
}

static void focus_arms(struct ks_screen *s)
{
    focus_or_zoom(s, KS_PANE_ARMS);
}

static void focus_histogram(struct ks_screen *s)
{
    focus_or_zoom(s, KS_PANE_HISTOGRAM);
}

static void focus_log(struct ks_screen *s)
{
    focus_or_zoom(s, KS_PANE_LOG);
}

static void zoom(struct ks_screen *s)
{
    s->help = false;
    s->zoomed = !s->zoomed;
}

/* The next column that sorts; past the last one, the scenario's order. */
static void sort_next(struct ks_screen *s)
{
    size_t i = ks_column_at(s->sort) ? s->sort + 1 : 0;
    while (ks_column_at(i) && !ks_column_at(i)->value && ks_column_at(i)->kind != KS_COLUMN_NAME)
        i++;
    ks_screen_sort(s, i, false);
}

static void sort_reverse(struct ks_screen *s)
{
    ks_screen_sort(s, s->sort, !s->descending);
}

static void filter(struct ks_screen *s)
{
    s->help = false;
    ks_screen_filter_open(s);
}

static void pause(struct ks_screen *s)
{
    ks_screen_freeze(s, !s->frozen);
}

static void help(struct ks_screen *s)
{
    s->help = !s->help;
    s->help_top = 0;
}

/* One step out of wherever one is. */
static void back(struct ks_screen *s)
{
    if (s->help)
        s->help = false;
    else if (s->zoomed)
        s->zoomed = false;
    else if (s->log_held)
        ks_screen_hold_log(s, false);
    else if (s->filter[0])
        ks_screen_filter_set(s, "");
    else if (s->frozen)
        ks_screen_freeze(s, false);
}

static void repaint(struct ks_screen *s)
{
    s->repaint = true;
}

static void leave(struct ks_screen *s)
{
    if (s->help)
        s->help = false;
    else
        ks_screen_leave(s);
}

static const struct ks_action table[] = {
    {
        .name = "up",
        .keys = {'k', KS_KEY_UP},
        .shown = "k, Up",
        .help = "the arm above; in the log, back in time",
        .run = up,
    },
    {
        .name = "down",
        .keys = {'j', KS_KEY_DOWN},
        .shown = "j, Down",
        .help = "the arm below; in the log, forward",
        .run = down,
    },
    {
        .name = "page-up",
        .keys = {'b', KS_KEY_PAGE_UP},
        .shown = "b, PgUp",
        .help = "a page back",
        .run = page_up,
    },
    {
        .name = "page-down",
        .keys = {'f', KS_KEY_PAGE_DOWN},
        .shown = "f, PgDn",
        .help = "a page on",
        .run = page_down,
    },
    {
        .name = "first",
        .keys = {'g', KS_KEY_HOME},
        .shown = "g, Home",
        .help = "the first arm; the oldest line of the log",
        .run = to_first,
    },
    {
        .name = "last",
        .keys = {'G', KS_KEY_END},
        .shown = "G, End",
        .help = "the last arm; the newest line, and follow the log again",
        .run = to_last,
    },
    {
        .name = "pane-next",
        .keys = {KS_KEY_TAB},
        .shown = "Tab",
        .hint_key = "Tab",
        .hint = "pane",
        .keep = 4,
        .help = "the keys go to the next pane; Shift-Tab: the one before",
        .run = focus_next,
    },
    {
        .name = "pane-previous",
        .keys = {KS_KEY_BACK_TAB},
        .shown = "Shift-Tab",
        .help = "the pane before",
        .run = focus_previous,
    },
    {
        .name = "pane-arms",
        .keys = {'1'},
        .shown = "1",
        .help = "the arms",
        .run = focus_arms,
    },
    {
        .name = "pane-histogram",
        .keys = {'2'},
        .shown = "2",
        .help = "the selected arm's histogram; zoomed where it has no room",
        .run = focus_histogram,
    },
    {
        .name = "pane-log",
        .keys = {'3'},
        .shown = "3",
        .help = "the log; zoomed where it has no room",
        .run = focus_log,
    },
    {
        .name = "zoom",
        .keys = {'z', KS_KEY_F1 + 4},
        .shown = "z, F5",
        .hint_key = "z",
        .hint = "zoom",
        .keep = 3,
        .help = "give the pane the whole screen, and back",
        .run = zoom,
    },
    {
        .name = "sort-next",
        .keys = {'s', KS_KEY_F1 + 5},
        .shown = "s, F6",
        .hint_key = "s",
        .hint = "sort",
        .keep = 6,
        .help = "sort by the next column; or click on a column's head",
        .run = sort_next,
    },
    {
        .name = "sort-reverse",
        .keys = {'S'},
        .shown = "S",
        .hint_key = "S",
        .hint = "reverse",
        .keep = 1,
        .help = "turn the order round",
        .run = sort_reverse,
    },
    {
        .name = "filter",
        .keys = {'/', KS_KEY_F1 + 3},
        .shown = "/, F4",
        .hint_key = "/",
        .hint = "filter",
        .keep = 5,
        .help = "list arms whose name or recipe holds a text; Esc drops it",
        .run = filter,
    },
    {
        .name = "pause",
        .keys = {' '},
        .shown = "Space",
        .hint_key = "Space",
        .hint = "pause",
        .keep = 7,
        .help = "hold the picture still, and go on; the run goes on meanwhile",
        .run = pause,
    },
    {
        .name = "back",
        .keys = {KS_KEY_ESCAPE},
        .shown = "Esc",
        .help = "out of help, zoom, held log, filter, pause",
        .run = back,
    },
    {
        .name = "repaint",
        .keys = {KS_KEY_CTRL_L},
        .shown = "Ctrl-L",
        .help = "draw the screen anew",
        .run = repaint,
    },
    {
        .name = "help",
        .keys = {'?', 'h', KS_KEY_F1},
        .shown = "?, h, F1",
        .hint_key = "?",
        .hint = "help",
        .keep = 8,
        .help = "this page",
        .run = help,
    },
    {
        .name = "quit",
        .keys = {'q', KS_KEY_F1 + 9},
        .shown = "q, F10",
        .hint_key = "q",
        .hint = "quit",
        .keep = 9,
        .help = "leave; a second q stops a run that goes on, unless watched",
        .run = leave,
    },
};

const struct ks_action *ks_action_at(size_t i)
{
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

const struct ks_action *ks_action_for(uint32_t key)
{
    for (size_t i = 0; key != KS_KEY_NONE && ks_action_at(i); i++) {
        for (size_t k = 0; k < KS_ACTION_KEYS; k++) {
            if (table[i].keys[k] == key)
                return &table[i];
        }
    }
    return NULL;
}

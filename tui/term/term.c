#include "tui/term/term.h"

#include <curses.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

#include "tui/draw/theme.h"
#include "tui/term/signals.h"

/* curses' names that are ours as well */
#undef lines
#undef columns

#define MAX_PAIRS     128
#define ESCAPE_WAIT   25 /* ms to tell Escape from a key that begins with it */
#define FIRST_CUBE    16 /* of xterm's colours: 16 named ones, a cube of 6, 24 greys */
#define FIRST_GREY    232
#define DIRECT_COLORS 257 /* from here on a colour number is red, green and blue */

struct ks_term {
    SCREEN *screen;
    const struct ks_theme *theme;
    bool mouse, colours;   /* in use */
    bool default_colours;  /* the background can be the terminal's */
    int width, height;     /* of curses */
    struct ks_cell *shown; /* (shown_height, shown_width) what curses was given; NULL: nothing */
    int shown_width, shown_height;
    mbstate_t begun; /* the first bytes of a character that was typed */
    cchar_t *row;    /* (KS_GRID_MAX_WIDTH) scratch */
    struct {
        int colour, background;
    } pairs[MAX_PAIRS]; /* pair i is number i + 1 */
    int n_pairs;
};

/* ------------------------------------------------------------------ opening */

/* Appends a capability without the delays that terminfo writes as $<5>. */
static void append_capability(struct ks_reset *reset, const char *text)
{
    if (!text || text == (const char *)-1)
        return;
    for (; *text && reset->len < sizeof reset->bytes; text++) {
        const char *end = strncmp(text, "$<", 2) == 0 ? strchr(text, '>') : NULL;
        if (end)
            text = end;
        else
            reset->bytes[reset->len++] = *text;
    }
}

static const char *capability(const char *name)
{
    const char *text = tigetstr(name);
    return text == (const char *)-1 ? NULL : text;
}

static struct ks_reset make_reset(bool mouse)
{
    struct ks_reset reset = {0};
    const char *mouse_mode = capability("XM");
    if (mouse)
        append_capability(&reset, mouse_mode ? tiparm(mouse_mode, 0) : "\033[?1006;1000l");
    append_capability(&reset, capability("rmkx"));
    append_capability(&reset, capability("sgr0"));
    append_capability(&reset, capability("op"));
    append_capability(&reset, capability("cnorm"));
    append_capability(&reset, capability("rmcup"));
    append_capability(&reset, capability("rmcup") ? NULL : "\r\n");
    tcgetattr(STDIN_FILENO, &reset.modes);
    return reset;
}

/* Whether there is a terminal that can show a screen at all. */
static int check_terminal(struct ks_error *err)
{
    const char *name = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return ks_fail(err, KS_BAD_INPUT,
                       "standard %s is no terminal; run with --headless for a run without a screen",
                       isatty(STDIN_FILENO) ? "output" : "input");
    int found = 0;
    if (!name || !*name)
        return ks_fail(err, KS_BAD_INPUT, "TERM is not set; set it, or run with --headless");
    if (setupterm(name, STDOUT_FILENO, &found) != OK)
        return ks_fail(err, KS_BAD_INPUT,
                       "terminfo does not know the terminal TERM=%s; set TERM, or run with "
                       "--headless",
                       name);
    if (!capability("cup") || !capability("clear") || tigetflag("hc") > 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "a terminal of the kind TERM=%s cannot place its cursor; run with "
                       "--headless, or set TERM to what it is",
                       name);
    return 0;
}

static const struct ks_theme *wanted_theme(const char *name, struct ks_error *err)
{
    const char *no_color = getenv("NO_COLOR");
    const struct ks_theme *theme = ks_theme_find(name                    ? name
                                                 : no_color && *no_color ? "mono"
                                                                         : "dark");
    if (!theme)
        ks_fail(err, KS_BAD_INPUT,
                "there is no theme \"%s\"; there are dark, light, mono and colourblind", name);
    return theme;
}

static void set_modes(struct ks_term *t)
{
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(ESCAPE_WAIT);
    curs_set(0);
    if (t->mouse) {
        mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
        mouseinterval(0);
    }
}

static void set_colours(struct ks_term *t)
{
    const struct ks_theme *mono = ks_theme_find("mono");
    if (t->theme == mono)
        return; /* not even the codes of the default colours */
    if (!has_colors() || start_color() == ERR || COLORS < 8) {
        t->theme = mono;
        return;
    }
    t->colours = true;
    t->default_colours = use_default_colors() == OK;
}

static int take_screen(struct ks_term *t, const struct ks_reset *reset, struct ks_error *err)
{
    fflush(stdout);
    ks_signals_on_crash(reset);
    t->screen = newterm(NULL, stdout, stdin);
    if (t->screen)
        return 0;
    ks_signals_on_crash(NULL);
    return ks_fail(err, KS_BAD_INPUT,
                   "curses cannot open the terminal TERM=%s; run with --headless", getenv("TERM"));
}

struct ks_term *ks_term_open(bool mouse, const char *theme_name, struct ks_error *err)
{
    const struct ks_theme *theme = wanted_theme(theme_name, err);
    if (!theme || check_terminal(err))
        return NULL;
    struct ks_term *t = calloc(1, sizeof *t);
    cchar_t *row = calloc(KS_GRID_MAX_WIDTH, sizeof *row);
    struct ks_reset reset = make_reset(mouse);
    del_curterm(cur_term);
    if (!t || !row) {
        ks_fail_memory(err, sizeof *t + KS_GRID_MAX_WIDTH * sizeof *row, "the terminal");
        goto failed;
    }
    *t = (struct ks_term){.theme = theme, .mouse = mouse, .row = row};
    if (take_screen(t, &reset, err))
        goto failed;
    set_modes(t);
    set_colours(t);
    getmaxyx(stdscr, t->height, t->width);
    return t;
failed:
    free(t);
    free(row);
    return NULL;
}

void ks_term_close(struct ks_term *t)
{
    if (!t)
        return;
    endwin();
    delscreen(t->screen);
    ks_signals_on_crash(NULL);
    free(t->shown);
    free(t->row);
    free(t);
}

void ks_term_leave(struct ks_term *t)
{
    (void)t;
    endwin();
}

void ks_term_enter(struct ks_term *t)
{
    ks_term_repaint(t);
    refresh();
}

void ks_term_repaint(struct ks_term *t)
{
    free(t->shown);
    t->shown = NULL;
    clearok(curscr, TRUE);
}

void ks_term_size(struct ks_term *t, int *width, int *height)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
        (size.ws_row != t->height || size.ws_col != t->width)) {
        resizeterm(size.ws_row, size.ws_col);
        getmaxyx(stdscr, t->height, t->width);
        erase();
        ks_term_repaint(t);
    }
    *width = t->width;
    *height = t->height;
}

/* ------------------------------------------------------------------ looks */

/* A colour of xterm's 256 as red, green and blue. */
static int direct_colour(int colour)
{
    static const int named[FIRST_CUBE] = {
        0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x1e90ff, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
        0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
    static const int levels[] = {0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff};
    if (colour < FIRST_CUBE)
        return named[colour];
    if (colour >= FIRST_GREY)
        return (8 + 10 * (colour - FIRST_GREY)) * 0x010101;
    int cube = colour - FIRST_CUBE;
    return levels[cube / 36] << 16 | levels[cube / 6 % 6] << 8 | levels[cube % 6];
}

/* The terminal's number for a colour of a theme; eight colours make more by being bold. */
static int terminal_colour(const struct ks_term *t, int colour, int colour_16, attr_t *attributes)
{
    if (colour == KS_COLOUR_DEFAULT && colour_16 == KS_COLOUR_DEFAULT)
        return t->default_colours ? -1 : COLOR_WHITE;
    if (COLORS >= DIRECT_COLORS)
        return direct_colour(colour);
    if (COLORS == 256)
        return colour;
    if (COLORS >= 16 || colour_16 < 8)
        return colour_16;
    if (colour_16 == 8) { /* bold black is black on many */
        *attributes |= A_DIM;
        return t->default_colours ? -1 : COLOR_WHITE;
    }
    *attributes |= A_BOLD;
    return colour_16 - 8;
}

/* The pair's number, made when it is first asked for; 0, the terminal's own, when all are used. */
static short pair_of(struct ks_term *t, int colour, int background)
{
    int i = 0;
    while (i < t->n_pairs && (t->pairs[i].colour != colour || t->pairs[i].background != background))
        i++;
    if (i == t->n_pairs) {
        if (i == MAX_PAIRS || i + 1 >= COLOR_PAIRS ||
            init_extended_pair(i + 1, colour, background) == ERR)
            return 0;
        t->pairs[t->n_pairs].colour = colour;
        t->pairs[t->n_pairs++].background = background;
    }
    return (short)(i + 1);
}

static attr_t attributes_of(uint8_t look)
{
    return (look & KS_LOOK_BOLD ? A_BOLD : 0) | (look & KS_LOOK_FAINT ? A_DIM : 0) |
           (look & KS_LOOK_REVERSE ? A_REVERSE : 0) | (look & KS_LOOK_UNDERLINE ? A_UNDERLINE : 0);
}

static attr_t look_of(struct ks_term *t, const struct ks_cell *cell, short *pair)
{
    const struct ks_theme *theme = t->theme;
    const struct ks_look *look = &theme->looks[cell->role];
    attr_t attributes = attributes_of(look->attributes);
    bool shaded = t->colours && COLORS >= 256 && theme->selected != KS_COLOUR_DEFAULT;
    int background = t->default_colours ? -1 : COLOR_BLACK;
    if (cell->selected && shaded)
        background = COLORS >= DIRECT_COLORS ? direct_colour(theme->selected) : theme->selected;
    else if (cell->selected)
        attributes |= attributes_of(theme->selected_attributes);
    *pair = 0;
    if (t->colours) {
        int colour = terminal_colour(t, look->colour, look->colour_16, &attributes);
        *pair = pair_of(t, colour, background);
    }
    return attributes;
}

/* ------------------------------------------------------------------ the picture */

static bool cells_equal(const struct ks_cell *a, const struct ks_cell *b)
{
    return memcmp(a->text, b->text, sizeof a->text) == 0 && a->role == b->role &&
           a->selected == b->selected;
}

/* A cell for curses. Where the C library and we disagree about a width, curses would move what is
 * behind it, so such a character is shown as question marks; then false. */
static bool to_curses(struct ks_term *t, const struct ks_cell *cell, bool wide, cchar_t *out)
{
    wchar_t text[KS_CLUSTER_CODEPOINTS + 1] = {0};
    short pair;
    attr_t attributes = look_of(t, cell, &pair);
    for (int i = 0; i < KS_CLUSTER_CODEPOINTS; i++)
        text[i] = (wchar_t)cell->text[i];
    bool agreed = wcwidth(text[0]) == (wide ? 2 : 1);
    if (agreed && setcchar(out, text, attributes, pair, NULL) != ERR)
        return true;
    setcchar(out, L"?", attributes, pair, NULL);
    return false;
}

/* Sends the cells from..end-1 of a row; a wide character is one entry for two cells. */
static void send_cells(struct ks_term *t, const struct ks_cell *row, int width, int y, int from,
                       int end)
{
    int n = 0;
    for (int x = from; x < end; x++) {
        bool wide = x + 1 < width && row[x + 1].text[0] == 0;
        bool whole = to_curses(t, &row[x], wide, &t->row[n++]);
        if (wide && !whole) {
            t->row[n] = t->row[n - 1];
            n++;
        }
        x += wide;
    }
    mvadd_wchnstr(y, from, t->row, n);
}

static void send_row(struct ks_term *t, const struct ks_cell *row, const struct ks_cell *old,
                     int width, int y)
{
    int from = 0, end = width;
    if (old) {
        while (from < width && cells_equal(&row[from], &old[from]))
            from++;
        while (end > from && cells_equal(&row[end - 1], &old[end - 1]))
            end--;
    }
    if (from == end)
        return;
    /* Never from or to the middle of a wide character, old or new. */
    while (from > 0 && (row[from].text[0] == 0 || (old && old[from].text[0] == 0)))
        from--;
    while (end < width && (row[end].text[0] == 0 || (old && old[end].text[0] == 0)))
        end++;
    send_cells(t, row, width, y, from, end);
}

/* Keeps a copy of what curses has, to compare the next picture with. */
static int remember(struct ks_term *t, const struct ks_grid *g, struct ks_error *err)
{
    size_t n = (size_t)g->width * (size_t)g->height;
    if (!t->shown || t->shown_width != g->width || t->shown_height != g->height) {
        struct ks_cell *cells = calloc(n, sizeof *cells);
        if (!cells)
            return ks_fail_memory(err, n * sizeof *cells, "the screen's last picture");
        free(t->shown);
        t->shown = cells;
        t->shown_width = g->width;
        t->shown_height = g->height;
    }
    memcpy(t->shown, g->cells, n * sizeof *g->cells);
    return 0;
}

int ks_term_show(struct ks_term *t, const struct ks_grid *g, int x, int y, struct ks_error *err)
{
    bool known = t->shown && t->shown_width == g->width && t->shown_height == g->height;
    for (int row = 0; row < g->height && row < t->height; row++) {
        size_t at = (size_t)row * (size_t)g->width;
        send_row(t, g->cells + at, known ? t->shown + at : NULL, g->width, row);
    }
    curs_set(x >= 0);
    move(x >= 0 ? y : 0, x >= 0 ? x : 0);
    wnoutrefresh(stdscr);
    doupdate();
    return remember(t, g, err);
}

/* ------------------------------------------------------------------ what a person does */

static uint32_t key_of(wint_t code)
{
    static const struct {
        wint_t code;
        uint32_t key;
    } keys[] = {
        {KEY_UP, KS_KEY_UP},         {KEY_DOWN, KS_KEY_DOWN},
        {KEY_LEFT, KS_KEY_LEFT},     {KEY_RIGHT, KS_KEY_RIGHT},
        {KEY_PPAGE, KS_KEY_PAGE_UP}, {KEY_NPAGE, KS_KEY_PAGE_DOWN},
        {KEY_HOME, KS_KEY_HOME},     {KEY_END, KS_KEY_END},
        {KEY_BTAB, KS_KEY_BACK_TAB}, {KEY_BACKSPACE, KS_KEY_BACKSPACE},
        {KEY_ENTER, KS_KEY_ENTER},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].code == code)
            return keys[i].key;
    }
    if (code >= KEY_F(1) && code <= KEY_F(12))
        return KS_KEY_F1 + (uint32_t)(code - KEY_F(1));
    return KS_KEY_NONE;
}

static uint32_t key_of_character(wint_t c)
{
    if (c >= KS_KEY_UP) /* the C library reads UTF-8 of old, which goes past the last code point */
        return KS_KEY_NONE;
    if (c == L'\n')
        return KS_KEY_ENTER;
    return c == 0x7f ? KS_KEY_BACKSPACE : (uint32_t)c;
}

/*
 * By the bytes, not by get_wch: that one waits for a character to become whole however many bytes
 * it takes, so a single byte that is none would swallow the keys behind it; and it forgets one
 * whose bytes come apart. Here a byte that does not go on with those before it begins anew.
 */
static uint32_t key_of_byte(struct ks_term *t, char byte)
{
    wchar_t c = 0;
    bool first = mbsinit(&t->begun);
    size_t n = mbrtowc(&c, &byte, 1, &t->begun);
    if (n == (size_t)-2)
        return KS_KEY_NONE;
    if (n != (size_t)-1)
        return key_of_character((wint_t)c);
    t->begun = (mbstate_t){0};
    return first ? KS_KEY_NONE : key_of_byte(t, byte);
}

static bool read_mouse(struct ks_event *event)
{
    MEVENT m;
    if (getmouse(&m) != OK)
        return false;
    if (m.bstate & BUTTON1_PRESSED)
        event->kind = KS_EVENT_CLICK;
    else if (m.bstate & BUTTON4_PRESSED)
        event->kind = KS_EVENT_WHEEL_UP;
    else if (m.bstate & BUTTON5_PRESSED)
        event->kind = KS_EVENT_WHEEL_DOWN;
    else
        return false;
    event->x = m.x;
    event->y = m.y;
    return true;
}

int ks_term_read(struct ks_term *t, struct ks_event *event)
{
    for (;;) {
        int code = getch();
        *event = (struct ks_event){.kind = KS_EVENT_KEY};
        if (code == ERR)
            return 0;
        if (code <= UCHAR_MAX) {
            event->key = key_of_byte(t, (char)code);
        } else {
            t->begun = (mbstate_t){0};
            event->key = key_of((wint_t)code);
        }
        if (event->key != KS_KEY_NONE || (code == KEY_MOUSE && read_mouse(event)))
            return 1;
    }
}

/*
 * Any bytes typed at the terminal: keys, mouse reports, halves of either. curses and the terminal's
 * code make events of them on a pseudo-terminal, and the workbench takes each. Keys typed behind
 * them must arrive; every picture must be drawn; each event must be one that input.h has.
 *
 * The first byte chooses the size and what is on the screen.
 */
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tests/fuzz/target.h"
#include "tests/tui/fake_snapshot.h"
#include "tui/screen/screen.h"
#include "tui/term/signals.h"
#include "tui/term/term.h"

enum { MAX_TYPED = 1024, BEHIND = 16, BEHIND_KEY = 'z', SECOND = 1000000000 };
enum { SWALLOWED_MS = 20, ARRIVED_MS = 5000 }; /* until no more comes */

/* A terminal on standard input and output whose keys raise no signals. */
static int open_keyboard(struct ks_term **term)
{
    int master, slave;
    struct termios modes;
    struct ks_error err;
    target_must(openpty(&master, &slave, NULL, NULL, NULL) == 0 && tcgetattr(slave, &modes) == 0);
    cfmakeraw(&modes);
    memset(modes.c_cc, _POSIX_VDISABLE, sizeof modes.c_cc);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    target_must(tcsetattr(slave, TCSANOW, &modes) == 0);
    target_must(dup2(slave, STDIN_FILENO) == 0 && dup2(slave, STDOUT_FILENO) == 1);
    setenv("TERM", "xterm-256color", 1);
    setlocale(LC_ALL, "C.UTF-8");
    target_must(ks_signals_open(&err) == 0);
    *term = ks_term_open(true, "dark", &err);
    target_must(*term != NULL);
    return master;
}

static void type(int master, const uint8_t *bytes, size_t len)
{
    target_must(write(master, bytes, len) == (ssize_t)len);
}

static void check_event(const struct ks_event *e)
{
    if (e->kind == KS_EVENT_KEY)
        target_must(e->key != KS_KEY_NONE && e->key <= KS_KEY_F12);
    else
        target_must(e->kind <= KS_EVENT_WHEEL_DOWN);
}

/* Takes what is there; returns how many of the last keys in a row were BEHIND_KEY, counting on. */
static int take_events(struct ks_term *term, struct ks_screen *screen, struct ks_grid *grid, int n)
{
    struct ks_event event;
    int64_t now_ns = 0;
    while (ks_term_read(term, &event)) {
        check_event(&event);
        n = event.kind == KS_EVENT_KEY && event.key == BEHIND_KEY ? n + 1 : 0;
        ks_screen_event(screen, &event, now_ns);
        if (n == 0)
            ks_screen_draw(screen, grid);
        now_ns = ks_screen_tick(screen, now_ns) < 0 ? now_ns : now_ns + SECOND;
    }
    return n;
}

/* The kernel hands typed bytes on when it likes; half a mouse report may swallow some of the last
 * keys, but never all. */
static void take_all(struct ks_term *term, struct ks_screen *screen, struct ks_grid *grid)
{
    struct pollfd typed = {.fd = STDIN_FILENO, .events = POLLIN};
    int n = 0;
    do
        n = take_events(term, screen, grid, n);
    while (n < BEHIND && poll(&typed, 1, n > 0 ? SWALLOWED_MS : ARRIVED_MS) > 0);
    target_must(n > 0);
}

/* What curses wrote is of no interest, but must not fill the terminal up. */
static void drain(int master)
{
    static char lost[65536];
    int waiting = 0;
    while (ioctl(master, FIONREAD, &waiting) == 0 && waiting > 0)
        target_must(read(master, lost, sizeof lost) > 0);
}

static void open_screen(uint8_t choice, struct fake_source *fake, struct ks_tui_source *source,
                        struct ks_screen *screen, struct ks_grid *grid)
{
    static const int sizes[][2] = {{100, 30}, {80, 24}, {40, 10}, {10, 3}, {1, 1}, {200, 60}};
    const int *size = sizes[choice % (sizeof sizes / sizeof *sizes)];
    struct ks_error err;
    bool ascii = choice & 0x80;
    *fake = (struct fake_source){.kind = (enum fake_kind)(choice / 6 % (FAKE_MANY + 1)),
                                 .windows = 148,
                                 .n_log = 300,
                                 .serial = 1,
                                 .wake_fd = -1};
    *source = fake_source_of(fake);
    *grid = (struct ks_grid){.ascii = ascii};
    target_must(ks_screen_init(screen, source, ascii, &err) == 0);
    target_must(ks_grid_resize(grid, size[0], size[1], &err) == 0);
    ks_screen_draw(screen, grid);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct ks_term *term;
    static int master;
    static const uint8_t behind[] = "zzzzzzzzzzzzzzzz";
    struct fake_source fake;
    struct ks_tui_source source;
    struct ks_screen screen;
    struct ks_grid grid;
    if (len == 0 || len > MAX_TYPED)
        return 0;
    if (!term)
        master = open_keyboard(&term);
    open_screen(bytes[0], &fake, &source, &screen, &grid);
    type(master, bytes + 1, len - 1);
    type(master, behind, BEHIND);
    take_all(term, &screen, &grid);
    drain(master);
    ks_screen_finish(&screen);
    ks_grid_finish(&grid);
    target_must(fake.held == 0);
    fake_source_finish(&fake);
    return 0;
}

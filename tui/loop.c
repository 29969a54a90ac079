#include "tui/loop.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tui/screen/screen.h"
#include "tui/term/capture.h"
#include "tui/term/signals.h"
#include "tui/term/term.h"

#define DATA_NS 100000000 /* between two looks at the run */
#define ECHO_NS 30000000  /* between two pictures for a person who holds a key down */

enum { POLL_INPUT, POLL_SIGNALS, POLL_STDERR, POLL_RUN, N_POLLS };

struct loop {
    const struct ks_tui_source *source;
    const struct ks_tui_options *options;
    struct ks_term *term;
    struct ks_screen screen;
    struct ks_grid grid;
    struct ks_capture capture;
    int64_t looked_ns, drawn_ns;
    int64_t asked_ns;  /* when the source was last asked to fetch news */
    bool dirty;        /* the picture is older than what it shows */
    bool hung_up;      /* the terminal is gone */
    const char *leave; /* why the loop ends, NULL: it goes on */
};

static int64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool terminal_is_utf8(void)
{
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static int open_loop(struct loop *l, struct ks_error *err)
{
    bool ascii = !terminal_is_utf8() || l->options->ascii;
    l->grid.ascii = ascii;
    if (ks_signals_open(err))
        return -1;
    l->term = ks_term_open(l->options->mouse, l->options->theme, err);
    if (!l->term || ks_capture_open(&l->capture, err))
        return -1;
    return ks_screen_init(&l->screen, l->source, ascii, err);
}

static void close_loop(struct loop *l)
{
    if (l->screen.source)
        ks_screen_finish(&l->screen);
    ks_grid_finish(&l->grid);
    ks_term_close(l->term);
    ks_capture_close(&l->capture);
    ks_signals_close();
}

static int draw(struct loop *l, struct ks_error *err)
{
    int width, height, x = -1, y = -1;
    ks_term_size(l->term, &width, &height);
    if (width > KS_GRID_MAX_WIDTH)
        width = KS_GRID_MAX_WIDTH;
    if (height > KS_GRID_MAX_HEIGHT)
        height = KS_GRID_MAX_HEIGHT;
    if ((width != l->grid.width || height != l->grid.height) &&
        ks_grid_resize(&l->grid, width, height, err))
        return -1;
    if (l->screen.repaint)
        ks_term_repaint(l->term);
    l->screen.repaint = false;
    ks_screen_draw(&l->screen, &l->grid);
    if (!ks_screen_cursor(&l->screen, &x, &y))
        x = -1;
    l->dirty = false;
    l->drawn_ns = monotonic_ns();
    return ks_term_show(l->term, &l->grid, x, y, err);
}

/* ------------------------------------------------------------------ what comes */

static void take_input(struct loop *l, const struct pollfd *input)
{
    int waiting = 0;
    struct ks_event event;
    if (input->revents == 0)
        return;
    /* Readable without a byte is how a terminal says that it is gone. */
    if (!(input->revents & POLLIN) || ioctl(input->fd, FIONREAD, &waiting) || waiting == 0) {
        l->leave = "the terminal went away";
        l->hung_up = true;
        return;
    }
    while (!l->screen.quit && ks_term_read(l->term, &event)) {
        ks_screen_event(&l->screen, &event, monotonic_ns());
        l->dirty = true;
    }
    if (l->screen.quit)
        l->leave = "stopped by q";
}

static void take_signals(struct loop *l)
{
    ks_signals_drain();
    if (ks_signals_came(SIGTSTP)) {
        ks_term_leave(l->term);
        ks_signals_suspend();
        ks_term_enter(l->term);
        ks_signals_came(SIGCONT);
        l->dirty = true;
    }
    if (ks_signals_came(SIGCONT)) { /* stopped from outside: anything may be on the terminal */
        ks_term_leave(l->term);
        ks_term_enter(l->term);
        l->dirty = true;
    }
    if (ks_signals_came(SIGWINCH))
        l->dirty = true;
    if (ks_signals_came(SIGHUP)) {
        l->leave = "the terminal hung up";
        l->hung_up = true;
    }
    bool asked = l->options->interrupted && *l->options->interrupted;
    if (ks_signals_came(SIGINT) | ks_signals_came(SIGTERM) | asked)
        l->leave = "interrupted";
}

static void put_line(void *ctx, const char *line)
{
    struct loop *l = ctx;
    l->source->note(l->source->ctx, KS_LOG_WARNING, line);
}

static int look_at_run(struct loop *l, struct ks_error *err)
{
    uint64_t before = l->screen.now->serial;
    l->looked_ns = monotonic_ns();
    if (ks_screen_refresh(&l->screen, err))
        return -1;
    l->dirty = l->dirty || l->screen.now->serial != before;
    return 0;
}

/* A source that only looks on has nobody who wakes it. */
static void fetch_news(struct loop *l)
{
    int64_t now = monotonic_ns();
    if (!l->source->look || now < l->asked_ns + DATA_NS)
        return;
    l->dirty = l->source->look(l->source->ctx) || l->dirty;
    l->asked_ns = monotonic_ns();
}

/* ------------------------------------------------------------------ waiting */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* Until when to sleep at most, -1: until something comes. */
static int64_t wake_at(struct loop *l, int64_t now)
{
    int64_t at = ks_screen_tick(&l->screen, now);
    if (l->dirty)
        at = sooner(at, l->drawn_ns + ECHO_NS);
    if (now < l->looked_ns + DATA_NS)
        at = sooner(at, l->looked_ns + DATA_NS);
    if (l->source->look)
        at = sooner(at, l->asked_ns + DATA_NS);
    return at;
}

static int wait_for_something(struct loop *l, struct pollfd polls[N_POLLS], struct ks_error *err)
{
    int64_t now = monotonic_ns(), at = wake_at(l, now);
    bool may_look = now >= l->looked_ns + DATA_NS;
    polls[POLL_INPUT] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    polls[POLL_SIGNALS] = (struct pollfd){.fd = ks_signals_fd(), .events = POLLIN};
    polls[POLL_STDERR] = (struct pollfd){.fd = l->capture.fd, .events = POLLIN};
    polls[POLL_RUN] = (struct pollfd){.fd = may_look ? l->source->wake_fd : -1, .events = POLLIN};
    int64_t wait_ms = at < 0 ? -1 : at <= now ? 0 : (at - now + 999999) / 1000000;
    int n = poll(polls, N_POLLS, (int)wait_ms);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        return ks_fail_errno(err, "cannot wait for the terminal");
    for (int i = 0; n <= 0 && i < N_POLLS; i++)
        polls[i].revents = 0;
    return 0;
}

static int turn(struct loop *l, struct ks_error *err)
{
    struct pollfd polls[N_POLLS];
    bool asked = l->screen.leave_asked;
    if (wait_for_something(l, polls, err))
        return -1;
    take_signals(l);
    take_input(l, &polls[POLL_INPUT]);
    if (polls[POLL_STDERR].revents)
        ks_capture_read(&l->capture, put_line, l);
    fetch_news(l);
    if (polls[POLL_RUN].revents && look_at_run(l, err))
        return -1;
    ks_screen_tick(&l->screen, monotonic_ns());
    l->dirty = l->dirty || l->screen.leave_asked != asked;
    if (!l->leave && l->dirty && monotonic_ns() >= l->drawn_ns + ECHO_NS)
        return draw(l, err);
    return 0;
}

int ks_loop_run(const struct ks_tui_source *source, const struct ks_tui_options *options,
                struct ks_error *err)
{
    struct loop l = {
        .source = source,
        .options = options,
        .capture = {.fd = -1, .real = -1},
    };
    int status = open_loop(&l, err);
    if (status == 0)
        status = draw(&l, err);
    while (status == 0 && !l.leave)
        status = turn(&l, err);
    bool unfinished = status == 0 && ks_screen_unfinished(&l.screen);
    close_loop(&l);
    if (unfinished && l.hung_up && options->detach)
        return KS_TUI_DETACHED;
    if (unfinished)
        source->stop(source->ctx, l.leave);
    return status;
}

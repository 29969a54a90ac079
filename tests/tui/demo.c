/*
 * The workbench over a run that never ran, to look at: `demo [options] [KIND]`. Nothing tests the
 * loop and the terminal better than a person, or test_terminal.c, in front of it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/tui/fake_snapshot.h"
#include "tui/loop.h"

static const char *const kinds[] = {"preparing", "building", "running",      "trouble", "done",
                                    "stopped",   "failed",   "failed-later", "many"};

/* A fake that goes on by a window whenever its timer has run out. */
struct moving {
    struct fake_source fake;
    struct ks_tui_source still;
    const char *act; /* on the third look: "crash", "abort", "stderr" */
    int looks;
};

static void act(const struct moving *m)
{
    if (strcmp(m->act, "crash") == 0)
        raise(SIGSEGV);
    if (strcmp(m->act, "abort") == 0) {
        fputs("the last words\n", stderr);
        abort();
    }
    if (strcmp(m->act, "stderr") == 0)
        fputs("a line on standard error\n", stderr);
}

static const struct ks_snapshot *snapshot(void *ctx)
{
    struct moving *m = ctx;
    uint64_t times;
    if (read(m->fake.wake_fd, &times, sizeof times) == sizeof times) {
        m->fake.serial++;
        m->fake.n_log++;
        if (m->fake.windows < FAKE_WINDOWS)
            m->fake.windows++;
        if (m->act && ++m->looks == 3)
            act(m);
    }
    return m->still.snapshot(m->still.ctx);
}

static void release(void *ctx, const struct ks_snapshot *s)
{
    struct moving *m = ctx;
    m->still.release(m->still.ctx, s);
}

static void stop(void *ctx, const char *why)
{
    (void)ctx;
    printf("stopped: %s\n", why);
}

static void note(void *ctx, enum ks_log_level level, const char *text)
{
    struct moving *m = ctx;
    m->still.note(m->still.ctx, level, text);
}

static enum fake_kind kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i], name) == 0)
            return (enum fake_kind)i;
    }
    fprintf(stderr, "demo: no kind \"%s\"\n", name);
    exit(2);
}

static void parse(int argc, char **argv, struct moving *m, struct ks_tui_options *options,
                  int *period_ms)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-mouse") == 0)
            options->mouse = false;
        else if (strcmp(argv[i], "--ascii") == 0)
            options->ascii = true;
        else if (strncmp(argv[i], "--theme=", 8) == 0)
            options->theme = argv[i] + 8;
        else if (strncmp(argv[i], "--every=", 8) == 0)
            *period_ms = atoi(argv[i] + 8);
        else if (strncmp(argv[i], "--act=", 6) == 0)
            m->act = argv[i] + 6;
        else
            m->fake.kind = kind_named(argv[i]);
    }
}

int main(int argc, char **argv)
{
    struct moving m = {.fake = {.kind = FAKE_RUNNING, .windows = 148, .n_log = 14, .serial = 1}};
    struct ks_tui_options options = {.mouse = true};
    struct ks_error err;
    int period_ms = 500; /* 0: it stands still */
    parse(argc, argv, &m, &options, &period_ms);
    m.fake.wake_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct timespec period = {period_ms / 1000, period_ms % 1000 * 1000000L};
    struct itimerspec every = {.it_interval = period, .it_value = period};
    timerfd_settime(m.fake.wake_fd, 0, &every, NULL);
    m.still = fake_source_of(&m.fake);
    struct ks_tui_source source = {.ctx = &m,
                                   .snapshot = snapshot,
                                   .release = release,
                                   .wake_fd = m.fake.wake_fd,
                                   .stop = stop,
                                   .note = note};
    int status = ks_loop_run(&source, &options, &err);
    if (status)
        fprintf(stderr, "demo: %s\n", err.text);
    else
        printf("left with %d snapshots held, noted \"%s\"\n", m.fake.held, m.fake.noted);
    fake_source_finish(&m.fake);
    close(m.fake.wake_fd);
    return status ? 2 : 0;
}

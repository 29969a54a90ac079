/*
 * The workbench on a real terminal line: a pseudo-terminal with the demo program at its other end.
 * What it writes is looked at for what must and what must not be sent.
 */
#include "tests/testing.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define OUTPUT_MAX  (4 << 20)

#define LEAVE_SCREEN "\033[?1049l"
#define ENTER_SCREEN "\033[?1049h"
#define MOUSE_CODE   "1000"

struct demo {
    pid_t pid;
    int line; /* our end of the terminal line */
    char *output;
    size_t len;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void exec_demo(const char *locale, const char *term, const char *const *args)
{
    const char *argv[8] = {"demo"};
    for (int i = 0; i < 6 && args[i]; i++)
        argv[i + 1] = args[i];
    setenv("TERM", term, 1);
    setenv("LC_ALL", locale, 1);
    unsetenv("LINES");
    unsetenv("COLUMNS");
    /* The tests may themselves run under nohup, or in a shell's background. */
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    execv(getenv("KS_TUI_DEMO"), (char *const *)(uintptr_t)argv);
    _exit(126);
}

static struct demo start_in(const char *locale, const char *term, const char *const *args)
{
    struct winsize size = {.ws_row = 30, .ws_col = 100};
    struct demo d = {.output = calloc(1, OUTPUT_MAX)};
    assert_non_null(d.output);
    d.pid = forkpty(&d.line, NULL, NULL, &size);
    assert_true(d.pid >= 0);
    if (d.pid == 0)
        exec_demo(locale, term, args);
    return d;
}

static struct demo start(const char *term, const char *const *args)
{
    return start_in("C", term, args);
}

static bool is_readable(const struct demo *d, int wait_ms)
{
    struct pollfd p = {.fd = d->line, .events = POLLIN};
    return poll(&p, 1, wait_ms) > 0;
}

/* Takes what comes within wait_ms; false when the other end is closed. */
static bool listen_for(struct demo *d, int wait_ms)
{
    if (!is_readable(d, wait_ms))
        return true;
    ssize_t n = read(d->line, d->output + d->len, OUTPUT_MAX - 1 - d->len);
    if (n <= 0)
        return false;
    d->len += (size_t)n;
    return true;
}

static bool saw(const struct demo *d, const char *text)
{
    return memmem(d->output, d->len, text, strlen(text)) != NULL;
}

static void wait_for(struct demo *d, const char *text)
{
    int64_t end = now_ms() + PATIENCE_MS;
    while (!saw(d, text)) {
        if (now_ms() > end || !listen_for(d, 50))
            fail_msg("\"%s\" did not come; there came:\n%s", text, d->output);
    }
}

static void forget_output(struct demo *d)
{
    memset(d->output, 0, d->len);
    d->len = 0;
}

static void type(struct demo *d, const char *keys)
{
    assert_int_equal(write(d->line, keys, strlen(keys)), strlen(keys));
}

/* Waits for the end and returns wait's status; takes the rest of the output. */
static int ending(struct demo *d)
{
    int status = 0;
    int64_t end = now_ms() + PATIENCE_MS;
    while (waitpid(d->pid, &status, WNOHANG) == 0) {
        if (now_ms() > end) {
            kill(d->pid, SIGKILL);
            fail_msg("it does not end");
        }
        if (d->line >= 0)
            listen_for(d, 20);
        else
            usleep(20000);
    }
    while (d->line >= 0 && is_readable(d, 100) && listen_for(d, 0))
        ;
    return status;
}

static void finish(struct demo *d)
{
    if (d->line >= 0)
        close(d->line);
    free(d->output);
}

static const char *const done_args[] = {"done", "--every=0", NULL};
static const char *const running_args[] = {"running", "--every=50", NULL};

static void it_takes_the_screen_and_gives_it_back(void **state)
{
    (void)state;
    struct demo d = start("xterm-256color", done_args);
    wait_for(&d, "DONE");
    assert_true(saw(&d, ENTER_SCREEN));
    assert_true(saw(&d, MOUSE_CODE "h"));
    type(&d, "q");
    int status = ending(&d);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(saw(&d, LEAVE_SCREEN));
    assert_true(saw(&d, MOUSE_CODE "l"));
    assert_true(saw(&d, "left with 0 snapshots held"));
    finish(&d);
}

static void no_mouse_emits_no_mouse_codes(void **state)
{
    (void)state;
    static const char *const args[] = {"done", "--every=0", "--no-mouse", NULL};
    struct demo d = start("xterm-256color", args);
    wait_for(&d, "DONE");
    type(&d, "q");
    ending(&d);
    assert_true(saw(&d, LEAVE_SCREEN));
    assert_false(saw(&d, MOUSE_CODE));
    assert_false(saw(&d, "1006"));
    assert_false(saw(&d, "1002"));
    finish(&d);
}

static void the_first_q_asks_and_the_second_stops_the_run(void **state)
{
    (void)state;
    struct demo d = start("xterm-256color", running_args);
    wait_for(&d, "RUNNING");
    type(&d, "q");
    wait_for(&d, "q again");
    type(&d, "q");
    assert_int_equal(ending(&d), 0);
    assert_true(saw(&d, "stopped: stopped by q"));
    finish(&d);
}

static void keys_of_several_bytes_and_a_click_are_understood(void **state)
{
    (void)state;
    struct demo d = start("xterm-256color", done_args);
    wait_for(&d, "DONE");
    forget_output(&d);
    type(&d, "\033OB\f"); /* down, as xterm sends it in application mode, and a whole picture */
    wait_for(&d, "KLD histogram  q6_k");
    type(&d, "\033[<0;10;8M\f"); /* a press on column 10, row 8 */
    wait_for(&d, "KLD histogram  q5_k_m");
    type(&d, "\033OP"); /* F1 */
    wait_for(&d, "Keys");
    forget_output(&d);
    type(&d, "\033"); /* Escape alone */
    wait_for(&d, "KLD histogram");
    type(&d, "\033[21~"); /* F10 */
    assert_int_equal(ending(&d), 0);
    finish(&d);
}

static void a_byte_that_is_no_character_does_not_swallow_the_keys_behind_it(void **state)
{
    (void)state;
    struct demo d = start_in("C.UTF-8", "xterm-256color", done_args);
    wait_for(&d, "DONE");
    forget_output(&d);
    type(&d, "\xb2j\f"); /* no UTF-8 begins like this */
    wait_for(&d, "KLD histogram  q6_k");
    forget_output(&d);
    type(&d, "\xe2\x82j\f"); /* a euro sign that lacks its last byte */
    wait_for(&d, "KLD histogram  q5_k_m");
    forget_output(&d);
    type(&d, "\xf4\x90\x80\x80\f"); /* past the last code point, where the key Up has its number */
    wait_for(&d, "KLD histogram  q5_k_m");
    type(&d, "\xffq");
    assert_int_equal(ending(&d), 0);
    finish(&d);
}

static void a_character_whose_bytes_come_apart_is_one_key(void **state)
{
    (void)state;
    struct demo d = start_in("C.UTF-8", "xterm-256color", done_args);
    wait_for(&d, "DONE");
    forget_output(&d);
    type(&d, "/\xc3");
    wait_for(&d, "/"); /* so the first byte was there to be read */
    usleep(200000);
    type(&d, "\xa4\f");
    wait_for(&d, "\xc3\xa4");
    type(&d, "\033\033q");
    ending(&d);
    finish(&d);
}

static void a_crash_restores_the_terminal_and_dies_as_it_would_have(void **state)
{
    (void)state;
    static const char *const args[] = {"running", "--every=50", "--act=abort", NULL};
    struct termios before, after;
    struct demo d = start("xterm-256color", args);
    assert_int_equal(tcgetattr(d.line, &before), 0);
    int status = ending(&d);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_true(saw(&d, MOUSE_CODE "l"));
    /* What was written to standard error last is there to read, on the shell's screen. */
    const char *left = memmem(d.output, d.len, LEAVE_SCREEN, strlen(LEAVE_SCREEN));
    assert_non_null(left);
    assert_non_null(strstr(left, "the last words"));
    assert_int_equal(tcgetattr(d.line, &after), 0);
    assert_int_equal(after.c_lflag, before.c_lflag);
    assert_int_equal(after.c_iflag, before.c_iflag);
    finish(&d);
}

static void a_hangup_and_a_termination_end_it_cleanly(void **state)
{
    (void)state;
    static const struct {
        int sig;
        const char *why;
    } ends[] = {{SIGHUP, "hung up"}, {SIGTERM, "interrupted"}, {SIGINT, "interrupted"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct demo d = start("xterm-256color", running_args);
        wait_for(&d, "RUNNING");
        kill(d.pid, ends[i].sig);
        assert_int_equal(ending(&d), 0);
        assert_true(saw(&d, LEAVE_SCREEN));
        assert_true(saw(&d, ends[i].why));
        finish(&d);
    }
}

static void a_terminal_that_goes_away_ends_it(void **state)
{
    (void)state;
    struct demo d = start("xterm-256color", running_args);
    wait_for(&d, "RUNNING");
    close(d.line);
    d.line = -1;
    int status = ending(&d);
    assert_true(WIFEXITED(status));
    finish(&d);
}

static void it_follows_the_size_down_to_one_cell_and_back(void **state)
{
    (void)state;
    static const struct winsize sizes[] = {
        {.ws_row = 1, .ws_col = 1},   {.ws_row = 3, .ws_col = 10}, {.ws_row = 80, .ws_col = 250},
        {.ws_row = 1, .ws_col = 200}, {.ws_row = 60, .ws_col = 2}, {.ws_row = 24, .ws_col = 80}};
    struct demo d = start("xterm-256color", running_args);
    wait_for(&d, "RUNNING");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(ioctl(d.line, TIOCSWINSZ, &sizes[i]), 0);
        for (int64_t end = now_ms() + 150; now_ms() < end;)
            assert_true(listen_for(&d, 10));
    }
    forget_output(&d);
    type(&d, "\f"); /* Ctrl-L: everything is sent anew */
    wait_for(&d, "KLD mean");
    wait_for(&d, ":pause");
    type(&d, "qq");
    assert_int_equal(ending(&d), 0);
    finish(&d);
}

static void a_terminal_without_a_cursor_is_refused_with_what_to_do(void **state)
{
    (void)state;
    static const char *const terms[] = {"dumb", "no-such-terminal", ""};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        struct demo d = start(terms[i], done_args);
        int status = ending(&d);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 2);
        assert_true(saw(&d, "--headless"));
        assert_false(saw(&d, "\033"));
        finish(&d);
    }
}

static void no_color_sends_no_colours(void **state)
{
    (void)state;
    setenv("NO_COLOR", "1", 1);
    struct demo d = start("xterm-256color", done_args);
    unsetenv("NO_COLOR");
    wait_for(&d, "DONE");
    type(&d, "q");
    assert_int_equal(ending(&d), 0);
    assert_false(saw(&d, "38;5"));
    assert_false(saw(&d, "48;5"));
    for (char digit = '0'; digit <= '9'; digit++)
        assert_false(saw(&d, (char[]){'\033', '[', '3', digit, 'm', '\0'}));
    finish(&d);
}

/* Without the mouse: for the Linux console's one, ncurses loads gpm, which leaks ten bytes. */
static void a_terminal_with_eight_colours_or_none_gets_what_it_has(void **state)
{
    (void)state;
    static const char *const args[] = {"done", "--every=0", "--no-mouse", NULL};
    struct demo d = start("linux", args);
    wait_for(&d, "DONE");
    type(&d, "q");
    assert_int_equal(ending(&d), 0);
    assert_false(saw(&d, "38;5"));
    assert_true(saw(&d, "\033[36m") || saw(&d, ";36m"));
    finish(&d);
    d = start("vt100", args);
    wait_for(&d, "DONE");
    type(&d, "q");
    assert_int_equal(ending(&d), 0);
    assert_false(saw(&d, "\033[36m") || saw(&d, ";36m"));
    finish(&d);
}

static void standard_error_goes_to_the_log(void **state)
{
    (void)state;
    static const char *const args[] = {"running", "--every=50", "--act=stderr", NULL};
    struct demo d = start("xterm-256color", args);
    wait_for(&d, "RUNNING");
    for (int64_t end = now_ms() + 600; now_ms() < end;)
        assert_true(listen_for(&d, 10));
    assert_false(saw(&d, "a line on standard error"));
    type(&d, "qq");
    assert_int_equal(ending(&d), 0);
    assert_true(saw(&d, "noted \"a line on standard error\""));
    finish(&d);
}

/* Clock ticks that the process has used. */
static long ticks_of(pid_t pid)
{
    char path[64], *text;
    long user = 0, sys = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text = calloc(1, 4096);
    assert_non_null(text);
    assert_true(fread(text, 1, 4095, f) > 0);
    fclose(f);
    /* behind the name: state, and ten numbers before these two */
    assert_int_equal(sscanf(strrchr(text, ')') + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &sys),
                     2);
    free(text);
    return user + sys;
}

static void while_nothing_comes_it_sends_nothing_and_uses_no_time(void **state)
{
    (void)state;
    struct demo d = start("xterm-256color", done_args);
    wait_for(&d, "DONE");
    for (int64_t end = now_ms() + 300; now_ms() < end;)
        assert_true(listen_for(&d, 10));
    forget_output(&d);
    long before = ticks_of(d.pid);
    for (int64_t end = now_ms() + 500; now_ms() < end;)
        assert_true(listen_for(&d, 10));
    assert_int_equal(d.len, 0);
    assert_int_equal(ticks_of(d.pid), before);
    type(&d, "q");
    assert_int_equal(ending(&d), 0);
    finish(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_takes_the_screen_and_gives_it_back),
        cmocka_unit_test(no_mouse_emits_no_mouse_codes),
        cmocka_unit_test(the_first_q_asks_and_the_second_stops_the_run),
        cmocka_unit_test(keys_of_several_bytes_and_a_click_are_understood),
        cmocka_unit_test(a_byte_that_is_no_character_does_not_swallow_the_keys_behind_it),
        cmocka_unit_test(a_character_whose_bytes_come_apart_is_one_key),
        cmocka_unit_test(a_crash_restores_the_terminal_and_dies_as_it_would_have),
        cmocka_unit_test(a_hangup_and_a_termination_end_it_cleanly),
        cmocka_unit_test(a_terminal_that_goes_away_ends_it),
        cmocka_unit_test(it_follows_the_size_down_to_one_cell_and_back),
        cmocka_unit_test(a_terminal_without_a_cursor_is_refused_with_what_to_do),
        cmocka_unit_test(no_color_sends_no_colours),
        cmocka_unit_test(a_terminal_with_eight_colours_or_none_gets_what_it_has),
        cmocka_unit_test(standard_error_goes_to_the_log),
        cmocka_unit_test(while_nothing_comes_it_sends_nothing_and_uses_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

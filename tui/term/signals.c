#include "tui/term/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int noted[] = {SIGWINCH, SIGTSTP, SIGCONT, SIGINT, SIGTERM, SIGHUP};
static const int deadly[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGABRT, SIGQUIT,
                             SIGSYS,  SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};

#define N_NOTED     (sizeof noted / sizeof *noted)
#define N_DEADLY    (sizeof deadly / sizeof *deadly)
#define LAST_SIG    64
#define PATIENCE_MS 500

static struct {
    bool open;
    int wake[2];
    volatile sig_atomic_t came[LAST_SIG + 1];
    struct sigaction before[LAST_SIG + 1];
    struct ks_reset reset;
    volatile sig_atomic_t has_reset;
    volatile sig_atomic_t asked; /* times INT and TERM came */
    volatile sig_atomic_t real_stderr, stderr_pipe;
} state;

static bool is_function(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

static void call_before(int sig, siginfo_t *info, void *context)
{
    const struct sigaction *a = &state.before[sig];
    if (!is_function(a))
        return;
    if (a->sa_flags & SA_SIGINFO)
        a->sa_sigaction(sig, info, context);
    else
        a->sa_handler(sig);
}

/* A byte at a time, each when there is room for it: a terminal that has stopped reading must not
 * keep a program that is told to die. */
static void write_all(int fd, const char *bytes, size_t len)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    for (; len > 0 && poll(&room, 1, PATIENCE_MS) > 0; len--)
        if (write(fd, bytes++, 1) != 1)
            return;
}

/* What was written last is what tells why: it must not stay in the pipe. */
static void give_stderr_back(void)
{
    char bytes[512];
    ssize_t n;
    if (state.real_stderr < 0)
        return;
    dup2(state.real_stderr, STDERR_FILENO);
    while ((n = read(state.stderr_pipe, bytes, sizeof bytes)) > 0)
        write_all(STDERR_FILENO, bytes, (size_t)n);
}

/* Only calls that are allowed in a handler. */
static void restore_terminal(void)
{
    if (state.has_reset) {
        write_all(STDOUT_FILENO, state.reset.bytes, state.reset.len);
        tcsetattr(STDIN_FILENO, TCSANOW, &state.reset.modes);
        state.has_reset = 0;
    }
    give_stderr_back();
}

static void on_noted(int sig, siginfo_t *info, void *context)
{
    int saved = errno;
    state.came[sig] = 1;
    /* Whoever asks twice may get an _exit from the handler of before. */
    if ((sig == SIGINT || sig == SIGTERM) && state.asked++ > 0)
        restore_terminal();
    call_before(sig, info, context);
    ssize_t full = write(state.wake[1], "", 1);
    (void)full; /* a full pipe wakes as well */
    errno = saved;
}

static void on_deadly(int sig, siginfo_t *info, void *context)
{
    restore_terminal();
    /* Who guards mapped files may know what a SIGBUS means, tell it, and end the program. */
    if (sig == SIGBUS)
        call_before(sig, info, context);
    sigaction(sig, &state.before[sig], NULL);
    /* A fault comes again by itself, at its place; everything else is sent again. */
    bool fault = sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE;
    if (!fault || info->si_code <= 0)
        raise(sig);
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction a = {.sa_flags = SA_SIGINFO | SA_RESTART, .sa_sigaction = handler};
    sigemptyset(&a.sa_mask);
    sigaction(sig, NULL, &state.before[sig]);
    if (!(state.before[sig].sa_flags & SA_SIGINFO) && state.before[sig].sa_handler == SIG_IGN)
        return; /* nohup and its like */
    sigaction(sig, &a, NULL);
}

int ks_signals_open(struct ks_error *err)
{
    if (pipe2(state.wake, O_CLOEXEC | O_NONBLOCK))
        return ks_fail_errno(err, "cannot make a pipe for signals");
    state.real_stderr = state.stderr_pipe = -1;
    state.has_reset = state.asked = 0;
    for (size_t i = 0; i <= LAST_SIG; i++)
        state.came[i] = 0;
    for (size_t i = 0; i < N_NOTED; i++)
        install(noted[i], on_noted);
    for (size_t i = 0; i < N_DEADLY; i++)
        install(deadly[i], on_deadly);
    state.open = true;
    return 0;
}

void ks_signals_close(void)
{
    if (!state.open)
        return;
    for (size_t i = 0; i < N_NOTED; i++)
        sigaction(noted[i], &state.before[noted[i]], NULL);
    for (size_t i = 0; i < N_DEADLY; i++)
        sigaction(deadly[i], &state.before[deadly[i]], NULL);
    close(state.wake[0]);
    close(state.wake[1]);
    state.open = false;
}

int ks_signals_fd(void)
{
    return state.wake[0];
}

void ks_signals_drain(void)
{
    char bytes[64];
    while (read(state.wake[0], bytes, sizeof bytes) > 0)
        ;
}

bool ks_signals_came(int sig)
{
    bool came = state.came[sig];
    state.came[sig] = 0;
    return came;
}

void ks_signals_on_crash(const struct ks_reset *reset)
{
    state.has_reset = 0;
    if (!reset)
        return;
    state.reset = *reset;
    state.has_reset = 1;
}

void ks_signals_stderr(int real, int pipe)
{
    state.real_stderr = real;
    state.stderr_pipe = pipe;
}

void ks_signals_suspend(void)
{
    struct sigaction ours, stop = {.sa_handler = SIG_DFL};
    sigemptyset(&stop.sa_mask);
    sigaction(SIGTSTP, &stop, &ours);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
}

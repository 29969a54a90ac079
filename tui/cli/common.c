#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "tui/cli/cli.h"

volatile sig_atomic_t cli_interrupted, cli_hung_up;

static void on_interrupt(int signal)
{
    (void)signal;
    if (cli_interrupted)
        _exit(CLI_INTERRUPTED);
    cli_interrupted = 1;
}

static void on_hangup(int signal)
{
    (void)signal;
    cli_hung_up = 1;
}

/* What nohup, or a shell that starts us in the background, ignores stays ignored. */
static void catch_unless_ignored(int signal, void (*handler)(int))
{
    struct sigaction before;
    sigaction(signal, NULL, &before);
    if (before.sa_handler != SIG_IGN)
        sigaction(signal, &(struct sigaction){.sa_handler = handler}, NULL);
}

/* Nothing that was computed from a file that is gone can be told; what is left is to name it. */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
    static volatile atomic_flag told = ATOMIC_FLAG_INIT;
    const char *file = info->si_code > 0 ? ks_model_file_at(info->si_addr) : NULL;
    (void)context;
    if (!file) {
        sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        if (info->si_code <= 0)
            raise(signal);
        return; /* the fault comes again */
    }
    while (atomic_flag_test_and_set(&told))
        pause(); /* another thread's words end the program */
    cli_say_in_handler(file,
                       ": it shrank, or its disk failed, while it was being read; download it "
                       "again, and leave it alone while it is measured");
    _exit(CLI_USAGE);
}

void cli_catch_interrupts(void)
{
    catch_unless_ignored(SIGINT, on_interrupt);
    catch_unless_ignored(SIGTERM, on_interrupt);
    catch_unless_ignored(SIGHUP, on_hangup);
}

void cli_catch_faults(void)
{
    sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO},
              NULL);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    /* A file beyond the limit on files' sizes: the write says so. */
    sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

int cli_fail(const struct ks_error *err)
{
    cli_say("%s", err->text);
    switch (err->code) {
    case KS_CANCELLED:
        return CLI_INTERRUPTED;
    case KS_NO_MEMORY:
    case KS_INTERNAL:
        return CLI_INTERNAL;
    default:
        return CLI_USAGE;
    }
}

struct ks_model *cli_open_model(const struct cli_command *self, const struct cli_list *operands,
                                enum cli_opening opening, int *status)
{
    if (operands->n != 1) {
        *status =
            cli_usage(self, operands->n ? "one model at a time" : "name a model: a .gguf file");
        return NULL;
    }
    struct ks_error err;
    struct ks_model *m = opening == CLI_TO_LOOK_AT
                             ? ks_model_peek(operands->items[0], NULL, &err)
                             : ks_model_open(operands->items[0], NULL, NULL, &err);
    if (!m)
        *status = cli_fail(&err);
    return m;
}

static int read_all(int fd, const char *path, struct ks_buf *b, struct ks_error *err)
{
    char piece[65536];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n == 0)
            return ks_buf_put(b, "", 0, err);
        if (n < 0 && errno == EINTR && !cli_interrupted)
            continue;
        if (n < 0 && errno == EINTR)
            return ks_fail(err, KS_CANCELLED, "%s: interrupted", path);
        if (n < 0)
            return ks_fail_errno(err, "%s: cannot read", path);
        if (ks_buf_put(b, piece, (size_t)n, err))
            return -1;
    }
}

char *cli_read_file(const char *path, size_t *len, struct ks_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && cli_interrupted) {
        ks_fail(err, KS_CANCELLED, "%s: interrupted", path);
        return NULL;
    }
    if (fd < 0) {
        ks_fail_errno(err, "%s: cannot open", path);
        return NULL;
    }
    struct ks_buf b = {0};
    int failed = read_all(fd, is_stdin ? "standard input" : path, &b, err);
    if (!is_stdin)
        close(fd);
    if (failed) {
        ks_buf_finish(&b);
        return NULL;
    }
    *len = b.len;
    return b.bytes;
}

/* json_pack gives nothing where a text is no UTF-8, or without memory. */
int cli_json_failed(const char *subject)
{
    struct ks_error err;
    ks_fail(&err, KS_BAD_INPUT,
            "%s: what it is called cannot be written as JSON (is a name not UTF-8?)", subject);
    return cli_fail(&err);
}

int cli_finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_DONE;
    if (errno != EPIPE) /* who reads no further, as head does, knows it */
        cli_say("cannot write the output: %s", strerror(errno));
    return CLI_USAGE;
}

int cli_output_width(void)
{
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

const char *cli_data_folder(void)
{
    const char *set = getenv("KLDSCOPE_DATA");
    return set && *set ? set : KS_DATA_ROOT;
}

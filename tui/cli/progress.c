#include "tui/cli/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/base/clock.h"

/* How often progress is told. */
#define TERMINAL_NS 200000000
#define LOG_NS      5000000000

struct cli_progress cli_progress_begin(void)
{
    const char *term = getenv("TERM");
    return (struct cli_progress){
        .terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0,
        .told_ns = ks_clock_ns(),
    };
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->line_open)
        fprintf(stderr, "\r\033[K");
    p->line_open = false;
}

/* A line that is longer than the terminal is wide could not be written over again: it is cut. */
static void write_over(const char *text)
{
    struct winsize size;
    char shown[CLI_SHOWN];
    int room = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
    fprintf(stderr, "\r\033[K");
    for (size_t len; *text;) {
        text += cli_show_next(text, shown, &len);
        room -= shown[0] == '\\' ? (int)len : len > 1 ? 2 : 1;
        if (room <= 0)
            break;
        fwrite(shown, 1, len, stderr);
    }
}

/* Warnings and errors as they come; what is told as information stays in the log. */
static void tell_log(struct cli_progress *p, const struct ks_snapshot *s)
{
    static const char *const levels[] = {"", "warning: ", "error: "};
    if (p->log_told < s->log_lost)
        p->log_told = s->log_lost;
    for (; p->log_told < s->log_lost + s->n_log; p->log_told++) {
        const struct ks_log_line *l = &s->log[p->log_told - s->log_lost];
        if (l->level == KS_LOG_INFO || s->state == KS_RUN_FAILED)
            continue;
        cli_progress_end(p);
        cli_say("%s%s", levels[l->level], l->text);
    }
}

static void format_progress(const struct ks_snapshot *s, char *text, size_t size)
{
    if (!s->facts || s->tokens == 0) {
        snprintf(text, size, "%s", s->doing);
        return;
    }
    double share = (double)s->tokens / (double)s->facts->to_compute;
    double seconds = (double)s->elapsed_ns / 1e9;
    double left = share > 0 ? seconds / share - seconds : 0;
    double flops = seconds > 0 ? s->flops / seconds : 0;
    char peak[32] = "";
    if (s->facts->peak_flops > 0)
        snprintf(peak, sizeof peak, ", %.0f %% of peak", 100 * flops / s->facts->peak_flops);
    snprintf(text, size, "window %zu/%zu  %3.0f %%  %.0f tok/s/arm  %.1f GFLOP/s%s  %.0f s left",
             s->windows, s->facts->windows, 100 * share,
             seconds > 0 ? (double)s->tokens / seconds : 0, flops / 1e9, peak, left);
}

void cli_progress_tell(struct cli_progress *p, const struct ks_snapshot *s)
{
    char text[256];
    tell_log(p, s);
    int64_t now = ks_clock_ns();
    if (s->state > KS_RUN_PAUSED || now - p->told_ns < (p->terminal ? TERMINAL_NS : LOG_NS))
        return;
    format_progress(s, text, sizeof text);
    if (!*text || strcmp(text, p->told) == 0)
        return;
    p->told_ns = now;
    snprintf(p->told, sizeof p->told, "%s", text);
    if (p->terminal)
        write_over(text);
    else
        cli_say("%s", text);
    p->line_open = p->terminal;
}

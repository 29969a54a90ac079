#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/cli/plan.h"
#include "tui/cli/progress.h"
#include "tui/tui.h"

struct wishes {
    struct cli_run_wishes plan;
    bool headless, json, plain, timing, no_mouse, ascii, detach;
    const char *theme;
};

/* ------------------------------------------------------------------ headless */

/* Devices that are streams of ours are a terminal, or nothing. What is gone takes no words, and
 * would make an error of every one. */
static void let_go_of_terminal(void)
{
    struct stat s;
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; nowhere >= 0 && fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &s) == 0 && S_ISCHR(s.st_mode))
            dup2(nowhere, fd);
    if (nowhere >= 0)
        close(nowhere);
    clearerr(stdout);
}

struct heed {
    bool detach;   /* the run outlives its terminal */
    bool detached; /* and has */
    bool stopping;
};

static void heed_signals(struct ks_run *run, struct heed *h, struct cli_progress *p)
{
    if (cli_hung_up && h->detach && !h->detached) {
        cli_progress_end(p);
        let_go_of_terminal();
        ks_run_note(run, KS_LOG_INFO, "the terminal went away; the run goes on");
        h->detached = true;
    }
    if (h->stopping || !(cli_interrupted || (cli_hung_up && !h->detached)))
        return;
    cli_progress_end(p);
    cli_say("stopping after the windows in flight; once more ends at once");
    ks_run_stop(run, cli_interrupted ? "interrupted" : "the terminal went away");
    h->stopping = true;
}

static void watch_headless(struct ks_run *run, bool detach)
{
    struct heed h = {.detach = detach};
    struct cli_progress p = cli_progress_begin();
    for (bool over = false; !over;) {
        struct pollfd fd = {.fd = ks_run_wake_fd(run), .events = POLLIN};
        poll(&fd, 1, 200);
        heed_signals(run, &h, &p);
        const struct ks_snapshot *s = ks_run_snapshot(run);
        cli_progress_tell(&p, s);
        over = s->state >= KS_RUN_DONE;
        ks_snapshot_release(s);
    }
    cli_progress_end(&p);
}

/* ------------------------------------------------------------------ both */

/* Whoever reads JSON asked for no words; how to go on is told to everybody. */
static void tell_where_it_is(const struct ks_run *run, const struct ks_snapshot *s,
                             const struct wishes *w)
{
    const char *file = ks_run_file(run);
    if (!file || !s->facts)
        return;
    if (s->state == KS_RUN_STOPPED)
        cli_say("what is done is kept in %s; kldscope run ... --out %s --resume goes on with it",
                file, file);
    else if (!w->json)
        cli_say("kept in %s; kldscope report %s", file, file);
}

static int print_result(struct ks_run *run, const struct wishes *w)
{
    struct ks_error err;
    const struct ks_snapshot *s = ks_run_snapshot(run);
    int status = CLI_DONE;
    if (s->state == KS_RUN_STOPPED && s->positions == 0) {
        cli_say("stopped before the first window was done: there is nothing to tell");
    } else if (s->facts) {
        char *text = w->json ? ks_report_json(s, w->timing, &err)
                             : ks_report_table(s, cli_output_width(), &err);
        if (text)
            fputs(text, stdout);
        status = text ? cli_finish_output() : cli_fail(&err);
        free(text);
    }
    tell_where_it_is(run, s, w);
    /* A table that a closed terminal didn't take is no reason of its own. */
    if ((status == CLI_DONE || cli_hung_up) && s->state == KS_RUN_STOPPED)
        status = CLI_INTERRUPTED;
    ks_snapshot_release(s);
    return status;
}

static int watch(struct ks_run *run, const struct wishes *w, bool headless, struct ks_error *err)
{
    bool detach = w->detach && ks_run_file(run);
    if (headless) {
        watch_headless(run, detach);
        return 0;
    }
    struct ks_tui_options options = {
        .mouse = !w->no_mouse,
        .ascii = w->ascii,
        .theme = w->theme,
        .interrupted = &cli_interrupted,
        .detach = detach,
    };
    int left = ks_tui_run(run, &options, err);
    if (left != KS_TUI_DETACHED)
        return left;
    cli_hung_up = true; /* nor need a terminal that is gone have sent a signal */
    watch_headless(run, detach);
    return 0;
}

/* The workbench wants a terminal on both ends; a pipe gets the table. */
static bool has_screen(const struct wishes *w)
{
    return !w->headless && !w->json && !w->plain && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* A run that is over needs no end, nor a line in its log that tells of one. */
static void stop_if_it_runs(struct ks_run *run)
{
    const struct ks_snapshot *s = ks_run_snapshot(run);
    if (s->state < KS_RUN_DONE)
        ks_run_stop(run, "the screen was left");
    ks_snapshot_release(s);
}

static int run_plan(struct ks_plan *plan, const struct wishes *w)
{
    struct ks_error err;
    struct ks_run *run = ks_run_create(plan, &err);
    if (!run)
        return cli_fail(&err);
    int status;
    if (ks_run_start(run, &err) || watch(run, w, !has_screen(w), &err)) {
        status = cli_fail(&err);
    } else {
        stop_if_it_runs(run);
        status = ks_run_join(run, &err) ? cli_fail(&err) : print_result(run, w);
    }
    ks_run_destroy(run);
    return status;
}

int cli_run(const struct cli_command *self, int argc, char **argv)
{
    cli_catch_interrupts();
    struct wishes w = {0};
    const struct cli_option options[] = {
        {"arm", 0, "PRESET|FILE|kv=TYPE",
         "an arm: a preset such as Q4_K_M, another model, or the reference with keys and values "
         "kept as a type, kv=Q8_0 or (keys/values) kv=Q8_0/Q4_0; Q4_K_M+kv=Q8_0 for both "
         "(repeats)",
         CLI_LIST, &w.plan.arms},
        {"corpus", 0, "FILE", "a text to run over: .txt or .jsonl (repeats)", CLI_LIST,
         &w.plan.corpora},
        {"param", 'p', "NAME=VALUE", "a parameter that the scenario declares (repeats)", CLI_LIST,
         &w.plan.params},
        {"window", 0, "N", "tokens a window (512)", CLI_COUNT, &w.plan.window},
        {"max-documents", 0, "N", "only the first N documents of each file", CLI_COUNT,
         &w.plan.max_documents},
        {"scoring", 0, "window|llama",
         "every position once, or as llama-perplexity does, to compare with its numbers",
         CLI_STRING, &w.plan.scoring.scoring},
        {"activations", 0, "f32|q8",
         "whether the arms round activations as llama.cpp's CPU kernels do", CLI_STRING,
         &w.plan.scoring.activations},
        {"threads", 0, "N", "worker threads (all that are allowed)", CLI_THREADS, &w.plan.threads},
        {"head", 0, "auto|cpu|vulkan", "where the output head runs", CLI_STRING, &w.plan.head.head},
        {"device", 0, "DEVICE", "a GPU by index, UUID or a part of its name", CLI_STRING,
         &w.plan.head.device},
        {"head-path", 0, "auto|few|many|matrix",
         "how a GPU multiplies: few rows, many rows, matrix cores (the fastest it has)", CLI_STRING,
         &w.plan.head.path},
        {"no-cache", 0, NULL, "quantize all arms anew, and keep none (kldscope cache)", CLI_FLAG,
         &w.plan.no_cache},
        {"out", 0, "FILE", "the run file (a name from scenario and time, in this folder)",
         CLI_STRING, &w.plan.file.out},
        {"resume", 0, NULL, "go on with that file, or the newest of this scenario, if there is one",
         CLI_FLAG, &w.plan.file.resume},
        {"no-file", 0, NULL, "keep no run file", CLI_FLAG, &w.plan.file.none},
        {"shard", 0, "I/N",
         "only every N-th window, from the I-th on: for N machines (kldscope merge joins them)",
         CLI_STRING, &w.plan.file.shard},
        {"detach-on-hangup", 0, NULL,
         "when the terminal goes away, go on without it and fill the run file", CLI_FLAG,
         &w.detach},
        {"headless", 0, NULL, "no screen: progress on standard error, the table at the end",
         CLI_FLAG, &w.headless},
        {"json", 0, NULL, "headless, with the summary as JSON", CLI_FLAG, &w.json},
        {"timing", 0, NULL, "times and threads in the JSON as well", CLI_FLAG, &w.timing},
        {"plain", 0, NULL, "headless, for screen readers and logs", CLI_FLAG, &w.plain},
        {"no-mouse", 0, NULL, "leave the mouse to the terminal", CLI_FLAG, &w.no_mouse},
        {"ascii", 0, NULL, "draw with ASCII alone", CLI_FLAG, &w.ascii},
        {"theme", 0, "NAME", "dark, light, mono or colourblind", CLI_STRING, &w.theme},
        {0},
    };
    int status = cli_parse(self, options, argc, argv, &w.plan.operands);
    if (status < 0 && w.plan.operands.n > 1)
        status = cli_usage(self, "one scenario or reference at a time, not also \"%s\"",
                           w.plan.operands.items[1]);
    if (status < 0 && w.detach && w.plan.file.none)
        status = cli_usage(self, "--detach-on-hangup goes on for the run file's sake: it has no "
                                 "--no-file");
    if (status < 0) {
        struct ks_error err;
        struct ks_plan *plan = cli_make_plan(&w.plan, &err);
        status = plan ? run_plan(plan, &w) : cli_fail(&err);
    }
    free(w.plan.operands.items);
    free(w.plan.arms.items);
    free(w.plan.corpora.items);
    free(w.plan.params.items);
    return status;
}

#include "tui/tui.h"

#include "tui/loop.h"

static const struct ks_snapshot *snapshot(void *ctx)
{
    return ks_run_snapshot(ctx);
}

static void release(void *ctx, const struct ks_snapshot *s)
{
    (void)ctx;
    ks_snapshot_release(s);
}

static void stop(void *ctx, const char *why)
{
    ks_run_stop(ctx, why);
}

static void note(void *ctx, enum ks_log_level level, const char *text)
{
    ks_run_note(ctx, level, text);
}

int ks_tui_run(struct ks_run *run, const struct ks_tui_options *options, struct ks_error *err)
{
    const struct ks_tui_source source = {
        .ctx = run,
        .snapshot = snapshot,
        .release = release,
        .wake_fd = ks_run_wake_fd(run),
        .stop = stop,
        .note = note,
    };
    return ks_loop_run(&source, options, err);
}

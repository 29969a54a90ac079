/*
 * A run file as the source of a screen. What can't be read now and then (a full table of files, a
 * lock) is told and tried again at the next look; the last snapshot stays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "tui/loop.h"
#include "tui/screen/screen.h"

struct watched {
    struct ks_saved *saved;
    bool cut_short;          /* as of the last look */
    struct ks_error trouble; /* KS_OK: none */
    char gone[1024];
};

static const struct ks_snapshot *snapshot(void *ctx)
{
    const struct watched *w = ctx;
    return ks_saved_snapshot(w->saved);
}

static void release(void *ctx, const struct ks_snapshot *s)
{
    (void)ctx;
    ks_snapshot_release(s);
}

/* The run isn't ours to end, nor its log ours to write. */
static void stop(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
}

static void note(void *ctx, enum ks_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)text;
}

static bool look(void *ctx)
{
    struct watched *w = ctx;
    struct ks_error err = {0};
    bool news = false, was_cut_short = w->cut_short;
    if (ks_saved_refresh(w->saved, &news, &err) == 0)
        err = (struct ks_error){0};
    w->cut_short = ks_saved_is_cut_short(w->saved);
    bool same = err.code == w->trouble.code && strcmp(err.text, w->trouble.text) == 0;
    w->trouble = err;
    return !same || w->cut_short != was_cut_short;
}

static const char *notice(void *ctx, bool *bad)
{
    struct watched *w = ctx;
    *bad = w->trouble.code != KS_OK;
    if (*bad)
        return w->trouble.text;
    return w->cut_short ? w->gone : "";
}

static struct watched watched_of(struct ks_saved *saved, const char *path)
{
    struct watched w = {.saved = saved, .cut_short = ks_saved_is_cut_short(saved)};
    snprintf(w.gone, sizeof w.gone,
             "the process that wrote this run is gone: stopped, go on with run --resume --out %s",
             path);
    return w;
}

static struct ks_tui_source source_of(struct watched *w)
{
    return (struct ks_tui_source){
        .ctx = w,
        .snapshot = snapshot,
        .release = release,
        .wake_fd = ks_saved_wake_fd(w->saved),
        .stop = stop,
        .note = note,
        .look = look,
        .notice = notice,
    };
}

int ks_tui_watch(struct ks_saved *saved, const char *path, const struct ks_tui_options *options,
                 struct ks_error *err)
{
    struct watched w = watched_of(saved, path);
    const struct ks_tui_source source = source_of(&w);
    return ks_loop_run(&source, options, err);
}

char *ks_tui_picture(struct ks_saved *saved, const char *path, bool ascii, int width, int height,
                     struct ks_error *err)
{
    struct watched w = watched_of(saved, path);
    const struct ks_tui_source source = source_of(&w);
    struct ks_screen screen;
    struct ks_grid grid = {.ascii = ascii};
    struct ks_buf text = {0};
    int failed = ks_screen_init(&screen, &source, ascii, err);
    if (!failed)
        failed = ks_grid_resize(&grid, width, height, err);
    if (!failed) {
        ks_screen_draw(&screen, &grid);
        failed = ks_grid_dump(&grid, &text, err);
    }
    ks_screen_finish(&screen);
    ks_grid_finish(&grid);
    if (failed)
        ks_buf_finish(&text);
    return failed ? NULL : text.bytes;
}

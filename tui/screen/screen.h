/*
 * The workbench as data: what is shown, what is selected, how it is sorted. Events go in, a picture
 * comes out; no terminal is needed for either.
 *
 * A screen holds the newest snapshot of its source, and one more where the person froze the picture
 * or scrolled back in the log. It belongs to one thread; the source must outlive it.
 */
#ifndef KS_TUI_SCREEN_SCREEN_H
#define KS_TUI_SCREEN_SCREEN_H

#include "tui/draw/glyphs.h"
#include "tui/draw/grid.h"
#include "tui/draw/theme.h"
#include "tui/screen/layout.h"
#include "tui/source.h"
#include "tui/term/input.h"

#define KS_FILTER_SIZE 64
#define KS_MAX_HITS    64

struct ks_screen;
struct ks_action;

/* A range that grows when it must and never shrinks, so that axes don't jump. Empty: high < low. */
struct ks_range {
    double low, high;
};

/* How far a movement goes, to up (-) or down (+). */
enum ks_stride { KS_BY_LINE, KS_BY_PAGE, KS_TO_END };

/* One pane. Each call gets the rectangle that the pane was given. */
struct ks_pane {
    const char *name;
    /* Draws within r and nowhere else; r is not empty. */
    void (*draw)(struct ks_screen *s, struct ks_grid *g, struct ks_rect r);
    /* Follows a movement key or the wheel. */
    void (*move)(struct ks_screen *s, struct ks_rect r, enum ks_stride stride, int direction);
    /* A click on column x, row y of the screen, inside r. NULL: nothing but the focus. */
    void (*click)(struct ks_screen *s, struct ks_rect r, int x, int y);
};

/* Where a hint was drawn, for clicks on it. */
struct ks_hit {
    int x, y, columns;
    const struct ks_action *action;
};

struct ks_screen {
    const struct ks_tui_source *source;
    const struct ks_glyphs *glyphs;
    int width, height; /* of the last picture */

    const struct ks_snapshot *now;
    const struct ks_snapshot *frozen;   /* NULL: the picture is live */
    const struct ks_snapshot *log_held; /* NULL: the log follows */

    enum ks_pane_id focus;
    bool zoomed, help;
    int help_top; /* first line of the help that is shown */
    int log_up;   /* lines the held log is scrolled back */

    size_t selected; /* index in facts->arms; kept while the order changes */
    size_t sort;     /* index in the column table */
    bool descending;
    size_t *rows; /* (n_rows) the arms shown, in order; n_rows <= rows_cap */
    size_t n_rows, rows_cap;
    int arms_top; /* first of rows that is shown */

    char filter[KS_FILTER_SIZE];
    char filter_before[KS_FILTER_SIZE]; /* what Escape goes back to */
    bool filtering;                     /* the prompt is open */

    struct ks_range decades; /* of the histogram's axis, in powers of ten */
    struct ks_range trend;   /* of p99 by window, log10 */
    size_t trend_seen;       /* windows that trend covers */

    int64_t now_ns; /* of the last event or tick */
    bool leave_asked;
    int64_t leave_until_ns; /* a second q until then means it */
    bool quit, repaint;     /* for the loop: leave; draw from nothing */

    struct ks_hit hits[KS_MAX_HITS];
    size_t n_hits;
};

/* Takes the source's newest snapshot. ks_screen_finish accepts a screen whose init failed. */
int ks_screen_init(struct ks_screen *s, const struct ks_tui_source *source, bool ascii,
                   struct ks_error *err);
void ks_screen_finish(struct ks_screen *s);

/* Looks whether the source has a newer snapshot. */
int ks_screen_refresh(struct ks_screen *s, struct ks_error *err);

/* now_ns: of any clock that only goes forward, the same in all calls. */
void ks_screen_event(struct ks_screen *s, const struct ks_event *event, int64_t now_ns);

/* Lets what is timed run out. When to come again, or -1: nothing ticks. */
int64_t ks_screen_tick(struct ks_screen *s, int64_t now_ns);

/* Draws everything into g, whatever its size. */
void ks_screen_draw(struct ks_screen *s, struct ks_grid *g);

/* Where the cursor belongs (the filter's prompt); false: nowhere. Valid after a drawing. */
bool ks_screen_cursor(const struct ks_screen *s, int *x, int *y);

/* ------------------------------------------------------------------ for the parts of a screen */

extern const struct ks_pane ks_arms_pane, ks_histogram_pane, ks_log_pane;
const struct ks_pane *ks_screen_pane(enum ks_pane_id id);

/* The snapshot that is on view: the frozen one, else the newest. */
const struct ks_snapshot *ks_screen_shown(const struct ks_screen *s);
struct ks_layout ks_screen_layout(const struct ks_screen *s);
bool ks_screen_unfinished(const struct ks_screen *s);

void ks_screen_freeze(struct ks_screen *s, bool on);
void ks_screen_hold_log(struct ks_screen *s, bool on);
void ks_screen_focus(struct ks_screen *s, enum ks_pane_id id);
void ks_screen_move(struct ks_screen *s, enum ks_stride stride, int direction);
void ks_screen_sort(struct ks_screen *s, size_t column, bool descending);
void ks_screen_filter_open(struct ks_screen *s);
void ks_screen_filter_set(struct ks_screen *s, const char *text);
void ks_screen_leave(struct ks_screen *s);

/* Draws the border of a pane with its number, name and more in it, where the rectangle is large
 * enough for one; returns what is left for the content. note: at the right, or "". */
struct ks_rect ks_screen_frame(const struct ks_screen *s, struct ks_grid *g, struct ks_rect r,
                               enum ks_pane_id id, const char *more, const char *note);
/* The border alone, with a title in it that has its own spaces around. */
void ks_screen_box(const struct ks_screen *s, struct ks_grid *g, struct ks_rect r, bool focus,
                   const char *title, const char *note);
/* What a frame would leave. */
struct ks_rect ks_screen_inside(struct ks_rect r);

void ks_header_draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r);
void ks_hints_draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r);
void ks_help_draw(struct ks_screen *s, struct ks_grid *g);
void ks_help_move(struct ks_screen *s, enum ks_stride stride, int direction);

/* A line over the panes: what is being prepared, why the run failed, or what there is to know of
 * the file that it's watched through. "" where there is none. *bad: it's an error. */
const char *ks_notice_text(const struct ks_screen *s, bool *bad);
void ks_notice_draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r);

#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/draw/strip.h"
#include "tui/screen/actions.h"
#include "tui/screen/columns.h"
#include "tui/screen/format.h"
#include "tui/screen/rows.h"
#include "tui/screen/screen.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define BAR_COLUMNS 20
#define BAR_LEAST   8
#define HEAD_LEAST  20 /* columns; the reason for no GPU is cut down to this */

static const struct {
    const char *word;
    enum ks_glyph_id glyph;
    int role;
} states[] = {
    [KS_RUN_PREPARING] = {"PREPARING", KS_GLYPH_PREPARING, KS_ROLE_PREPARING},
    [KS_RUN_RUNNING] = {"RUNNING", KS_GLYPH_RUNNING, KS_ROLE_RUNNING},
    [KS_RUN_PAUSED] = {"PAUSED", KS_GLYPH_PAUSED, KS_ROLE_PAUSED},
    [KS_RUN_DONE] = {"DONE", KS_GLYPH_DONE, KS_ROLE_DONE},
    [KS_RUN_STOPPED] = {"STOPPED", KS_GLYPH_STOPPED, KS_ROLE_STOPPED},
    [KS_RUN_FAILED] = {"FAILED", KS_GLYPH_RUN_FAILED, KS_ROLE_FAILED},
};

static double seconds(const struct ks_snapshot *shown)
{
    return (double)shown->elapsed_ns / 1e9;
}

/* Of the work, which windows share unevenly. */
static double done_fraction(const struct ks_snapshot *shown)
{
    size_t all = shown->facts ? shown->facts->to_compute : 0;
    return all > 0 ? (double)shown->tokens / (double)all : 0;
}

static double eta_seconds(const struct ks_snapshot *shown)
{
    bool going = shown->state == KS_RUN_RUNNING || shown->state == KS_RUN_PAUSED;
    double done = done_fraction(shown);
    return going && done > 0 ? seconds(shown) / done - seconds(shown) : NAN;
}

/* What a snapshot tells about its progress, as text. */
struct progress {
    char window[64], percent[16], time[KS_FORMAT_SIZE + 8], state[32];
};

static struct progress progress_of(const struct ks_screen *s, const struct ks_snapshot *shown)
{
    struct progress p = {0};
    char duration[KS_FORMAT_SIZE];
    if (shown->facts) {
        snprintf(p.window, sizeof p.window, "window %zu/%zu", shown->windows,
                 shown->facts->windows);
        snprintf(p.percent, sizeof p.percent, "%3d%%", (int)(done_fraction(shown) * 100));
    }
    if (isfinite(eta_seconds(shown))) {
        ks_format_duration(duration, eta_seconds(shown));
        snprintf(p.time, sizeof p.time, "ETA %s", duration);
    } else if (shown->elapsed_ns > 0) {
        ks_format_duration(duration, seconds(shown));
        snprintf(p.time, sizeof p.time, "in %s", duration);
    }
    snprintf(p.state, sizeof p.state, "%s %s", s->glyphs->one[states[shown->state].glyph],
             states[shown->state].word);
    return p;
}

static void separator(const struct ks_screen *s, char out[16])
{
    snprintf(out, 16, " %s ", s->glyphs->one[KS_GLYPH_SEPARATOR]);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Which run, and how far it is. */
static void draw_progress(struct ks_screen *s, struct ks_grid *g, int y)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    const struct ks_facts *facts = shown->facts;
    struct progress p = progress_of(s, shown);
    char bar[16];
    separator(s, bar);
    const char *reference = facts && facts->reference_name ? facts->reference_name : "";
    const char *scenario = facts && facts->scenario ? base_name(facts->scenario) : "";
    struct ks_part parts[] = {
        {.text = "kldscope", .role = KS_ROLE_PROGRAM, .keep = 3},
        {.text = reference, .role = KS_ROLE_TEXT, .keep = 4, .gap = "  "},
        {.text = scenario, .role = KS_ROLE_TEXT, .keep = 2, .gap = bar},
        {.text = p.window, .role = KS_ROLE_TEXT, .keep = 7, .gap = "  ", .right = true},
        {.text = "",
         .keep = 1,
         .gap = " ",
         .right = true,
         .shrinks = BAR_LEAST,
         .bar = facts ? BAR_COLUMNS : 0,
         .fraction = done_fraction(shown)},
        {.text = p.percent, .role = KS_ROLE_TEXT, .keep = 6, .gap = " ", .right = true},
        {.text = p.time, .role = KS_ROLE_TEXT, .keep = 5, .gap = "  ", .right = true},
        {.text = s->source->look ? "WATCHING" : "",
         .role = KS_ROLE_NOTICE,
         .keep = 8,
         .gap = "  ",
         .right = true},
        {.text = p.state, .role = states[shown->state].role, .keep = 9, .gap = "  ", .right = true},
    };
    ks_strip_draw(g, s->glyphs, 1, y, g->width - 2, parts, COUNT(parts));
}

/* The picture stands still: what came meanwhile, over the whole width. */
static void draw_frozen(struct ks_screen *s, struct ks_grid *g, int y)
{
    char count[96], word[48], state[48];
    const struct ks_snapshot *now = s->now, *then = s->frozen;
    size_t came = now->windows - then->windows;
    const char *mark = s->glyphs->one[KS_GLYPH_PAUSED];
    snprintf(word, sizeof word, "%s P A U S E D %s", mark, mark);
    snprintf(count, sizeof count, "%zu window%s", came, came == 1 ? "" : "s");
    snprintf(state, sizeof state, "the run is %s", states[now->state].word);
    struct ks_part parts[] = {
        {.text = word, .role = KS_ROLE_FROZEN, .keep = 9},
        {.text = count, .role = KS_ROLE_FROZEN, .keep = 8, .gap = "  "},
        {.text = "came meanwhile", .role = KS_ROLE_FROZEN, .keep = 7, .gap = " "},
        {.text = state, .role = KS_ROLE_FROZEN, .keep = 5, .gap = ", "},
        {.text = "Space: go on", .role = KS_ROLE_FROZEN, .keep = 6, .gap = "", .right = true},
    };
    ks_strip_draw(g, s->glyphs, 1, y, g->width - 2, parts, COUNT(parts));
    ks_grid_tint(g, (struct ks_rect){0, y, g->width, 1}, KS_ROLE_FROZEN);
}

/* What the device that has the head gains, or failed to do; why there is none is for the log. */
static void gain_text(const struct ks_snapshot *now, char *out, size_t size)
{
    const struct ks_facts *facts = now->facts;
    size_t by_cpu = now->windows_on_cpu;
    bool on_device = strcmp(facts->backend_head, facts->backend_body) != 0;
    out[0] = '\0';
    if (by_cpu > 0)
        snprintf(out, size, "%zu window%s by the cpu", by_cpu, by_cpu == 1 ? "" : "s");
    else if (on_device && facts->head_gain > 0)
        snprintf(out, size, "%.1fx", facts->head_gain);
}

static void speed_text(const struct ks_snapshot *shown, char *out, size_t size)
{
    out[0] = '\0';
    if (shown->elapsed_ns > 0 && shown->tokens > 0)
        snprintf(out, size, "%.0f tok/s/arm", (double)shown->tokens / seconds(shown));
}

static void peak_text(const struct ks_snapshot *shown, char *out, size_t size)
{
    double peak = shown->facts ? shown->facts->peak_flops : 0;
    out[0] = '\0';
    if (peak > 0 && shown->elapsed_ns > 0 && shown->flops > 0)
        snprintf(out, size, "%.0f%% of peak", 100 * shown->flops / seconds(shown) / peak);
}

static void flops_text(const struct ks_snapshot *shown, char *out, size_t size)
{
    out[0] = '\0';
    if (shown->elapsed_ns > 0 && shown->flops > 0)
        snprintf(out, size, "%.0f GFLOP/s", shown->flops / (double)shown->elapsed_ns);
}

static void sort_text(const struct ks_screen *s, char *out, size_t size)
{
    const struct ks_column *column = ks_column_at(s->sort);
    enum ks_glyph_id arrow = s->descending ? KS_GLYPH_DESCENDING : KS_GLYPH_ASCENDING;
    if (column)
        snprintf(out, size, "sort %s%s", column->label, s->glyphs->one[arrow]);
    else
        snprintf(out, size, "sort none");
}

/* By what it is computed, and how it is shown. */
static void draw_setup(struct ks_screen *s, struct ks_grid *g, int y)
{
    const struct ks_snapshot *shown = ks_screen_shown(s);
    const struct ks_facts *facts = shown->facts;
    char bar[16], head[256] = "", gain[48] = "", speed[32], peak[32], flops[32], reference[48] = "",
                  top[16] = "", sort[48], filter[KS_FILTER_SIZE + 16];
    separator(s, bar);
    if (facts) {
        snprintf(head, sizeof head, "head %s", facts->backend_head);
        gain_text(shown, gain, sizeof gain);
        snprintf(reference, sizeof reference, "ref %.2f bits", facts->reference_bits);
        snprintf(top, sizeof top, "top-%d", facts->top_k);
    }
    speed_text(shown, speed, sizeof speed);
    peak_text(shown, peak, sizeof peak);
    flops_text(shown, flops, sizeof flops);
    sort_text(s, sort, sizeof sort);
    snprintf(filter, sizeof filter, "filter %s", s->filter[0] ? s->filter : "none");
    struct ks_part parts[] = {
        {.text = head, .role = KS_ROLE_DIM, .keep = 6, .shrinks = HEAD_LEAST},
        {.text = gain, .role = KS_ROLE_DIM, .keep = 5, .gap = ", "},
        {.text = speed, .role = KS_ROLE_DIM, .keep = 9, .gap = bar},
        {.text = peak, .role = KS_ROLE_DIM, .keep = 7, .gap = bar},
        {.text = flops, .role = KS_ROLE_DIM, .keep = 1, .gap = bar},
        {.text = reference, .role = KS_ROLE_DIM, .keep = 3, .gap = bar},
        {.text = top, .role = KS_ROLE_DIM, .keep = 2, .gap = bar},
        {.text = sort, .role = KS_ROLE_DIM, .keep = 8, .gap = bar},
        {.text = filter,
         .role = s->filter[0] ? KS_ROLE_PROMPT : KS_ROLE_DIM,
         .keep = s->filter[0] ? 10 : 4,
         .gap = bar},
    };
    ks_strip_draw(g, s->glyphs, 1, y, g->width - 2, parts, COUNT(parts));
}

void ks_header_draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    if (s->frozen)
        draw_frozen(s, g, r.y);
    else
        draw_progress(s, g, r.y);
    if (r.h > 1 && ks_screen_shown(s)->facts)
        draw_setup(s, g, r.y + 1);
}

/* ------------------------------------------------------------------ the last line */

static void draw_prompt(struct ks_screen *s, struct ks_grid *g, int y)
{
    char text[KS_FILTER_SIZE + 2], count[48];
    snprintf(text, sizeof text, "/%s", s->filter);
    snprintf(count, sizeof count, "%zu of %zu", s->n_rows,
             ks_screen_shown(s)->facts ? ks_screen_shown(s)->facts->n_arms : 0);
    struct ks_part parts[] = {
        {.text = text, .role = KS_ROLE_PROMPT, .keep = 9},
        {.text = count, .role = KS_ROLE_DIM, .keep = 8, .gap = "", .right = true},
        {.text = "Enter:keep", .role = KS_ROLE_HINT, .keep = 2, .gap = "  ", .right = true},
        {.text = "Esc:drop", .role = KS_ROLE_HINT, .keep = 1, .gap = "  ", .right = true},
    };
    ks_strip_draw(g, s->glyphs, 1, y, g->width - 2, parts, COUNT(parts));
}

static void draw_leave_question(struct ks_screen *s, struct ks_grid *g, int y)
{
    struct ks_part parts[] = {
        {.text = "The run is in progress.", .role = KS_ROLE_NOTICE, .keep = 1},
        {.text = "q again stops it and leaves", .role = KS_ROLE_KEY, .keep = 9, .gap = " "},
        {.text = "any other key stays", .role = KS_ROLE_HINT, .keep = 2, .gap = ", "},
    };
    ks_strip_draw(g, s->glyphs, 1, y, g->width - 2, parts, COUNT(parts));
}

bool ks_screen_cursor(const struct ks_screen *s, int *x, int *y)
{
    struct ks_layout layout = ks_screen_layout(s);
    if (!s->filtering || layout.hints.h == 0)
        return false;
    *x = 2 + ks_text_columns(s->filter, s->glyphs->ascii);
    *y = layout.hints.y;
    return *x < s->width;
}

void ks_hints_draw(struct ks_screen *s, struct ks_grid *g, struct ks_rect r)
{
    struct ks_part parts[KS_MAX_HITS];
    const struct ks_action *actions[KS_MAX_HITS];
    char texts[KS_MAX_HITS][24];
    size_t n = 0;
    if (s->leave_asked || s->filtering) {
        (s->leave_asked ? draw_leave_question : draw_prompt)(s, g, r.y);
        return;
    }
    for (size_t i = 0; ks_action_at(i) && n < KS_MAX_HITS; i++) {
        const struct ks_action *action = ks_action_at(i);
        if (!action->hint)
            continue;
        snprintf(texts[n], sizeof texts[n], "%s:%s", action->hint_key, action->hint);
        parts[n] = (struct ks_part){
            .text = texts[n], .role = KS_ROLE_HINT, .keep = action->keep, .gap = "  "};
        actions[n++] = action;
    }
    ks_strip_draw(g, s->glyphs, 1, r.y, r.w - 2, parts, n);
    for (size_t i = 0; i < n; i++) {
        if (parts[i].columns == 0)
            continue;
        int key = ks_text_columns(actions[i]->hint_key, g->ascii);
        ks_grid_tint(g, (struct ks_rect){parts[i].x, r.y, key, 1}, KS_ROLE_KEY);
        s->hits[s->n_hits++] = (struct ks_hit){parts[i].x, r.y, parts[i].columns, actions[i]};
    }
}

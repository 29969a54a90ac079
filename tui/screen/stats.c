#include "tui/screen/stats.h"

#include <stdio.h>

#include "tui/screen/format.h"

#define STATS_LABEL 11
#define NEVER       (-1)

struct stat {
    char label[16];
    char value[KS_FORMAT_SIZE];
    int keep; /* all different; the lowest is left out first, NEVER always */
    int role;
};

static void count_stat(struct stat *out, const char *label, uint64_t n, int keep, int role)
{
    char text[KS_FORMAT_SIZE];
    ks_format_count(text, n);
    snprintf(out->value, sizeof out->value, " %.30s", text);
    snprintf(out->label, sizeof out->label, "%s", label);
    out->keep = keep;
    out->role = role;
}

static void nats_stat(struct stat *out, const char *label, double nats, int keep)
{
    ks_format_nats(out->value, nats);
    snprintf(out->label, sizeof out->label, "%s", label);
    out->keep = keep;
    out->role = KS_ROLE_TEXT;
}

#define N_STATS 13

/* What the chart leaves out at its left end. */
static void below_stat(struct stat *out, const struct ks_numbers *n, const struct ks_axis *axis)
{
    uint64_t below = ks_axis_below(axis, n);
    count_stat(out, "", below, below > 0 ? 3 : NEVER, KS_ROLE_TEXT);
    snprintf(out->label, sizeof out->label, "< 1e%d", axis->low);
}

static void fill_stats(const struct ks_screen *s, const struct ks_numbers *n,
                       const struct ks_axis *axis, struct stat stats[N_STATS])
{
    int broken = n->nonfinite > 0 ? KS_ROLE_BROKEN : KS_ROLE_TEXT;
    int infinite = n->infinite > 0 ? KS_ROLE_BROKEN : KS_ROLE_TEXT;
    count_stat(&stats[0], "n", n->n, 11, KS_ROLE_TEXT);
    nats_stat(&stats[1], "mean", n->kld_mean, 12);
    nats_stat(&stats[2], s->glyphs->plus_minus, n->kld_sem, 6);
    ks_format_nats_error(stats[2].value, KS_INTERVAL_SEMS * n->kld_sem);
    nats_stat(&stats[3], "p50", n->kld_median, 8);
    nats_stat(&stats[4], "p90", n->kld_p90, 5);
    nats_stat(&stats[5], "p99", n->kld_p99, 10);
    nats_stat(&stats[6], "p99.9", n->kld_p999, 7);
    nats_stat(&stats[7], "max", n->kld_max, 9);
    count_stat(&stats[8], "= 0 exactly", n->hist_zero, 4, KS_ROLE_TEXT);
    below_stat(&stats[9], n, axis);
    count_stat(&stats[10], "inf", n->infinite, n->infinite > 0 ? 13 : 1, infinite);
    count_stat(&stats[11], "nonfinite", n->nonfinite, n->nonfinite > 0 ? 14 : 2, broken);
    nats_stat(&stats[12], "rev. mean", n->kld_reverse_mean, 0);
}

/* Whether at least `rows` others are kept before this one. */
static bool has_room(const struct stat *stats, int i, int rows)
{
    int before = 0;
    for (int j = 0; j < N_STATS; j++)
        before += stats[j].keep > stats[i].keep;
    return stats[i].keep != NEVER && before < rows;
}

void ks_stats_draw(const struct ks_screen *s, struct ks_grid *g, struct ks_rect r,
                   const struct ks_numbers *numbers, const struct ks_axis *axis)
{
    struct stat stats[N_STATS];
    fill_stats(s, numbers, axis, stats);
    int y = r.y;
    for (int i = 0; i < N_STATS; i++) {
        if (!has_room(stats, i, r.h))
            continue;
        ks_grid_text(g, r.x, y, STATS_LABEL, KS_ROLE_LABEL, stats[i].label);
        ks_grid_text(g, r.x + STATS_LABEL, y, r.w - STATS_LABEL, stats[i].role, stats[i].value);
        y++;
    }
}

void ks_stats_draw_line(struct ks_grid *g, struct ks_rect r, const struct ks_numbers *n)
{
    char mean[KS_FORMAT_SIZE], p99[KS_FORMAT_SIZE], max[KS_FORMAT_SIZE], line[160];
    ks_format_nats_short(mean, n->kld_mean);
    ks_format_nats_short(p99, n->kld_p99);
    ks_format_nats_short(max, n->kld_max);
    snprintf(line, sizeof line, "mean %s  p99 %s  max %s", mean, p99, max);
    ks_grid_fit(g, r.x, r.y, r.w, KS_ROLE_TEXT, line);
}

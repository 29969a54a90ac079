#include "tui/screen/layout.h"

/* Below these a pane tells nothing; they count the border. */
#define ARMS_MIN_HEIGHT      6
#define HISTOGRAM_MIN_WIDTH  24
#define HISTOGRAM_MIN_HEIGHT 7
#define LOG_MIN_WIDTH        30
#define LOG_MIN_HEIGHT       4

/* The log stands beside the histogram from this width on, and under it from this height on. */
#define BESIDE_MIN_WIDTH 82
#define UNDER_MIN_HEIGHT 22

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Takes rows off the top of what is left. */
static struct ks_rect take_top(struct ks_rect *left, int rows)
{
    struct ks_rect r = {left->x, left->y, left->w, rows};
    if (rows <= 0)
        return (struct ks_rect){0};
    left->y += rows;
    left->h -= rows;
    return r;
}

static struct ks_rect take_bottom(struct ks_rect *left, int rows)
{
    if (rows <= 0)
        return (struct ks_rect){0};
    left->h -= rows;
    return (struct ks_rect){left->x, left->y + left->h, left->w, rows};
}

static int header_rows(struct ks_layout_wish wish)
{
    if (wish.width < 16)
        return 0;
    return wish.height >= 12 ? 2 : wish.height >= 6 ? 1 : 0;
}

/* The lower part: histogram and log beside each other, under each other, or the histogram alone. */
static void split_lower(struct ks_layout *out, struct ks_rect lower)
{
    struct ks_rect *histogram = &out->panes[KS_PANE_HISTOGRAM], *log = &out->panes[KS_PANE_LOG];
    if (lower.w >= BESIDE_MIN_WIDTH) {
        int log_width = most(LOG_MIN_WIDTH, lower.w * 36 / 100);
        *histogram = (struct ks_rect){lower.x, lower.y, lower.w - log_width, lower.h};
        *log = (struct ks_rect){lower.x + histogram->w, lower.y, log_width, lower.h};
    } else if (lower.h >= UNDER_MIN_HEIGHT) {
        *log = take_bottom(&lower, most(LOG_MIN_HEIGHT, lower.h / 3));
        *histogram = lower;
    } else {
        *histogram = lower;
    }
}

static void split_body(struct ks_layout *out, struct ks_layout_wish wish, struct ks_rect body)
{
    int lower_min = wish.preparing ? LOG_MIN_HEIGHT : HISTOGRAM_MIN_HEIGHT;
    if (body.h < ARMS_MIN_HEIGHT + lower_min || body.w < HISTOGRAM_MIN_WIDTH) {
        out->panes[KS_PANE_ARMS] = body;
        return;
    }
    int wanted = most(ARMS_MIN_HEIGHT, wish.arm_rows + 2);
    int allowed = most(ARMS_MIN_HEIGHT, least(body.h - lower_min, body.h * 55 / 100));
    out->panes[KS_PANE_ARMS] = take_top(&body, least(wanted, allowed));
    if (wish.preparing)
        out->panes[KS_PANE_LOG] = body;
    else
        split_lower(out, body);
}

struct ks_layout ks_layout_make(struct ks_layout_wish wish)
{
    struct ks_layout out = {0};
    struct ks_rect left = {0, 0, wish.width, wish.height};
    out.header = take_top(&left, header_rows(wish));
    if (wish.height >= 5 && wish.width >= 16)
        out.hints = take_bottom(&left, 1);
    int most_notice = wish.preparing ? left.h - 1 : left.h / 2;
    out.notice = take_top(&left, least(wish.notice_rows, most_notice));
    if (wish.zoomed)
        out.panes[wish.zoom] = left;
    else
        split_body(&out, wish, left);
    return out;
}

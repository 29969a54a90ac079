#include "tui/draw/strip.h"

#include "tui/draw/theme.h"

#define BETWEEN_SIDES 2

static int width_of(const struct ks_grid *g, const struct ks_part *part)
{
    return part->bar > 0 ? part->bar : ks_text_columns(part->text, g->ascii);
}

/* Columns of what is on one side; parts[].columns says what is there. */
static int side_width(const struct ks_grid *g, const struct ks_part *parts, size_t n, bool right)
{
    int width = 0;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].columns == 0 || parts[i].right != right)
            continue;
        if (width > 0)
            width += ks_text_columns(parts[i].gap, g->ascii);
        width += parts[i].columns;
    }
    return width;
}

static int total_width(const struct ks_grid *g, const struct ks_part *parts, size_t n)
{
    int left = side_width(g, parts, n, false), right = side_width(g, parts, n, true);
    return left + right + (left > 0 && right > 0 ? BETWEEN_SIDES : 0);
}

/* Drops the part that is kept least; false where only one is left. */
static bool drop_one(struct ks_part *parts, size_t n)
{
    struct ks_part *least = NULL;
    int there = 0;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].columns == 0)
            continue;
        there++;
        if (!least || parts[i].keep < least->keep)
            least = &parts[i];
    }
    if (there < 2)
        return false;
    least->columns = 0;
    return true;
}

/* Cuts parts that may shrink, as far as is needed and allowed. */
static void shrink(const struct ks_grid *g, struct ks_part *parts, size_t n, int width)
{
    for (size_t i = 0; i < n; i++) {
        int over = total_width(g, parts, n) - width, least = parts[i].shrinks;
        if (over <= 0 || least == 0 || parts[i].columns <= least)
            continue;
        parts[i].columns -= over < parts[i].columns - least ? over : parts[i].columns - least;
    }
}

/* Gives back what was cut and is free again. */
static void grow(const struct ks_grid *g, struct ks_part *parts, size_t n, int width)
{
    for (size_t i = 0; i < n; i++) {
        int left = width - total_width(g, parts, n),
            cut = width_of(g, &parts[i]) - parts[i].columns;
        if (left > 0 && cut > 0 && parts[i].columns > 0)
            parts[i].columns += left < cut ? left : cut;
    }
}

static void draw_side(struct ks_grid *g, const struct ks_glyphs *glyphs, int x, int y, int end,
                      struct ks_part *parts, size_t n, bool right)
{
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        struct ks_part *part = &parts[i];
        if (part->columns == 0 || part->right != right)
            continue;
        if (!first)
            x += ks_grid_text(g, x, y, end - x, KS_ROLE_BORDER, part->gap);
        first = false;
        part->x = x;
        if (part->bar > 0)
            ks_strip_bar(g, glyphs, x, y, part->columns, part->fraction);
        else
            ks_grid_fit(g, x, y, part->columns < end - x ? part->columns : end - x, part->role,
                        part->text);
        x += part->columns;
    }
}

void ks_strip_draw(struct ks_grid *g, const struct ks_glyphs *glyphs, int x, int y, int width,
                   struct ks_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        parts[i].columns = width_of(g, &parts[i]);
    shrink(g, parts, n, width);
    while (total_width(g, parts, n) > width && drop_one(parts, n))
        ;
    grow(g, parts, n, width);
    int right = side_width(g, parts, n, true);
    draw_side(g, glyphs, x, y, x + width, parts, n, false);
    draw_side(g, glyphs, right < width ? x + width - right : x, y, x + width, parts, n, true);
}

void ks_strip_bar(struct ks_grid *g, const struct ks_glyphs *glyphs, int x, int y, int n,
                  double fraction)
{
    int done = fraction > 0 ? (int)(fraction * n) : 0;
    if (done > n)
        done = n;
    ks_grid_repeat(g, x, y, done, KS_ROLE_PROGRESS, glyphs->one[KS_GLYPH_PROGRESS]);
    ks_grid_repeat(g, x + done, y, n - done, KS_ROLE_PROGRESS_LEFT,
                   glyphs->one[KS_GLYPH_PROGRESS_LEFT]);
}

#include "tui/draw/grid.h"

#include <stdlib.h>
#include <utf8proc.h>

bool ks_rect_has(struct ks_rect r, int x, int y)
{
    return x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;
}

static int clamp(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

int ks_grid_resize(struct ks_grid *g, int width, int height, struct ks_error *err)
{
    width = clamp(width, 1, KS_GRID_MAX_WIDTH);
    height = clamp(height, 1, KS_GRID_MAX_HEIGHT);
    size_t n = (size_t)width * (size_t)height;
    struct ks_cell *cells = calloc(n, sizeof *cells);
    if (!cells)
        return ks_fail_memory(err, n * sizeof *cells, "the screen's cells");
    free(g->cells);
    g->cells = cells;
    g->width = width;
    g->height = height;
    ks_grid_clear(g);
    return 0;
}

void ks_grid_finish(struct ks_grid *g)
{
    free(g->cells);
    *g = (struct ks_grid){.ascii = g->ascii};
}

void ks_grid_clear(struct ks_grid *g)
{
    size_t n = (size_t)g->width * (size_t)g->height;
    for (size_t i = 0; i < n; i++)
        g->cells[i] = (struct ks_cell){.text = {' '}};
}

static struct ks_cell *cell_at(struct ks_grid *g, int x, int y)
{
    if (x < 0 || y < 0 || x >= g->width || y >= g->height)
        return NULL;
    return &g->cells[(size_t)y * (size_t)g->width + (size_t)x];
}

static void blank(struct ks_cell *c)
{
    *c = (struct ks_cell){.text = {' '}, .role = c->role, .selected = c->selected};
}

/* Before a cell is overwritten: the other half of a wide character in it must not stay. */
static void release_halves(struct ks_grid *g, int x, int y)
{
    struct ks_cell *here = cell_at(g, x, y), *left = cell_at(g, x - 1, y),
                   *right = cell_at(g, x + 1, y);
    if (here && here->text[0] == 0 && left)
        blank(left);
    if (right && right->text[0] == 0)
        blank(right);
}

static void put_cell(struct ks_grid *g, int x, int y, int role, const struct ks_cluster *cluster)
{
    struct ks_cell *c = cell_at(g, x, y);
    if (!c)
        return;
    release_halves(g, x, y);
    bool selected = c->selected;
    *c = (struct ks_cell){.role = (uint8_t)role, .selected = selected};
    memcpy(c->text, cluster->text, sizeof c->text);
}

static void put(struct ks_grid *g, int x, int y, int role, const struct ks_cluster *cluster)
{
    static const struct ks_cluster space = {.text = {' '}}, right_half = {.text = {0}},
                                   question = {.text = {'?'}};
    if (cluster->columns == 1) {
        put_cell(g, x, y, role, cluster);
    } else if (g->ascii) {
        put_cell(g, x, y, role, &question);
        put_cell(g, x + 1, y, role, &question);
    } else if (cell_at(g, x, y) && cell_at(g, x + 1, y)) {
        put_cell(g, x, y, role, cluster);
        put_cell(g, x + 1, y, role, &right_half);
    } else {
        put_cell(g, x, y, role, &space);
        put_cell(g, x + 1, y, role, &space);
    }
}

int ks_grid_part(struct ks_grid *g, int x, int y, int columns, int role, const char *text,
                 size_t len)
{
    int used = 0;
    struct ks_cluster cluster;
    size_t n;
    while ((n = ks_text_next(text, len, g->ascii, &cluster)) > 0) {
        if (used + cluster.columns > columns)
            break;
        put(g, x + used, y, role, &cluster);
        used += cluster.columns;
        text += n;
        len -= n;
    }
    return used;
}

int ks_grid_text(struct ks_grid *g, int x, int y, int columns, int role, const char *text)
{
    return ks_grid_part(g, x, y, columns, role, text, strlen(text));
}

int ks_grid_fit(struct ks_grid *g, int x, int y, int columns, int role, const char *text)
{
    if (columns <= 0)
        return 0;
    if (ks_text_columns(text, g->ascii) <= columns)
        return ks_grid_text(g, x, y, columns, role, text);
    int used = ks_grid_text(g, x, y, columns - 1, role, text);
    return used + ks_grid_text(g, x + used, y, 1, role, g->ascii ? "~" : "\u2026");
}

int ks_grid_right(struct ks_grid *g, int x, int y, int columns, int role, const char *text)
{
    int wanted = ks_text_columns(text, g->ascii);
    int pad = wanted < columns ? columns - wanted : 0;
    return pad + ks_grid_fit(g, x + pad, y, columns - pad, role, text);
}

int ks_grid_wrap(struct ks_grid *g, struct ks_rect r, int role, const char *text)
{
    int row = 0;
    while (*text && row < r.h && r.w > 0) {
        size_t skip, n = ks_text_wrap(text, r.w, g->ascii, &skip);
        if (row == r.h - 1) {
            ks_grid_fit(g, r.x, r.y + row, r.w, role, text);
        } else {
            ks_grid_part(g, r.x, r.y + row, r.w, role, text, n);
        }
        text += n + skip;
        row++;
    }
    return row;
}

void ks_grid_repeat(struct ks_grid *g, int x, int y, int n, int role, const char *glyph)
{
    for (int i = 0; i < n; i++)
        ks_grid_text(g, x + i, y, 1, role, glyph);
}

void ks_grid_repeat_down(struct ks_grid *g, int x, int y, int n, int role, const char *glyph)
{
    for (int i = 0; i < n; i++)
        ks_grid_text(g, x, y + i, 1, role, glyph);
}

void ks_grid_tint(struct ks_grid *g, struct ks_rect r, int role)
{
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int x = r.x; x < r.x + r.w; x++) {
            struct ks_cell *c = cell_at(g, x, y);
            if (c)
                c->role = (uint8_t)role;
        }
    }
}

void ks_grid_select(struct ks_grid *g, struct ks_rect r)
{
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int x = r.x; x < r.x + r.w; x++) {
            struct ks_cell *c = cell_at(g, x, y);
            if (c)
                c->selected = true;
        }
    }
}

static int dump_row(const struct ks_cell *row, int width, struct ks_buf *out, struct ks_error *err)
{
    while (width > 0 && row[width - 1].text[0] == ' ' && row[width - 1].text[1] == 0)
        width--;
    for (int x = 0; x < width; x++) {
        for (int i = 0; i < KS_CLUSTER_CODEPOINTS && row[x].text[i]; i++) {
            utf8proc_uint8_t bytes[4];
            utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)row[x].text[i], bytes);
            if (ks_buf_put(out, bytes, (size_t)n, err))
                return -1;
        }
    }
    return ks_buf_put(out, "\n", 1, err);
}

int ks_grid_dump(const struct ks_grid *g, struct ks_buf *out, struct ks_error *err)
{
    for (int y = 0; y < g->height; y++) {
        if (dump_row(g->cells + (size_t)y * (size_t)g->width, g->width, out, err))
            return -1;
    }
    return 0;
}

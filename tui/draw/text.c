#include "tui/draw/text.h"

#include <string.h>
#include <utf8proc.h>

#define REPLACEMENT 0xfffd
#define DOTTED_RING 0x25cc /* carries a mark that has no base */

static bool is_dropped(utf8proc_int32_t c)
{
    return c == 0x200c || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f);
}

static bool is_mark(utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

static bool is_hidden(utf8proc_int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return true;
    default:
        return false;
    }
}

/* One code point and the bytes it takes; an invalid byte is a replacement character of its own. */
static size_t decode(const char *text, size_t len, utf8proc_int32_t *c)
{
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, c);
    if (n > 0)
        return (size_t)n;
    *c = REPLACEMENT;
    return 1;
}

static uint32_t visible(utf8proc_int32_t c)
{
    if (c < 0x20)
        return 0x2400 + (uint32_t)c;
    if (c == 0x7f)
        return 0x2421;
    return is_hidden(c) ? REPLACEMENT : (uint32_t)c;
}

static int width(uint32_t c)
{
    return utf8proc_charwidth((utf8proc_int32_t)c) == 2 ? 2 : 1;
}

/* Takes the marks behind a base; those past the room are dropped. */
static size_t take_marks(const char *text, size_t len, struct ks_cluster *out, int filled)
{
    size_t taken = 0;
    while (taken < len) {
        utf8proc_int32_t c;
        size_t n = decode(text + taken, len - taken, &c);
        if (!is_dropped(c) && !is_mark(c))
            break;
        if (!is_dropped(c) && filled < KS_CLUSTER_CODEPOINTS)
            out->text[filled++] = (uint32_t)c;
        taken += n;
    }
    return taken;
}

static void to_ascii(struct ks_cluster *out)
{
    if (out->text[0] >= 0x20 && out->text[0] < 0x7f)
        out->text[1] = 0;
    else
        *out = (struct ks_cluster){.text = {'?'}, .columns = out->columns};
}

size_t ks_text_next(const char *text, size_t len, bool ascii, struct ks_cluster *out)
{
    size_t taken = 0;
    utf8proc_int32_t c = 0;
    do {
        if (taken >= len)
            return 0;
        taken += decode(text + taken, len - taken, &c);
    } while (is_dropped(c));

    *out = (struct ks_cluster){.columns = 1};
    int filled = 0;
    if (is_mark(c)) {
        out->text[filled++] = DOTTED_RING;
        out->text[filled++] = (uint32_t)c;
    } else {
        out->text[filled++] = visible(c);
        out->columns = width(out->text[0]);
    }
    taken += take_marks(text + taken, len - taken, out, filled);
    if (ascii)
        to_ascii(out);
    return taken;
}

int ks_text_columns(const char *text, bool ascii)
{
    size_t len = strlen(text), n;
    int columns = 0;
    struct ks_cluster cluster;
    while ((n = ks_text_next(text, len, ascii, &cluster)) > 0) {
        columns += cluster.columns;
        text += n;
        len -= n;
    }
    return columns;
}

size_t ks_text_wrap(const char *text, int columns, bool ascii, size_t *skip)
{
    size_t len = strlen(text), at = 0, n;
    size_t space = 0; /* the last space that would do as an end, 0: none */
    int used = 0;
    struct ks_cluster cluster;
    *skip = 0;
    while ((n = ks_text_next(text + at, len - at, ascii, &cluster)) > 0) {
        if (text[at] == ' ')
            space = at;
        if (used + cluster.columns > columns && at > 0) {
            *skip = space > 0;
            return space > 0 ? space : at;
        }
        used += cluster.columns;
        at += n;
    }
    return len;
}

int ks_text_lines(const char *text, int columns, bool ascii)
{
    int lines = 0;
    do {
        size_t skip, n = ks_text_wrap(text, columns, ascii, &skip);
        text += n + skip;
        lines++;
    } while (*text);
    return lines;
}

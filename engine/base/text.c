#include "engine/base/text.h"

#include <stddef.h>
#include <stdint.h>

void ks_text_one_line(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = ' ';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) /* U+0080..9F */
            p[0] = p[1] = ' ';
    }
}

/* The length of the UTF-8 sequence at p, 0 where it is none or not printable. */
static size_t printable_sequence(const unsigned char *p)
{
    if (*p < 0x80)
        return *p >= 0x20 && *p != 0x7f;
    size_t n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    uint32_t c = *p & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000}; /* U+0080..9F are controls */
    bool bad =
        *p < 0xc2 || *p > 0xf4 || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000);
    return bad ? 0 : n;
}

bool ks_text_printable(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        size_t n = printable_sequence(p);
        if (n == 0)
            return false;
        p += n;
    }
    return true;
}

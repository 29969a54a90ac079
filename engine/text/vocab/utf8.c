#include "engine/text/vocab/utf8.h"

#include <string.h>

uint32_t ks_utf8_decode(const unsigned char *s, size_t left, unsigned *used)
{
    unsigned len = ks_utf8_length(s[0]);
    *used = 1;
    if (s[0] < 0x80)
        return s[0];
    if (len == 1 || s[0] >= 0xF8 || len > left)
        return KS_UTF8_REPLACEMENT;
    uint32_t cp = s[0] & (0x7Fu >> len);
    for (unsigned i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return KS_UTF8_REPLACEMENT;
        cp = cp << 6 | (s[i] & 0x3Fu);
    }
    if (cp > 0x10FFFF)
        return KS_UTF8_REPLACEMENT;
    *used = len;
    return cp;
}

unsigned ks_utf8_encode(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    unsigned len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (unsigned i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (cp & 0x3F));
        cp >>= 6;
    }
    static const unsigned char mark[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(mark[len] | cp);
    return len;
}

size_t ks_utf8_ascii_prefix(const char *s, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t eight;
        memcpy(&eight, s + i, 8);
        if (eight & 0x8080808080808080u)
            break;
    }
    while (i < len && !(s[i] & 0x80))
        i++;
    return i;
}

static bool spells_itself(uint32_t cp)
{
    return (cp >= 0x21 && cp <= 0x7E) || (cp >= 0xA1 && cp <= 0xAC) || (cp >= 0xAE && cp <= 0xFF);
}

/* The nth byte, from 0, that does not spell itself: 00..20, 7F..A0, AD. */
static unsigned char hidden_byte(unsigned n)
{
    if (n < 0x21)
        return (unsigned char)n;
    n = n - 0x21 + 0x7F;
    return (unsigned char)(n <= 0xA0 ? n : 0xAD);
}

bool ks_byte_alphabet_decode(const char *text, size_t len, char *out, size_t *out_len)
{
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        unsigned used;
        uint32_t cp = ks_utf8_decode((const unsigned char *)text + i, len - i, &used);
        bool overlong = used == 2 && cp < 0x80;
        if (spells_itself(cp) && !overlong)
            out[n++] = (char)cp;
        else if (cp >= 0x100 && cp < 0x100 + 68 && used == 2)
            out[n++] = (char)hidden_byte(cp - 0x100);
        else
            return false;
        i += used;
    }
    *out_len = n;
    return true;
}

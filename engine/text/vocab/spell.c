/* From how a file spells its tokens to what they are looked up by and what they stand for. */
#include <string.h>

#include "engine/text/vocab/utf8.h"
#include "engine/text/vocab/vocab.h"

static bool is_special(int32_t type)
{
    return type == KS_TOKEN_UNKNOWN || type == KS_TOKEN_CONTROL || type == KS_TOKEN_USER_DEFINED;
}

/* "<0x0A>" as its byte, -1 for any other text. */
static int byte_of(struct ks_str s)
{
    static const char digits[] = "0123456789ABCDEF";
    if (s.len != 6 || memcmp(s.bytes, "<0x", 3) != 0 || s.bytes[5] != '>')
        return -1;
    const char *high = memchr(digits, s.bytes[3], 16);
    const char *low = memchr(digits, s.bytes[4], 16);
    return high && low ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

static size_t unescape(struct ks_str s, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len;) {
        if (s.len - i >= KS_SPACE_MARK_LEN && memcmp(s.bytes + i, KS_SPACE_MARK, 3) == 0) {
            out[n++] = ' ';
            i += KS_SPACE_MARK_LEN;
        } else {
            out[n++] = s.bytes[i++];
        }
    }
    return n;
}

/* Tokens in the byte alphabet: what they spell is what they are looked up by and stand for. */
static void spell_bytes(struct ks_vocab *v)
{
    char *at = v->arena[1];
    for (size_t i = 0; i < v->n; i++) {
        size_t len;
        v->bytes[i] = v->text[i];
        if (!ks_byte_alphabet_decode(v->text[i].bytes, v->text[i].len, at, &len))
            continue;
        v->key[i] = (struct ks_str){at, len};
        if (!is_special(v->types[i]))
            v->bytes[i] = v->key[i];
        at += len;
    }
}

/* Tokens in UTF-8, U+2581 for a space where spaces are escaped, "<0xNN>" for single bytes. */
static void spell_utf8(struct ks_vocab *v, bool escapes)
{
    char *at = v->arena[1];
    for (size_t i = 0; i < v->n; i++) {
        int byte = byte_of(v->text[i]);
        v->key[i] = v->bytes[i] = v->text[i];
        if (is_special(v->types[i]))
            continue;
        size_t len = 1;
        if (v->types[i] == KS_TOKEN_BYTE && byte >= 0)
            *at = (char)byte;
        else if (escapes)
            len = unescape(v->text[i], at);
        else
            continue;
        v->bytes[i] = (struct ks_str){at, len};
        at += len;
    }
}

void ks_vocab_spell(struct ks_vocab *v)
{
    if (v->pre && !(v->pre->flags & KS_PRE_RAW))
        spell_bytes(v);
    else
        spell_utf8(v, !v->pre || v->pre->flags & KS_PRE_ESCAPES);
}

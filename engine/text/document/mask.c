#include "engine/text/document/mask.h"

#include <string.h>

#include "engine/text/vocab/vocab.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* How far text[0..len) goes along with a token's bytes; SIZE_MAX where it does not. A token's space
 * may stand for a literal U+2581. */
static size_t follow(struct ks_str token, const char *text, size_t len)
{
    size_t at = 0;
    for (size_t i = 0; i < token.len; i++) {
        if (at < len && text[at] == token.bytes[i])
            at++;
        else if (token.bytes[i] == ' ' && len - at >= KS_SPACE_MARK_LEN &&
                 !memcmp(text + at, KS_SPACE_MARK, KS_SPACE_MARK_LEN))
            at += KS_SPACE_MARK_LEN;
        else
            return SIZE_MAX;
    }
    return at;
}

/*
 * Where the token that starts at or behind *start ends. Tokenizers add a space in front of a text
 * (then the token's first byte is not in it) and may drop white space behind a special token (then
 * the text has more than the tokens).
 */
static bool locate(struct ks_str token, const char *text, size_t len, size_t *start, size_t *end)
{
    for (size_t at = *start;; at++) {
        size_t n = follow(token, text + at, len - at);
        if (n == SIZE_MAX && token.len && token.bytes[0] == ' ')
            n = follow((struct ks_str){token.bytes + 1, token.len - 1}, text + at, len - at);
        if (n != SIZE_MAX) {
            *start = at;
            *end = at + n;
            return true;
        }
        if (at == len || !is_space(text[at]))
            return false;
    }
}

int ks_mask_spans(const struct ks_tokenizer *t, const int32_t *ids, size_t n, size_t n_bos,
                  const char *text, size_t len, const struct ks_span *spans, size_t n_spans,
                  uint8_t *mask, struct ks_error *err)
{
    size_t start = 0, end, span = 0;
    memset(mask, 0, n);
    for (size_t i = n_bos; i < n && start < len; i++, start = end) {
        if (!locate(ks_token_bytes(t, ids[i]), text, len, &start, &end))
            return ks_fail(err, KS_UNSUPPORTED,
                           "the tokens do not spell the text at its byte %zu, so it cannot be told "
                           "which of them are scored",
                           start);
        while (span < n_spans && spans[span].end <= start)
            span++;
        mask[i] = span < n_spans && spans[span].start < end;
    }
    return 0;
}

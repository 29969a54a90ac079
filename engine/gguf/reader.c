#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/gguf/parse.h"

int ks_reader_fail(const struct ks_reader *r, uint64_t at, struct ks_error *err, const char *format,
                   ...)
{
    char what[640];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const char *comma = r->where[0] ? ", " : "";
    return ks_fail(err, KS_BAD_INPUT, "%s: byte %llu%s%s: %s", r->file, (unsigned long long)at,
                   comma, r->where, what);
}

int ks_reader_need(const struct ks_reader *r, uint64_t bytes, const char *what,
                   struct ks_error *err)
{
    uint64_t left = r->len - r->at;
    if (bytes <= left)
        return 0;
    return ks_reader_fail(
        r, r->at, err,
        "%s of %llu bytes goes beyond the file's end (%llu bytes are left); " KS_GGUF_DAMAGED, what,
        (unsigned long long)bytes, (unsigned long long)left);
}

int ks_reader_need_items(const struct ks_reader *r, uint64_t count, uint64_t item_bytes,
                         const char *what, struct ks_error *err)
{
    uint64_t left = r->len - r->at;
    if (count <= left / item_bytes)
        return 0;
    return ks_reader_fail(r, r->at, err,
                          "%llu %s of at least %llu bytes each cannot be in the %llu bytes that "
                          "are left; " KS_GGUF_DAMAGED,
                          (unsigned long long)count, what, (unsigned long long)item_bytes,
                          (unsigned long long)left);
}

int ks_reader_u32(struct ks_reader *r, uint32_t *out, const char *what, struct ks_error *err)
{
    if (ks_reader_need(r, sizeof *out, what, err))
        return -1;
    *out = ks_le32(r->bytes + r->at);
    r->at += sizeof *out;
    return 0;
}

int ks_reader_u64(struct ks_reader *r, uint64_t *out, const char *what, struct ks_error *err)
{
    if (ks_reader_need(r, sizeof *out, what, err))
        return -1;
    *out = ks_le64(r->bytes + r->at);
    r->at += sizeof *out;
    return 0;
}

int ks_reader_str(struct ks_reader *r, struct ks_str *out, const char *what, struct ks_error *err)
{
    uint64_t len;
    if (ks_reader_u64(r, &len, what, err) || ks_reader_need(r, len, what, err))
        return -1;
    *out = (struct ks_str){.bytes = (const char *)r->bytes + r->at, .len = (size_t)len};
    r->at += len;
    return 0;
}

int ks_reader_name(struct ks_reader *r, char **out, const char *what, struct ks_error *err)
{
    struct ks_str s;
    uint64_t at = r->at;
    if (ks_reader_str(r, &s, what, err))
        return -1;
    if (s.len == 0)
        return ks_reader_fail(r, at, err, "%s is empty; " KS_GGUF_DAMAGED, what);
    if (memchr(s.bytes, '\0', s.len)) {
        char shown[KS_SHOWN_SIZE];
        return ks_reader_fail(r, at, err, "%s holds a NUL byte (%s); " KS_GGUF_DAMAGED, what,
                              ks_shown(s.bytes, s.len, shown));
    }
    char *name = malloc(s.len + 1);
    if (!name)
        return ks_fail_memory(err, s.len + 1, what);
    memcpy(name, s.bytes, s.len);
    name[s.len] = '\0';
    *out = name;
    return 0;
}

const char *ks_shown(const char *bytes, size_t len, char buf[KS_SHOWN_SIZE])
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool plain = c >= 0x20 && c < 0x7f;
        if (n + 4 + sizeof "..." > KS_SHOWN_SIZE) {
            memcpy(buf + n, "...", 3);
            n += 3;
            break;
        }
        if (plain)
            buf[n++] = (char)c;
        else
            n += (size_t)snprintf(buf + n, 5, "\\x%02x", c);
    }
    buf[n] = '\0';
    return buf;
}

#include "engine/text/document/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_file(int fd, const char *shown, size_t *size, struct ks_error *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return ks_fail_errno(err, "%s", shown);
    if (S_ISDIR(st.st_mode))
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: is a directory; name the .txt or .jsonl files themselves", shown);
    if (!S_ISREG(st.st_mode))
        return ks_fail(err, KS_BAD_INPUT, "%s: is not a regular file", shown);
    *size = (size_t)st.st_size;
    return 0;
}

/* Reads to the end, whether the file grows or shrinks meanwhile. */
static int read_all(int fd, const char *shown, size_t size, struct ks_source *s,
                    struct ks_error *err)
{
    size_t cap = size + 1;
    s->bytes = malloc(cap);
    while (s->bytes) {
        ssize_t n = read(fd, s->bytes + s->len, cap - s->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, "%s", shown);
        if (n == 0)
            return 0;
        s->len += (size_t)n;
        if (s->len < cap)
            continue;
        cap *= 2;
        char *grown = realloc(s->bytes, cap);
        if (!grown)
            break;
        s->bytes = grown;
    }
    ks_fail_memory(err, cap, "a corpus file");
    return ks_fail_prefix(err, "%s", shown);
}

static int skip_byte_order_mark(struct ks_source *s, const char *shown, struct ks_error *err)
{
    if (s->len >= 2 &&
        (memcmp(s->bytes, "\xFF\xFE", 2) == 0 || memcmp(s->bytes, "\xFE\xFF", 2) == 0))
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: starts with a UTF-16 byte order mark; save it as UTF-8", shown);
    if (s->len >= 3 && memcmp(s->bytes, "\xEF\xBB\xBF", 3) == 0) {
        s->len -= 3;
        memmove(s->bytes, s->bytes + 3, s->len);
    }
    return 0;
}

int ks_source_read(const char *path, const char *shown, struct ks_source *out, struct ks_error *err)
{
    struct ks_source s = {0};
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us up */
    if (fd < 0)
        return ks_fail_errno(err, "%s", shown);
    int rc = check_file(fd, shown, &size, err) || read_all(fd, shown, size, &s, err) ||
             skip_byte_order_mark(&s, shown, err);
    close(fd);
    if (rc) {
        ks_source_finish(&s);
        return -1;
    }
    *out = s;
    return 0;
}

void ks_source_finish(struct ks_source *s)
{
    free(s->bytes);
    *s = (struct ks_source){0};
}

static bool is_blank(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r')
            return false;
    }
    return true;
}

bool ks_source_line(struct ks_source *s, const char **line, size_t *len, uint32_t *number)
{
    while (s->at < s->len) {
        const char *start = s->bytes + s->at;
        const char *end = memchr(start, '\n', s->len - s->at);
        size_t n = end ? (size_t)(end - start) : s->len - s->at;
        s->at += n + (end != NULL);
        s->line++;
        if (is_blank(start, n))
            continue;
        *line = start;
        *len = n;
        *number = s->line;
        return true;
    }
    return false;
}

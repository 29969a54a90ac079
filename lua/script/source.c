#include "lua/script/source.h"

#include <stdio.h>

#define MAX_FILE_BYTES (16u << 20)

static int read_stream(FILE *f, const char *shown, struct ks_buf *text, struct ks_error *err)
{
    char block[4096];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0) {
        if (text->len + n > MAX_FILE_BYTES)
            return ks_fail(err, KS_BAD_INPUT, "%s: over %u MB, too large for a scenario", shown,
                           MAX_FILE_BYTES >> 20);
        if (ks_buf_put(text, block, n, err) != 0)
            return -1;
    }
    return ferror(f) ? ks_fail_errno(err, "%s", shown) : ks_buf_put(text, "", 0, err);
}

int ks_script_read_file(const char *path, const char *shown, struct ks_buf *text,
                        struct ks_error *err)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return ks_fail_errno(err, "%s", shown);
    int status = read_stream(f, shown, text, err);
    fclose(f);
    return status;
}

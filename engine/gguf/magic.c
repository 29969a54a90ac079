/*
 * What a file is that is no GGUF, told from its first bytes: the usual accidents of downloading.
 */
#include <stdio.h>
#include <string.h>

#include "engine/gguf/parse.h"

static const struct {
    const char *bytes;
    size_t len, at;
    const char *is;
} kinds[] = {
    {"lmgg", 4, 0, "a GGML file of 2023, which nothing reads any more; get the model as GGUF"},
    {"fmgg", 4, 0, "a GGMF file of 2023, which nothing reads any more; get the model as GGUF"},
    {"tjgg", 4, 0, "a GGJT file of 2023, which nothing reads any more; get the model as GGUF"},
    {"FUGG", 4, 0, "a byte-swapped GGUF; get the little-endian file"},
    {"version https://git-lfs", 23, 0, "a Git LFS pointer, not the model; run git lfs pull"},
    {"<!doctype", 9, 0, "a web page; use the download link, not the page's address"},
    {"<html", 5, 0, "a web page; use the download link, not the page's address"},
    {"{\"", 2, 8, "a safetensors file; convert it to GGUF"},
    {"{", 1, 0, "JSON text; give the .gguf file"},
    {"PK\x03\x04", 4, 0, "a zip archive or a PyTorch checkpoint; unpack or convert it to GGUF"},
    {"\x1f\x8b", 2, 0, "compressed with gzip; unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, 0, "compressed with zstd; unpack it first"},
    {"\xfd"
     "7zXZ",
     5, 0, "compressed with xz; unpack it first"},
    {"\0\0\0\0\0\0\0\0", 8, 0, "zeros, as an unfinished download leaves them; download it again"},
};

/* Markup comes in any case. */
static bool starts(const struct ks_reader *r, size_t at, const char *bytes, size_t len)
{
    if (r->len < at + len)
        return false;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = r->bytes[at + i];
        bool upper = bytes[0] == '<' && c >= 'A' && c <= 'Z';
        if ((upper ? c + 'a' - 'A' : c) != (uint8_t)bytes[i])
            return false;
    }
    return true;
}

int ks_magic_check(struct ks_reader *r, struct ks_error *err)
{
    if (starts(r, 0, "GGUF", 4)) {
        r->at = 4;
        return 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (starts(r, kinds[i].at, kinds[i].bytes, kinds[i].len))
            return ks_reader_fail(r, 0, err, "not a GGUF file but %s", kinds[i].is);
    char shown[KS_SHOWN_SIZE];
    size_t n = r->len < 16 ? (size_t)r->len : 16;
    return ks_reader_fail(r, 0, err,
                          "not a GGUF file: it begins with \"%s\" where \"GGUF\" is needed; check "
                          "the path or download it again",
                          ks_shown((const char *)r->bytes, n, shown));
}

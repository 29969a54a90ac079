#include "tests/testing.h"

#include "tests/engine/gguf/writer.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

void gw_bytes(struct ks_buf *b, const void *bytes, size_t len)
{
    struct ks_error err;
    if (ks_buf_put(b, bytes, len, &err))
        fail_msg("%s", err.text);
}

void gw_u8(struct ks_buf *b, uint8_t v)
{
    gw_bytes(b, &v, sizeof v);
}

void gw_u16(struct ks_buf *b, uint16_t v)
{
    gw_bytes(b, &v, sizeof v);
}

void gw_u32(struct ks_buf *b, uint32_t v)
{
    gw_bytes(b, &v, sizeof v);
}

void gw_u64(struct ks_buf *b, uint64_t v)
{
    gw_bytes(b, &v, sizeof v);
}

void gw_f32(struct ks_buf *b, float v)
{
    gw_bytes(b, &v, sizeof v);
}

void gw_f64(struct ks_buf *b, double v)
{
    gw_bytes(b, &v, sizeof v);
}

void gw_str_n(struct ks_buf *b, const void *bytes, size_t len)
{
    gw_u64(b, len);
    gw_bytes(b, bytes, len);
}

void gw_str(struct ks_buf *b, const char *s)
{
    gw_str_n(b, s, strlen(s));
}

void gw_header(struct ks_buf *b, uint32_t version, uint64_t n_tensors, uint64_t n_values)
{
    gw_bytes(b, "GGUF", 4);
    gw_u32(b, version);
    gw_u64(b, n_tensors);
    gw_u64(b, n_values);
}

void gw_key(struct ks_buf *b, const char *key, uint32_t type)
{
    gw_str(b, key);
    gw_u32(b, type);
}

void gw_key_u32(struct ks_buf *b, const char *key, uint32_t v)
{
    gw_key(b, key, 4);
    gw_u32(b, v);
}

void gw_key_u16(struct ks_buf *b, const char *key, uint16_t v)
{
    gw_key(b, key, 2);
    gw_u16(b, v);
}

void gw_key_f32(struct ks_buf *b, const char *key, float v)
{
    gw_key(b, key, 6);
    gw_f32(b, v);
}

void gw_key_bool(struct ks_buf *b, const char *key, uint8_t v)
{
    gw_key(b, key, 7);
    gw_u8(b, v);
}

void gw_key_str(struct ks_buf *b, const char *key, const char *v)
{
    gw_key(b, key, 8);
    gw_str(b, v);
}

void gw_key_array(struct ks_buf *b, const char *key, uint32_t item_type, uint64_t count)
{
    gw_key(b, key, 9);
    gw_u32(b, item_type);
    gw_u64(b, count);
}

void gw_tensor(struct ks_buf *b, const char *name, uint32_t type, uint64_t dim0, uint64_t dim1,
               uint64_t offset)
{
    gw_str(b, name);
    gw_u32(b, dim1 ? 2 : 1);
    gw_u64(b, dim0);
    if (dim1)
        gw_u64(b, dim1);
    gw_u32(b, type);
    gw_u64(b, offset);
}

void gw_pad(struct ks_buf *b, size_t alignment)
{
    while (b->len % alignment != 0)
        gw_u8(b, 0);
}

void gw_data(struct ks_buf *b, size_t len, unsigned seed)
{
    uint64_t state = seed;
    for (size_t i = 0; i < len; i++)
        gw_u8(b, (uint8_t)ks_random_next(&state));
}

void gw_save(const struct ks_buf *b, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        fail_msg("cannot write %s", path);
    assert_int_equal(fwrite(b->bytes, 1, b->len, f), b->len);
    assert_int_equal(fclose(f), 0);
}

void gw_folder(char path[64])
{
    strcpy(path, "/tmp/kldscope-gguf-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void gw_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[1024];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (unlink(path) != 0)
            rmdir(path);
    }
    closedir(dir);
    assert_int_equal(rmdir(folder), 0);
}

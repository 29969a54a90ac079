/*
 * One good file, cut at every byte and corrupted at every byte of all that comes before its data.
 */
#include "tests/testing.h"

#include <string.h>
#include <unistd.h>

#include "engine/gguf/gguf.h"
#include "engine/gguf/parse.h"
#include "engine/quant/type.h"
#include "tests/engine/gguf/touch.h"
#include "tests/engine/gguf/writer.h"

/* Some of everything, small enough to try each byte. Returns the length without the data. */
static size_t make_good(struct ks_buf *b)
{
    gw_header(b, 3, 3, 7);
    gw_key_u32(b, "general.alignment", 16);
    gw_key_str(b, "name", "sweep");
    gw_key_bool(b, "bos", 1);
    gw_key_array(b, "tokens", 8, 3);
    gw_str(b, "a");
    gw_str(b, "");
    gw_str(b, "bcd");
    gw_key_array(b, "scores", 6, 2);
    gw_f32(b, 0.5f);
    gw_f32(b, -1);
    gw_key_array(b, "flags", 7, 2);
    gw_bytes(b, "\0\1", 2);
    gw_key(b, "wide", 12);
    gw_f64(b, 0.25);
    gw_tensor(b, "norm", KS_F32, 5, 0, 0);
    gw_tensor(b, "up", KS_Q8_0, 32, 2, 48);
    gw_str(b, "exps");
    gw_u32(b, 3);
    for (uint64_t d = 2; d <= 4; d++)
        gw_u64(b, d);
    gw_u32(b, KS_I8);
    gw_u64(b, 128);
    size_t before_data = b->len;
    gw_pad(b, 16);
    gw_data(b, 128 + 24, 5);
    return before_data;
}

/* Opens a copy that ends where its allocation ends. */
static struct ks_gguf *open_copy(const char *bytes, size_t len, char **copy, struct ks_error *err)
{
    *copy = malloc(len ? len : 1);
    assert_non_null(*copy);
    memcpy(*copy, bytes, len);
    return ks_gguf_open_memory("cut.gguf", *copy, len, err);
}

static void the_whole_file_opens(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    char *copy;
    struct ks_error err = {0};
    make_good(&b);
    struct ks_gguf *g = open_copy(b.bytes, b.len, &copy, &err);
    if (!g)
        fail_msg("%s", err.text);
    touch_all(g);
    ks_gguf_close(g);
    free(copy);
    ks_buf_finish(&b);
}

static void every_cut_in_memory_is_refused(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    make_good(&b);
    for (size_t len = 0; len < b.len; len++) {
        char *copy;
        struct ks_error err = {0};
        struct ks_gguf *g = open_copy(b.bytes, len, &copy, &err);
        free(copy);
        if (g)
            fail_msg("opened when cut to %zu of %zu bytes", len, b.len);
        if (strncmp(err.text, "cut.gguf: ", 10) != 0 || err.code != KS_BAD_INPUT)
            fail_msg("cut to %zu bytes: %s", len, err.text);
    }
    ks_buf_finish(&b);
}

static void every_cut_of_a_file_is_refused(void **state)
{
    (void)state;
    char folder[64], path[128];
    gw_folder(folder);
    snprintf(path, sizeof path, "%s/cut.gguf", folder);
    struct ks_buf b = {0};
    make_good(&b);
    gw_save(&b, path);
    for (size_t len = b.len; len-- > 0;) {
        struct ks_error err = {0};
        assert_int_equal(truncate(path, (off_t)len), 0);
        assert_null(ks_gguf_open(path, &err));
        if (strncmp(err.text, path, strlen(path)) != 0 || err.code != KS_BAD_INPUT)
            fail_msg("cut to %zu bytes: %s", len, err.text);
    }
    ks_buf_finish(&b);
    gw_remove(folder);
}

/* Returns whether the file still opened. */
static bool try_corrupted(const char *bytes, size_t len)
{
    char *copy;
    struct ks_error err = {0};
    struct ks_gguf *g = open_copy(bytes, len, &copy, &err);
    bool opened = g != NULL;
    if (g)
        touch_all(g);
    else if (strncmp(err.text, "cut.gguf: ", 10) != 0)
        fail_msg("no file in: %s", err.text);
    ks_gguf_close(g);
    free(copy);
    return opened;
}

/* A changed letter of a name is a good file still; a changed count is not. Both must be seen. */
static void every_corrupted_byte_opens_or_is_refused(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    size_t before_data = make_good(&b), opened = 0, refused = 0;
    for (size_t at = 0; at < before_data; at++) {
        char right = b.bytes[at];
        for (int wrong = 0; wrong < 256; wrong++) {
            b.bytes[at] = (char)wrong;
            if (b.bytes[at] == right)
                continue;
            if (try_corrupted(b.bytes, b.len))
                opened++;
            else
                refused++;
        }
        b.bytes[at] = right;
    }
    assert_int_equal(opened + refused, before_data * 255);
    assert_true(opened > 1000);
    assert_true(refused > 1000);
    ks_buf_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_file_opens),
        cmocka_unit_test(every_cut_in_memory_is_refused),
        cmocka_unit_test(every_cut_of_a_file_is_refused),
        cmocka_unit_test(every_corrupted_byte_opens_or_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

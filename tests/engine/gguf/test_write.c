#include "tests/testing.h"

#include <string.h>
#include <unistd.h>

#include "engine/gguf/write.h"
#include "tests/engine/gguf/touch.h"
#include "tests/engine/gguf/writer.h"

static char folder[64], path[96];

static int with_folder(void **state)
{
    (void)state;
    gw_folder(folder);
    snprintf(path, sizeof path, "%s/new.gguf", folder);
    return 0;
}

static int without_folder(void **state)
{
    (void)state;
    gw_remove(folder);
    return 0;
}

static struct ks_gguf *open_file(const char *name)
{
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(name, &err);
    if (!g)
        fail_msg("%s", err.text);
    return g;
}

static void write_like(const struct ks_gguf *g, uint32_t alignment)
{
    struct ks_error err;
    struct ks_gguf_writer *w = ks_gguf_writer_create(path, alignment, &err);
    assert_non_null(w);
    for (size_t i = 0; i < ks_gguf_n_values(g); i++)
        assert_int_equal(ks_gguf_write_value(w, ks_gguf_value(g, i), &err), 0);
    for (size_t i = 0; i < ks_gguf_n_tensors(g); i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(g, i);
        assert_int_equal(ks_gguf_write_tensor(w, t->name, t->type, t->n_dims, t->dims, &err), 0);
    }
    for (size_t i = 0; i < ks_gguf_n_tensors(g); i++)
        assert_int_equal(
            ks_gguf_write_data(w, ks_gguf_tensor(g, i)->data, ks_gguf_tensor(g, i)->bytes, &err),
            0);
    assert_int_equal(ks_gguf_writer_finish(w, 0, &err), 0);
}

/* whole.gguf has values of every kind that gguf-py writes. */
static void another_program_s_file_is_written_again_byte_by_byte(void **state)
{
    (void)state;
    size_t was_len, is_len;
    struct ks_gguf *g = open_file(test_data("gguf/whole.gguf"));
    uint32_t alignment = 32;
    struct ks_error err;
    assert_true(ks_gguf_get_u32(g, "general.alignment", &alignment, &err) >= 0);
    write_like(g, alignment);
    ks_gguf_close(g);
    char *was = test_read_file(test_data("gguf/whole.gguf"), &was_len);
    char *is = test_read_file(path, &is_len);
    assert_int_equal(is_len, was_len);
    assert_memory_equal(is, was, was_len);
    free(was);
    free(is);
}

/* Every value type, its extremes, and every array. */
static void put_all_values(struct ks_buf *b)
{
    static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 127};
    static const uint8_t sizes[13] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    for (uint32_t type = 0; type < 13; type++) {
        char key[16];
        if (sizes[type] == 0)
            continue;
        snprintf(key, sizeof key, "one.%u", type);
        gw_key(b, key, type);
        gw_bytes(b, type == KS_GGUF_BOOL ? (const uint8_t *)"\1" : ones + 8 - sizes[type],
                 sizes[type]);
        snprintf(key, sizeof key, "many.%u", type);
        gw_key_array(b, key, type, 2);
        for (int i = 0; i < 2; i++)
            gw_bytes(b, type == KS_GGUF_BOOL ? (const uint8_t *)"\0" : ones, sizes[type]);
    }
    gw_key_str(b, "text", "some");
    gw_key_array(b, "texts", KS_GGUF_STRING, 2);
    gw_str(b, "");
    gw_str(b, "more");
    gw_key_array(b, "none", KS_GGUF_U32, 0);
}

static void values_of_every_type_are_written_as_they_were_read(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    size_t len;
    gw_header(&b, 3, 0, 2 * 11 + 3);
    put_all_values(&b);
    gw_pad(&b, 32);
    gw_save(&b, path);
    struct ks_gguf *g = open_file(path);
    write_like(g, 32);
    ks_gguf_close(g);
    char *is = test_read_file(path, &len);
    assert_int_equal(len, b.len);
    assert_memory_equal(is, b.bytes, len);
    free(is);
    ks_buf_finish(&b);
}

static void data_lies_as_the_alignment_asks(void **state)
{
    (void)state;
    static const float data[3] = {1, 2, 3};
    const uint64_t dims[2] = {3, 1};
    for (uint32_t alignment = 8; alignment <= 256; alignment *= 2) {
        struct ks_error err;
        struct ks_gguf_writer *w = ks_gguf_writer_create(path, alignment, &err);
        assert_int_equal(ks_gguf_write_u32(w, "general.alignment", alignment, &err), 0);
        assert_int_equal(ks_gguf_write_str(w, "a", "b", &err), 0);
        assert_int_equal(ks_gguf_write_tensor(w, "x", 0, 1, dims, &err), 0);
        assert_int_equal(ks_gguf_write_tensor(w, "y", 0, 2, dims, &err), 0);
        assert_int_equal(ks_gguf_write_data(w, data, sizeof data, &err), 0);
        assert_int_equal(ks_gguf_write_data(w, data, sizeof data, &err), 0);
        assert_int_equal(ks_gguf_writer_finish(w, 0, &err), 0);
        struct ks_gguf *g = open_file(path);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(ks_gguf_tensor(g, i)->offset % alignment, 0);
            assert_memory_equal(ks_gguf_tensor(g, i)->data, data, sizeof data);
        }
        touch_all(g);
        ks_gguf_close(g);
    }
}

static void what_fails_leaves_nothing(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_gguf_writer *w = ks_gguf_writer_create(path, 32, &err);
    assert_non_null(w);
    assert_int_equal(ks_gguf_writer_finish(w, -1, &err), -1);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(folder), 0);
    assert_null(ks_gguf_writer_create(path, 32, &err));
    assert_non_null(strstr(err.text, "new.gguf.part: cannot write: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_program_s_file_is_written_again_byte_by_byte,
                                        with_folder, without_folder),
        cmocka_unit_test_setup_teardown(values_of_every_type_are_written_as_they_were_read,
                                        with_folder, without_folder),
        cmocka_unit_test_setup_teardown(data_lies_as_the_alignment_asks, with_folder,
                                        without_folder),
        cmocka_unit_test_setup_teardown(what_fails_leaves_nothing, with_folder, NULL),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Good files: everything in them is found again. */
#include "tests/testing.h"

#include <string.h>
#include <unistd.h>

#include "engine/gguf/gguf.h"
#include "engine/gguf/parse.h"
#include "engine/quant/type.h"
#include "tests/engine/gguf/writer.h"

enum { N_KEYS = 18 };

static void every_kind_of_value(struct ks_buf *b)
{
    gw_key(b, "t.u8", 0);
    gw_u8(b, 200);
    gw_key(b, "t.i8", 1);
    gw_u8(b, (uint8_t)-100);
    gw_key(b, "t.u16", 2);
    gw_u16(b, 60000);
    gw_key(b, "t.i16", 3);
    gw_u16(b, (uint16_t)-30000);
    gw_key_u32(b, "t.u32", 4000000000u);
    gw_key(b, "t.i32", 5);
    gw_u32(b, (uint32_t)-2000000000);
    gw_key_f32(b, "t.f32", 1.5f);
    gw_key_bool(b, "t.bool", 1);
    gw_key(b, "t.string", 8);
    gw_str_n(b, "a\0b\xff", 4);
    gw_key(b, "t.u64", 10);
    gw_u64(b, UINT64_MAX);
    gw_key(b, "t.i64", 11);
    gw_u64(b, (uint64_t)INT64_MIN);
    gw_key(b, "t.f64", 12);
    gw_f64(b, 0.1);
    gw_key_array(b, "t.strings", 8, 3);
    gw_str(b, "one");
    gw_str(b, "");
    gw_str(b, "three");
    gw_key_array(b, "t.bytes", 0, 3);
    gw_bytes(b, "\1\2\3", 3);
    gw_key_array(b, "t.floats", 6, 2);
    gw_f32(b, 0.5f);
    gw_f32(b, -2.0f);
    gw_key_array(b, "t.no_strings", 8, 0);
    gw_key_array(b, "t.nothing", 4, 0);
    gw_key_array(b, "t.bools", 7, 2);
    gw_bytes(b, "\0\1", 2);
}

static const struct ks_gguf_value *find(const struct ks_gguf *g, const char *key,
                                        enum ks_gguf_value_type type)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    assert_non_null(v);
    assert_string_equal(v->key, key);
    assert_int_equal(v->type, type);
    return v;
}

static struct ks_gguf *open_bytes(const struct ks_buf *b)
{
    struct ks_error err = {0};
    struct ks_gguf *g = ks_gguf_open_memory("m.gguf", b->bytes, b->len, &err);
    if (!g)
        fail_msg("%s", err.text);
    assert_int_equal(err.code, KS_OK);
    return g;
}

static void scalars_are_read(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    gw_header(&b, 3, 0, N_KEYS);
    every_kind_of_value(&b);
    struct ks_gguf *g = open_bytes(&b);
    assert_int_equal(find(g, "t.u8", KS_GGUF_U8)->u, 200);
    assert_int_equal(find(g, "t.i8", KS_GGUF_I8)->i, -100);
    assert_int_equal(find(g, "t.u16", KS_GGUF_U16)->u, 60000);
    assert_int_equal(find(g, "t.i16", KS_GGUF_I16)->i, -30000);
    assert_true(find(g, "t.u32", KS_GGUF_U32)->u == 4000000000u);
    assert_true(find(g, "t.i32", KS_GGUF_I32)->i == -2000000000);
    assert_true(find(g, "t.u64", KS_GGUF_U64)->u == UINT64_MAX);
    assert_true(find(g, "t.i64", KS_GGUF_I64)->i == INT64_MIN);
    assert_true(find(g, "t.f32", KS_GGUF_F32)->f == 1.5);
    assert_true(find(g, "t.f64", KS_GGUF_F64)->f == 0.1);
    assert_int_equal(find(g, "t.bool", KS_GGUF_BOOL)->u, 1);
    struct ks_str s = find(g, "t.string", KS_GGUF_STRING)->s;
    assert_int_equal(s.len, 4);
    assert_memory_equal(s.bytes, "a\0b\xff", 4);
    ks_gguf_close(g);
    ks_buf_finish(&b);
}

static void arrays_are_read(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    gw_header(&b, 3, 0, N_KEYS);
    every_kind_of_value(&b);
    struct ks_gguf *g = open_bytes(&b);
    const struct ks_gguf_value *v = find(g, "t.strings", KS_GGUF_ARRAY);
    assert_int_equal(v->array.type, KS_GGUF_STRING);
    assert_int_equal(v->array.count, 3);
    assert_null(v->array.bytes);
    assert_int_equal(v->array.strings[1].len, 0);
    assert_int_equal(v->array.strings[2].len, 5);
    assert_memory_equal(v->array.strings[2].bytes, "three", 5);
    v = find(g, "t.bytes", KS_GGUF_ARRAY);
    assert_int_equal(v->array.count, 3);
    assert_null(v->array.strings);
    assert_memory_equal(v->array.bytes, "\1\2\3", 3);
    v = find(g, "t.floats", KS_GGUF_ARRAY);
    const float floats[2] = {0.5f, -2.0f};
    assert_int_equal(v->array.type, KS_GGUF_F32);
    assert_memory_equal(v->array.bytes, floats, sizeof floats);
    assert_int_equal(find(g, "t.no_strings", KS_GGUF_ARRAY)->array.count, 0);
    assert_int_equal(find(g, "t.nothing", KS_GGUF_ARRAY)->array.count, 0);
    assert_int_equal(find(g, "t.bools", KS_GGUF_ARRAY)->array.bytes[1], 1);
    ks_gguf_close(g);
    ks_buf_finish(&b);
}

static void values_come_in_file_order(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    gw_header(&b, 2, 0, 3);
    gw_key_u32(&b, "zebra", 1);
    gw_key_u32(&b, "ant", 2);
    gw_key_u32(&b, "mole", 3);
    struct ks_gguf *g = open_bytes(&b);
    assert_int_equal(ks_gguf_n_values(g), 3);
    const char *const keys[] = {"zebra", "ant", "mole"};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(ks_gguf_value(g, i)->key, keys[i]);
        assert_ptr_equal(ks_gguf_find(g, keys[i]), ks_gguf_value(g, i));
    }
    assert_null(ks_gguf_find(g, "an"));
    assert_null(ks_gguf_find(g, ""));
    ks_gguf_close(g);
    ks_buf_finish(&b);
}

static void check_tensors(const struct ks_gguf *g, const struct ks_buf *b)
{
    assert_int_equal(ks_gguf_n_tensors(g), 3);
    const struct ks_gguf_tensor *t = ks_gguf_find_tensor(g, "quantized");
    assert_ptr_equal(t, ks_gguf_tensor(g, 1));
    assert_string_equal(t->name, "quantized");
    assert_int_equal(t->type, KS_Q4_K);
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->dims[0], 512);
    assert_int_equal(t->dims[1], 2);
    assert_int_equal(t->dims[2], 1);
    assert_int_equal(t->dims[3], 1);
    assert_int_equal(t->bytes, 4 * 144);
    assert_int_equal(t->part, 0);
    assert_true(t->offset + t->bytes <= b->len);
    assert_memory_equal(t->data, b->bytes + t->offset, t->bytes);
    assert_int_equal(ks_gguf_find_tensor(g, "norm")->bytes, 20);
    assert_int_equal(ks_gguf_find_tensor(g, "norm")->offset % 32, 0);
    assert_null(ks_gguf_find_tensor(g, "nor"));
}

static void tensors_are_found_with_their_bytes(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        struct ks_buf b = {0};
        gw_header(&b, version, 3, 0);
        gw_tensor(&b, "norm", KS_F32, 5, 0, 0);
        gw_tensor(&b, "quantized", KS_Q4_K, 512, 2, 128);
        gw_tensor(&b, "rare", KS_IQ2_S, 256, 0, 32);
        gw_pad(&b, 32);
        gw_data(&b, 128 + 4 * 144, version);
        struct ks_gguf *g = open_bytes(&b);
        assert_int_equal(ks_gguf_version(g), version);
        assert_int_equal(ks_gguf_file_bytes(g), b.len);
        check_tensors(g, &b);
        ks_gguf_close(g);
        ks_buf_finish(&b);
    }
}

static void a_file_is_mapped_and_aligned(void **state)
{
    (void)state;
    char folder[64], path[128];
    gw_folder(folder);
    snprintf(path, sizeof path, "%s/m.gguf", folder);
    struct ks_buf b = {0};
    gw_header(&b, 3, 2, 1);
    gw_key_u32(&b, "general.alignment", 256);
    gw_tensor(&b, "a", KS_F32, 1, 0, 0);
    gw_tensor(&b, "b", KS_F32, 3, 0, 256);
    gw_pad(&b, 256);
    gw_data(&b, 256 + 12, 9);
    gw_save(&b, path);
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(path, &err);
    assert_non_null(g);
    assert_string_equal(ks_gguf_path(g), path);
    for (size_t i = 0; i < 2; i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(g, i);
        assert_int_equal((uintptr_t)t->data % 256, 0);
        assert_memory_equal(t->data, b.bytes + t->offset, t->bytes);
    }
    ks_gguf_close(g);
    ks_buf_finish(&b);
    gw_remove(folder);
}

static void a_vocabulary_without_tensors_opens(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    gw_header(&b, 3, 0, 1);
    gw_key_str(&b, "general.architecture", "llama");
    struct ks_gguf *g = open_bytes(&b);
    assert_int_equal(ks_gguf_n_tensors(g), 0);
    assert_null(ks_gguf_find_tensor(g, "output.weight"));
    ks_gguf_close(g);
    ks_buf_finish(&b);
}

/* So that a file can be shown; whoever needs the weights refuses the type by name. */
static void every_known_type_opens_decodable_or_not(void **state)
{
    (void)state;
    for (uint32_t i = 0; ks_type_at(i); i++) {
        const struct ks_type_info *t = ks_type_at(i);
        struct ks_buf b = {0};
        gw_header(&b, 3, 1, 0);
        gw_tensor(&b, "w", (uint32_t)t->type, 2 * t->block_elems, 3, 0);
        gw_pad(&b, 32);
        gw_data(&b, 6 * t->block_bytes, i);
        struct ks_gguf *g = open_bytes(&b);
        assert_int_equal(ks_gguf_tensor(g, 0)->type, t->type);
        assert_int_equal(ks_gguf_tensor(g, 0)->bytes, 6 * t->block_bytes);
        ks_gguf_close(g);
        ks_buf_finish(&b);
    }
}

static void four_dimensions_multiply(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    gw_header(&b, 3, 1, 0);
    gw_str(&b, "experts");
    gw_u32(&b, 4);
    for (uint64_t d = 2; d <= 5; d++)
        gw_u64(&b, d);
    gw_u32(&b, KS_F16);
    gw_u64(&b, 0);
    gw_pad(&b, 32);
    gw_data(&b, 2 * 3 * 4 * 5 * 2, 4);
    struct ks_gguf *g = open_bytes(&b);
    assert_int_equal(ks_gguf_tensor(g, 0)->bytes, 240);
    assert_int_equal(ks_gguf_tensor(g, 0)->dims[3], 5);
    ks_gguf_close(g);
    ks_buf_finish(&b);
}

static void closing_nothing_is_fine(void **state)
{
    (void)state;
    ks_gguf_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_read),
        cmocka_unit_test(arrays_are_read),
        cmocka_unit_test(values_come_in_file_order),
        cmocka_unit_test(tensors_are_found_with_their_bytes),
        cmocka_unit_test(a_file_is_mapped_and_aligned),
        cmocka_unit_test(a_vocabulary_without_tensors_opens),
        cmocka_unit_test(every_known_type_opens_decodable_or_not),
        cmocka_unit_test(four_dimensions_multiply),
        cmocka_unit_test(closing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

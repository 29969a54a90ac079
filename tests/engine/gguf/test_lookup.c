#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/gguf/gguf.h"
#include "engine/gguf/parse.h"
#include "tests/engine/gguf/writer.h"

struct fixture {
    struct ks_buf b;
    struct ks_gguf *g;
};

static int open_all_kinds(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    gw_header(&f->b, 3, 0, 16);
    gw_key(&f->b, "u8", 0);
    gw_u8(&f->b, 255);
    gw_key_u16(&f->b, "u16", 65535);
    gw_key_u32(&f->b, "u32", UINT32_MAX);
    gw_key(&f->b, "u64", 10);
    gw_u64(&f->b, UINT32_MAX);
    gw_key(&f->b, "u64_large", 10);
    gw_u64(&f->b, 1ull << 32);
    gw_key(&f->b, "i32", 5);
    gw_u32(&f->b, 7);
    gw_key(&f->b, "i64", 11);
    gw_u64(&f->b, 8);
    gw_key(&f->b, "i8_negative", 1);
    gw_u8(&f->b, (uint8_t)-1);
    gw_key_f32(&f->b, "f32", 1e-5f);
    gw_key(&f->b, "f64", 12);
    gw_f64(&f->b, 0.1);
    gw_key(&f->b, "f64_large", 12);
    gw_f64(&f->b, 1e300);
    gw_key_f32(&f->b, "f32_nan", NAN);
    gw_key_bool(&f->b, "yes", 1);
    gw_key_bool(&f->b, "no", 0);
    gw_key_str(&f->b, "string", "text");
    gw_key_array(&f->b, "array", 4, 1);
    gw_u32(&f->b, 1);
    struct ks_error err;
    f->g = ks_gguf_open_memory("m.gguf", f->b.bytes, f->b.len, &err);
    *state = f;
    return f->g ? 0 : -1;
}

static int close_all(void **state)
{
    struct fixture *f = *state;
    ks_gguf_close(f->g);
    ks_buf_finish(&f->b);
    free(f);
    return 0;
}

static uint32_t u32(const struct ks_gguf *g, const char *key)
{
    struct ks_error err = {0};
    uint32_t v = 12;
    assert_int_equal(ks_gguf_get_u32(g, key, &v, &err), 1);
    assert_int_equal(err.code, KS_OK);
    return v;
}

static void every_integer_type_is_a_u32_where_it_fits(void **state)
{
    const struct fixture *f = *state;
    assert_int_equal(u32(f->g, "u8"), 255);
    assert_int_equal(u32(f->g, "u16"), 65535);
    assert_true(u32(f->g, "u32") == UINT32_MAX);
    assert_true(u32(f->g, "u64") == UINT32_MAX);
    assert_int_equal(u32(f->g, "i32"), 7);
    assert_int_equal(u32(f->g, "i64"), 8);
}

static void refused_u32(const struct ks_gguf *g, const char *key, const char *found)
{
    struct ks_error err = {0};
    uint32_t v = 12;
    assert_int_equal(ks_gguf_get_u32(g, key, &v, &err), -1);
    assert_int_equal(v, 12);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_int_equal(strncmp(err.text, "m.gguf: ", 8), 0);
    assert_non_null(strstr(err.text, key));
    assert_non_null(strstr(err.text, found));
    assert_non_null(strstr(err.text, "integer from 0 to 4294967295"));
}

static void an_integer_out_of_range_is_refused(void **state)
{
    const struct fixture *f = *state;
    refused_u32(f->g, "u64_large", "is 4294967296");
    refused_u32(f->g, "i8_negative", "is -1");
}

static void what_is_no_integer_is_refused_by_its_type(void **state)
{
    const struct fixture *f = *state;
    refused_u32(f->g, "f32", "type f32");
    refused_u32(f->g, "yes", "type bool");
    refused_u32(f->g, "string", "type string");
    refused_u32(f->g, "array", "type array");
}

static void what_is_absent_leaves_the_default(void **state)
{
    const struct fixture *f = *state;
    struct ks_error err = {0};
    uint32_t u = 12;
    float x = 3;
    bool yes = true;
    struct ks_str s = {.bytes = "old", .len = 3};
    assert_int_equal(ks_gguf_get_u32(f->g, "absent", &u, &err), 0);
    assert_int_equal(ks_gguf_get_f32(f->g, "absent", &x, &err), 0);
    assert_int_equal(ks_gguf_get_bool(f->g, "absent", &yes, &err), 0);
    assert_int_equal(ks_gguf_get_str(f->g, "absent", &s, &err), 0);
    assert_int_equal(u, 12);
    assert_true(x == 3 && yes && s.len == 3);
    assert_int_equal(err.code, KS_OK);
}

static void floats_are_read_and_narrowed(void **state)
{
    const struct fixture *f = *state;
    struct ks_error err;
    float x;
    assert_int_equal(ks_gguf_get_f32(f->g, "f32", &x, &err), 1);
    assert_true(x == 1e-5f);
    assert_int_equal(ks_gguf_get_f32(f->g, "f64", &x, &err), 1);
    assert_true(x == 0.1f);
}

static void a_float_that_is_no_number_is_refused(void **state)
{
    const struct fixture *f = *state;
    const char *const keys[] = {"f64_large", "f32_nan", "u32", "string"};
    const char *const found[] = {"1e+300", "nan", "type u32", "type string"};
    for (size_t i = 0; i < 4; i++) {
        struct ks_error err = {0};
        float x = 3;
        assert_int_equal(ks_gguf_get_f32(f->g, keys[i], &x, &err), -1);
        assert_true(x == 3);
        assert_non_null(strstr(err.text, keys[i]));
        assert_non_null(strstr(err.text, found[i]));
        assert_non_null(strstr(err.text, "finite f32"));
    }
}

static void booleans_and_strings_are_read(void **state)
{
    const struct fixture *f = *state;
    struct ks_error err;
    bool yes = false, no = true;
    struct ks_str s;
    assert_int_equal(ks_gguf_get_bool(f->g, "yes", &yes, &err), 1);
    assert_int_equal(ks_gguf_get_bool(f->g, "no", &no, &err), 1);
    assert_true(yes && !no);
    assert_int_equal(ks_gguf_get_str(f->g, "string", &s, &err), 1);
    assert_int_equal(s.len, 4);
    assert_memory_equal(s.bytes, "text", 4);
}

static void booleans_and_strings_of_another_type_are_refused(void **state)
{
    const struct fixture *f = *state;
    struct ks_error err = {0};
    bool yes;
    struct ks_str s;
    assert_int_equal(ks_gguf_get_bool(f->g, "u8", &yes, &err), -1);
    assert_non_null(strstr(err.text, "m.gguf: metadata key u8 is of type u8 where a bool"));
    assert_int_equal(ks_gguf_get_str(f->g, "yes", &s, &err), -1);
    assert_non_null(strstr(err.text, "key yes is of type bool where a string"));
}

static void value_types_have_names(void **state)
{
    (void)state;
    assert_string_equal(ks_gguf_value_type_name(KS_GGUF_U8), "u8");
    assert_string_equal(ks_gguf_value_type_name(KS_GGUF_STRING), "string");
    assert_string_equal(ks_gguf_value_type_name(KS_GGUF_F64), "f64");
    assert_string_equal(ks_gguf_value_type_name((enum ks_gguf_value_type)13), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_integer_type_is_a_u32_where_it_fits),
        cmocka_unit_test(an_integer_out_of_range_is_refused),
        cmocka_unit_test(what_is_no_integer_is_refused_by_its_type),
        cmocka_unit_test(what_is_absent_leaves_the_default),
        cmocka_unit_test(floats_are_read_and_narrowed),
        cmocka_unit_test(a_float_that_is_no_number_is_refused),
        cmocka_unit_test(booleans_and_strings_are_read),
        cmocka_unit_test(booleans_and_strings_of_another_type_are_refused),
        cmocka_unit_test(value_types_have_names),
    };
    return cmocka_run_group_tests(tests, open_all_kinds, close_all);
}

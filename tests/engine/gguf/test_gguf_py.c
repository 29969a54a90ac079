/* Files that gguf-py wrote, against what gguf-py's reader says is in them. */
#include "tests/testing.h"

#include <jansson.h>
#include <string.h>

#include "engine/gguf/gguf.h"
#include "tests/engine/gguf/touch.h"
#include "tests/sha256.h"

static json_t *load(void)
{
    json_error_t why;
    json_t *root = json_load_file(test_data("gguf/expected.json"), 0, &why);
    if (!root)
        fail_msg("%s", why.text);
    return root;
}

static const char *path_of(const char *name)
{
    char below[128];
    snprintf(below, sizeof below, "gguf/%s", name);
    return test_data(below);
}

static json_int_t integer(const json_t *object, const char *field)
{
    assert_true(json_is_integer(json_object_get(object, field)));
    return json_integer_value(json_object_get(object, field));
}

static void check_string(struct ks_str s, const json_t *want)
{
    assert_true(json_is_string(want));
    assert_int_equal(s.len, json_string_length(want));
    assert_memory_equal(s.bytes, json_string_value(want), s.len);
}

static void check_array(const struct ks_gguf_value *v, const json_t *want)
{
    assert_int_equal(v->array.count, json_array_size(want));
    for (size_t i = 0; i < v->array.count; i++) {
        const json_t *item = json_array_get(want, i);
        int32_t number;
        float real;
        if (v->array.type == KS_GGUF_STRING) {
            check_string(v->array.strings[i], item);
        } else if (v->array.type == KS_GGUF_I32) {
            memcpy(&number, v->array.bytes + 4 * i, 4);
            assert_int_equal(number, json_integer_value(item));
        } else if (v->array.type == KS_GGUF_F32) {
            memcpy(&real, v->array.bytes + 4 * i, 4);
            assert_true((double)real == json_real_value(item));
        } else {
            assert_int_equal(v->array.type, KS_GGUF_BOOL);
            assert_int_equal(v->array.bytes[i], json_is_true(item));
        }
    }
}

static void check_value(const struct ks_gguf_value *v, const json_t *entry)
{
    const json_t *want = json_object_get(entry, "value");
    assert_string_equal(v->key, json_string_value(json_object_get(entry, "key")));
    assert_int_equal(v->type, integer(entry, "type"));
    if (v->type == KS_GGUF_STRING)
        check_string(v->s, want);
    else if (v->type == KS_GGUF_ARRAY)
        check_array(v, want);
    else if (v->type == KS_GGUF_F32 || v->type == KS_GGUF_F64)
        assert_true(v->f == json_real_value(want));
    else if (v->type == KS_GGUF_BOOL)
        assert_int_equal(v->u, json_is_true(want));
    else
        assert_true(v->i == json_integer_value(want));
}

static void check_tensor(const struct ks_gguf_tensor *t, const json_t *entry)
{
    const json_t *dims = json_object_get(entry, "dims");
    assert_string_equal(t->name, json_string_value(json_object_get(entry, "name")));
    assert_int_equal(t->type, integer(entry, "type"));
    assert_int_equal(t->part, integer(entry, "part"));
    assert_int_equal(t->offset, integer(entry, "offset"));
    assert_int_equal(t->bytes, integer(entry, "bytes"));
    assert_int_equal(t->n_dims, json_array_size(dims));
    for (uint32_t i = 0; i < t->n_dims; i++)
        assert_int_equal(t->dims[i], json_integer_value(json_array_get(dims, i)));
    char hex[65];
    sha256_hex(t->data, t->bytes, hex);
    assert_string_equal(hex, json_string_value(json_object_get(entry, "sha256")));
}

static void check_file(const json_t *file, const char *path)
{
    const json_t *values = json_object_get(file, "values");
    const json_t *tensors = json_object_get(file, "tensors");
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(path, &err);
    if (!g)
        fail_msg("%s", err.text);
    assert_int_equal(ks_gguf_n_values(g), json_array_size(values));
    assert_int_equal(ks_gguf_n_tensors(g), json_array_size(tensors));
    for (size_t i = 0; i < ks_gguf_n_values(g); i++)
        check_value(ks_gguf_value(g, i), json_array_get(values, i));
    for (size_t i = 0; i < ks_gguf_n_tensors(g); i++)
        check_tensor(ks_gguf_tensor(g, i), json_array_get(tensors, i));
    touch_all(g);
    ks_gguf_close(g);
}

static void its_files_read_as_it_reads_them(void **state)
{
    (void)state;
    json_t *root = load(), *file, *name;
    size_t f, p, n = 0;
    json_array_foreach(json_object_get(root, "files"), f, file)
    {
        json_array_foreach(json_object_get(file, "paths"), p, name)
        {
            check_file(file, path_of(json_string_value(name)));
            n++;
        }
    }
    assert_int_equal(n, 4); /* the whole one, and the split by each of its three parts */
    json_decref(root);
}

static void its_big_endian_file_is_refused_by_name(void **state)
{
    (void)state;
    struct ks_error err = {0};
    assert_null(ks_gguf_open(path_of("big-endian.gguf"), &err));
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "big-endian.gguf: byte 4: "));
    assert_non_null(strstr(err.text, "a big-endian GGUF (version 3)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_files_read_as_it_reads_them),
        cmocka_unit_test(its_big_endian_file_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

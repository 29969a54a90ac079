#include "tests/testing.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/quant/round.h"

enum { ROWS = 16, COLS = 512, DENORMAL_ROW = 5 };

struct fixture {
    json_t *types, *root;
    char *bin;
    float *input; /* (ROWS, COLS) */
};

static int load(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    json_error_t why;
    size_t len;
    f->root = json_load_file(test_data("quant/quant.json"), 0, &why);
    f->types = json_object_get(f->root, "types");
    f->bin = test_read_file(test_data("quant/quant.bin"), &len);
    f->input = (float *)(void *)test_read_file(test_data("quant/input.f32"), &len);
    assert_int_equal(len, ROWS * COLS * sizeof(float));
    *state = f;
    return f->types ? 0 : -1;
}

static int unload(void **state)
{
    struct fixture *f = *state;
    json_decref(f->root);
    free(f->bin);
    free(f->input);
    free(f);
    return 0;
}

/* What the ecosystem's own quantizer and decoder make of the rows. */
static void rows_come_back_as_the_reference_keeps_them(void **state)
{
    const struct fixture *f = *state;
    enum ks_type type;
    size_t checked = 0;
    for (size_t i = 1; ks_round_type(i, &type); i++) {
        const char *name = ks_type_info((uint32_t)type)->name;
        const json_t *plain = json_object_get(json_object_get(f->types, name), "plain");
        const json_t *at = json_object_get(plain, "dequantized_offset");
        assert_true(json_is_integer(at));
        const float *want = (const float *)(const void *)(f->bin + json_integer_value(at));
        for (size_t r = 0; r < ROWS; r++) {
            float x[COLS];
            memcpy(x, f->input + r * COLS, sizeof x);
            ks_round_row(type, x, COLS);
            if (r != DENORMAL_ROW && memcmp(x, want + r * COLS, sizeof x) != 0)
                fail_msg("%s: row %zu differs", name, r);
        }
        checked++;
    }
    assert_int_equal(checked, 7);
}

static void f32_is_left_as_it_is(void **state)
{
    (void)state;
    float x[] = {0.1f, -0.0f, NAN, INFINITY, 0x1p-149f}, before[5];
    memcpy(before, x, sizeof x);
    ks_round_row(KS_F32, x, 5);
    assert_memory_equal(x, before, sizeof x);
}

/* An encoder would make a plain 0 of a NaN: what is broken would look sound. */
static void a_block_with_a_value_that_is_none_is_none_throughout(void **state)
{
    (void)state;
    const float odd[] = {NAN, INFINITY, -INFINITY};
    enum ks_type type;
    for (size_t i = 3; ks_round_type(i, &type); i++)
        for (size_t o = 0; o < 3; o++) {
            float x[96], alone[96];
            for (int k = 0; k < 96; k++)
                x[k] = alone[k] = (float)(k % 13) - 5.5f;
            ks_round_row(type, alone, 96);
            x[40] = odd[o];
            ks_round_row(type, x, 96);
            assert_memory_equal(x, alone, 32 * sizeof *x);
            assert_memory_equal(x + 64, alone + 64, 32 * sizeof *x);
            for (int k = 32; k < 64; k++)
                assert_true(isnan(x[k]));
        }
}

static void halves_keep_what_is_none_and_what_is_beyond_them_is_infinite(void **state)
{
    (void)state;
    float x[] = {NAN, -INFINITY, 65519.0f, 65520.0f}, y[] = {NAN, 0x1.ffp127f, -3.4e38f};
    ks_round_row(KS_F16, x, 4);
    assert_true(isnan(x[0]) && x[1] == -INFINITY && x[2] == 65504.0f && x[3] == INFINITY);
    ks_round_row(KS_BF16, y, 3);
    assert_true(isnan(y[0]) && y[1] == INFINITY && y[2] == -INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_as_the_reference_keeps_them),
        cmocka_unit_test(f32_is_left_as_it_is),
        cmocka_unit_test(a_block_with_a_value_that_is_none_is_none_throughout),
        cmocka_unit_test(halves_keep_what_is_none_and_what_is_beyond_them_is_infinite),
    };
    return cmocka_run_group_tests(tests, load, unload);
}

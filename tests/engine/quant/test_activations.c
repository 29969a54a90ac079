#include "tests/testing.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "engine/quant/activations.h"
#include "engine/quant/decode.h"

enum { ROWS = 16, COLS = 512, DENORMALS = 5 };

/* Decoded rows of a type as the independent quantizer made them of the inputs. */
static void load_decoded(const char *type, float out[ROWS * COLS])
{
    json_error_t why;
    json_t *root = json_load_file(test_data("quant/quant.json"), 0, &why);
    json_t *entry = json_object_get(json_object_get(root, "types"), type);
    json_t *offset = json_object_get(json_object_get(entry, "plain"), "dequantized_offset");
    assert_true(json_is_integer(offset));
    size_t len, at = (size_t)json_integer_value(offset);
    char *bin = test_read_file(test_data("quant/quant.bin"), &len);
    assert_true(at + ROWS * COLS * sizeof *out <= len);
    memcpy(out, bin + at, ROWS * COLS * sizeof *out);
    free(bin);
    json_decref(root);
}

static float *load_inputs(void)
{
    size_t len;
    char *bytes = test_read_file(test_data("quant/input.f32"), &len);
    float *x = malloc(len);
    assert_non_null(x);
    assert_int_equal(len, ROWS * COLS * sizeof *x);
    memcpy(x, bytes, len);
    free(bytes);
    return x;
}

static void assert_rounds_as(const enum ks_type *weights, size_t n, const char *type)
{
    static float want[ROWS * COLS], got[COLS];
    float *x = load_inputs();
    load_decoded(type, want);
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < ROWS; r++) {
            if (r == DENORMALS)
                continue;
            ks_activations_round_row(weights[i], x + r * COLS, COLS, got);
            if (memcmp(got, want + r * COLS, sizeof got) != 0)
                fail_msg("row %zu before %s is not as %s has it", r, ks_type_info(weights[i])->name,
                         type);
        }
    free(x);
}

static void before_short_blocks_rows_are_what_q8_0_keeps_of_them(void **state)
{
    (void)state;
    static const enum ks_type weights[] = {KS_Q4_0, KS_Q4_1,   KS_Q5_0,  KS_Q5_1,
                                           KS_Q8_0, KS_IQ4_NL, KS_MXFP4, KS_NVFP4};
    assert_rounds_as(weights, sizeof weights / sizeof *weights, "Q8_0");
}

static void before_halves_rows_are_halves(void **state)
{
    (void)state;
    assert_rounds_as(&(enum ks_type){KS_F16}, 1, "F16");
    assert_rounds_as(&(enum ks_type){KS_BF16}, 1, "BF16");
}

static void before_f32_nothing_is_rounded(void **state)
{
    (void)state;
    float *x = load_inputs(), got[COLS];
    ks_activations_round_row(KS_F32, x, COLS, got);
    assert_memory_equal(got, x, sizeof got);
    free(x);
}

static const enum ks_type long_blocks[] = {KS_Q2_K,  KS_Q3_K,   KS_Q4_K,    KS_Q5_K,   KS_Q6_K,
                                           KS_IQ1_S, KS_IQ1_M,  KS_IQ2_XXS, KS_IQ2_XS, KS_IQ2_S,
                                           KS_IQ3_S, KS_IQ4_XS, KS_TQ1_0,   KS_TQ2_0,  KS_IQ3_XXS};
enum { N_LONG = sizeof long_blocks / sizeof *long_blocks };

/* With 127/8 as the largest a level is an eighth, and a sixteenth above one lies between two: the
 * even one is taken, whichever sign the largest has. */
static void before_long_blocks_halves_go_to_the_even_level(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2)
        for (size_t t = 0; t < N_LONG; t++) {
            float x[512] = {0}, got[512];
            for (int i = 0; i < 127; i++) {
                x[2 * i] = (float)(i - 63) / 8.0f;
                x[2 * i + 1] = ((float)(i - 63) + 0.5f) / 8.0f;
            }
            x[255] = (float)sign * 127.0f / 8.0f;
            x[256 + 7] = 3.0f; /* another block, of a level that is no power of 2 */
            ks_activations_round_row(long_blocks[t], x, 512, got);
            for (int i = 0; i < 127; i++) {
                int odd = (i - 63) & 1;
                assert_true(got[2 * i] == x[2 * i]);
                assert_true(got[2 * i + 1] == (float)(i - 63 + odd) / 8.0f);
            }
            assert_true(got[255] == x[255]);
            assert_true(fabsf(got[256 + 7] - 3.0f) < 1e-6f);
            for (int i = 256; i < 512; i++)
                assert_true(i == 256 + 7 || got[i] == 0);
        }
}

static void no_element_moves_by_more_than_half_a_level(void **state)
{
    (void)state;
    float *x = load_inputs(), got[COLS];
    for (size_t r = 0; r < ROWS; r++) {
        if (r == DENORMALS)
            continue;
        ks_activations_round_row(KS_Q6_K, x + r * COLS, COLS, got);
        for (size_t b = 0; b < COLS; b += 256) {
            double most = 0;
            for (size_t i = b; i < b + 256; i++)
                most = fmax(most, fabs((double)x[r * COLS + i]));
            for (size_t i = b; i < b + 256; i++)
                assert_true(fabs((double)got[i] - (double)x[r * COLS + i]) <=
                            most / 254 * (1 + 1e-5));
        }
    }
    free(x);
}

static void what_is_rounded_already_stays(void **state)
{
    (void)state;
    static const enum ks_type weights[] = {KS_F16, KS_BF16, KS_Q8_0, KS_Q5_1};
    float *x = load_inputs(), once[COLS], twice[COLS];
    for (size_t t = 0; t < sizeof weights / sizeof *weights; t++)
        for (size_t r = 0; r < ROWS; r++) {
            if (r == DENORMALS)
                continue;
            ks_activations_round_row(weights[t], x + r * COLS, COLS, once);
            ks_activations_round_row(weights[t], once, COLS, twice);
            for (size_t i = 0; i < COLS; i++) /* of a scale that is 0 the sign of 0 is lost */
                assert_true(twice[i] == once[i]);
        }
    free(x);
}

static void rows_may_be_rounded_in_place(void **state)
{
    (void)state;
    static const enum ks_type weights[] = {KS_F32, KS_F16, KS_BF16, KS_Q8_0, KS_Q4_K};
    float *x = load_inputs(), got[COLS];
    for (size_t t = 0; t < sizeof weights / sizeof *weights; t++) {
        float *row = x + (t + 8) * COLS;
        ks_activations_round_row(weights[t], row, COLS, got);
        ks_activations_round_row(weights[t], row, COLS, row);
        assert_memory_equal(row, got, sizeof got);
    }
    free(x);
}

static void what_is_no_number_is_not_hidden(void **state)
{
    (void)state;
    static const enum ks_type weights[] = {KS_F16, KS_BF16, KS_Q8_0, KS_Q4_K};
    for (size_t t = 0; t < 4; t++) {
        float x[512], got[512];
        for (size_t i = 0; i < 512; i++)
            x[i] = (float)i / 100.0f;
        x[3] = NAN;
        x[9] = -INFINITY;
        ks_activations_round_row(weights[t], x, 512, got);
        assert_true(isnan(got[3]) && !isfinite(got[9]));
        for (size_t i = 256; i < 512; i++)
            assert_true(fabsf(got[i] - x[i]) < 0.03f);
    }
}

static void nothing_and_next_to_nothing_become_zero(void **state)
{
    (void)state;
    static const enum ks_type weights[] = {KS_Q8_0, KS_Q4_K};
    for (size_t t = 0; t < 2; t++) {
        float x[256] = {0}, got[256];
        x[77] = 1e-40f;
        ks_activations_round_row(weights[t], x, 256, got);
        for (size_t i = 0; i < 256; i++)
            assert_true(fabsf(got[i]) <= 1e-40f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_short_blocks_rows_are_what_q8_0_keeps_of_them),
        cmocka_unit_test(before_halves_rows_are_halves),
        cmocka_unit_test(before_f32_nothing_is_rounded),
        cmocka_unit_test(before_long_blocks_halves_go_to_the_even_level),
        cmocka_unit_test(no_element_moves_by_more_than_half_a_level),
        cmocka_unit_test(what_is_rounded_already_stays),
        cmocka_unit_test(rows_may_be_rounded_in_place),
        cmocka_unit_test(what_is_no_number_is_not_hidden),
        cmocka_unit_test(nothing_and_next_to_nothing_become_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

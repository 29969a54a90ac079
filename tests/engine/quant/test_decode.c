#include "tests/testing.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "engine/quant/decode.h"
#include "engine/quant/grid/grid.h"
#include "tests/sha256.h"

enum { ROWS = 16, COLS = 512 };

struct fixture {
    json_t *root;
    uint8_t *bin;
    size_t bin_len;
};

static int load(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    json_error_t why;
    f->root = json_load_file(test_data("quant/quant.json"), 0, &why);
    f->bin = (uint8_t *)test_read_file(test_data("quant/quant.bin"), &f->bin_len);
    *state = f;
    return f->root ? 0 : -1;
}

static int unload(void **state)
{
    struct fixture *f = *state;
    json_decref(f->root);
    free(f->bin);
    free(f);
    return 0;
}

static size_t number(const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    assert_true(json_is_integer(value));
    return (size_t)json_integer_value(value);
}

/* Decodes the rows of one mode, each from an odd address to show that blocks need no alignment. */
static void decode_mode(const struct fixture *f, enum ks_type type, const json_t *mode, float *out)
{
    size_t row_bytes = number(mode, "bytes_per_row"), offset = number(mode, "q_offset");
    uint64_t expected_bytes;
    assert_true(ks_type_row_bytes(type, COLS, &expected_bytes));
    assert_int_equal(row_bytes, expected_bytes);
    assert_true(offset + ROWS * row_bytes <= f->bin_len);
    uint8_t *odd = malloc(row_bytes + 1);
    assert_non_null(odd);
    for (size_t r = 0; r < ROWS; r++) {
        memcpy(odd + 1, f->bin + offset + r * row_bytes, row_bytes);
        ks_decode_row(type, odd + 1, out + r * COLS, COLS);
    }
    free(odd);
}

static void check_mode(const struct fixture *f, enum ks_type type, const json_t *mode)
{
    static float out[ROWS * COLS];
    decode_mode(f, type, mode, out);
    const char *digest = json_string_value(json_object_get(mode, "dequantized_sha256"));
    if (digest) {
        char hex[65];
        sha256_hex(out, sizeof out, hex);
        assert_string_equal(hex, digest);
        return;
    }
    size_t offset = number(mode, "dequantized_offset");
    assert_true(offset + sizeof out <= f->bin_len);
    assert_memory_equal(out, f->bin + offset, sizeof out);
}

static void every_decodable_type_gives_the_reference_bits(void **state)
{
    const struct fixture *f = *state;
    int modes = 0, types = 0;
    for (uint32_t i = 0; ks_type_at(i); i++) {
        const struct ks_type_info *t = ks_type_at(i);
        const json_t *entry = json_object_get(json_object_get(f->root, "types"), t->name);
        if (!t->decodes || !entry)
            continue;
        types++;
        const char *const names[] = {"plain", "imatrix"};
        for (int m = 0; m < 2; m++) {
            const json_t *mode = json_object_get(entry, names[m]);
            if (!mode)
                continue;
            check_mode(f, t->type, mode);
            modes++;
        }
    }
    assert_int_equal(types, 25); /* all that decode, but for F32 */
    assert_int_equal(modes, 40);
}

static size_t unhex(const char *hex, uint8_t *out, size_t max)
{
    size_t n = strlen(hex) / 2;
    assert_true(n <= max);
    for (size_t i = 0; i < n; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

static void huge_values_keep_their_bits(void **state)
{
    const struct fixture *f = *state;
    const char *const names[] = {"BF16", "MXFP4"};
    for (int i = 0; i < 2; i++) {
        const json_t *entry = json_object_get(json_object_get(f->root, "huge"), names[i]);
        uint8_t q[1024], want[64 * sizeof(float)];
        unhex(json_string_value(json_object_get(entry, "q_hex")), q, sizeof q);
        size_t n =
            unhex(json_string_value(json_object_get(entry, "dequantized_hex")), want, sizeof want);
        assert_int_equal(n, sizeof want);
        float out[64];
        ks_decode_row(ks_type_named(names[i])->type, q, out, 64);
        assert_memory_equal(out, want, sizeof out);
    }
}

static void f32_is_copied(void **state)
{
    (void)state;
    const uint32_t bits[4] = {0x3f800000, 0x80000000, 0x7f800001, 1};
    float out[4];
    ks_decode_row(KS_F32, bits, out, 4);
    assert_memory_equal(out, bits, sizeof out);
}

/* E8M0: 2^(e - 127), and MXFP4 code 2 is 1.0, for every exponent (IEEE f32 holds them all). */
static void every_mxfp4_scale_is_a_power_of_two(void **state)
{
    (void)state;
    double want = 0x1p-127;
    for (int e = 0; e < 255; e++, want *= 2) {
        uint8_t block[17] = {(uint8_t)e};
        memset(block + 1, 0x22, 16);
        float out[32];
        ks_decode_row(KS_MXFP4, block, out, 32);
        for (int j = 0; j < 32; j++)
            assert_true((double)out[j] == want);
    }
}

/* UE4M3: 4 bits of exponent with bias 7, 3 of mantissa, denormals below; FP4 code 2 is 1.0. */
static void every_nvfp4_scale_has_its_value(void **state)
{
    (void)state;
    for (int e = 0; e < 127; e++) {
        double want = e < 8 ? e / 512.0 : ldexp(1 + e % 8 / 8.0, e / 8 - 7);
        uint8_t block[36] = {0, (uint8_t)e, 0x7f, 0};
        memset(block + 4, 0x22, 32);
        float out[64];
        ks_decode_row(KS_NVFP4, block, out, 64);
        for (int j = 0; j < 64; j++)
            assert_true((double)out[j] == (j / 16 == 1 ? want : 0));
    }
}

/* Every number of five ternary digits, in the byte that stands for it. */
static void every_byte_of_ternary_digits_is_read_back(void **state)
{
    (void)state;
    for (int number = 0; number < 243; number++) {
        uint8_t block[54] = {0};
        memset(block, (number * 256 + 242) / 243, 52);
        block[53] = 0x3c; /* 1.0 */
        float out[256];
        ks_decode_row(KS_TQ1_0, block, out, 256);
        int digit[5];
        for (int n = 4, rest = number; n >= 0; n--, rest /= 3)
            digit[n] = rest % 3 - 1;
        for (int i = 0; i < 256; i++)
            assert_true(out[i] == (float)digit[i < 160   ? i / 32
                                               : i < 240 ? (i - 160) / 16
                                                         : (i - 240) / 4]);
    }
}

/* The points of the IQ2 sets are of even digit sum, IQ3_XXS's too: a wrong bit in a set's map shows
 * without data for every point. */
static void points_are_ascending_and_of_even_sums(void **state)
{
    (void)state;
    const struct {
        const uint16_t *codes;
        int n, width, base;
        bool even;
    } sets[] = {
        {ks_grid_iq1, 2048, 2, 3, false},   {ks_grid_iq2_xxs, 256, 2, 3, true},
        {ks_grid_iq2_xs, 512, 2, 3, true},  {ks_grid_iq2_s, 1024, 2, 3, true},
        {ks_grid_iq3_xxs, 256, 3, 8, true}, {ks_grid_iq3_s, 512, 3, 8, false},
    };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (int i = 0; i < sets[s].n; i++) {
            int sum = 0;
            for (int at = 0; at < 16; at += sets[s].width) {
                int digit = sets[s].codes[i] >> at & ((1 << sets[s].width) - 1);
                assert_true(digit < sets[s].base);
                sum += digit;
            }
            assert_true(!sets[s].even || sum % 2 == 0);
            assert_true(i == 0 || sets[s].codes[i] > sets[s].codes[i - 1]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_decodable_type_gives_the_reference_bits),
        cmocka_unit_test(huge_values_keep_their_bits),
        cmocka_unit_test(f32_is_copied),
        cmocka_unit_test(every_mxfp4_scale_is_a_power_of_two),
        cmocka_unit_test(every_nvfp4_scale_has_its_value),
        cmocka_unit_test(every_byte_of_ternary_digits_is_read_back),
        cmocka_unit_test(points_are_ascending_and_of_even_sums),
    };
    return cmocka_run_group_tests(tests, load, unload);
}

#include "tests/testing.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "engine/quant/decode.h"
#include "tests/sha256.h"

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t hex_field(const json_t *object, const char *field)
{
    const char *text = json_string_value(json_object_get(object, field));
    assert_non_null(text);
    return (uint32_t)strtoul(text, NULL, 16);
}

static json_t *load(void)
{
    json_error_t why;
    json_t *root = json_load_file(test_data("quant/quant.json"), 0, &why);
    assert_non_null(root);
    return root;
}

/* FIPS 180-4's own examples: the digests below are only worth what this is. */
static void the_digest_is_sha256(void **state)
{
    (void)state;
    char hex[65];
    sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void every_half_widens_to_the_reference_bits(void **state)
{
    (void)state;
    json_t *root = load();
    uint32_t *all = malloc(65536 * sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < 65536; i++) {
        float f = ks_f16_to_f32((uint16_t)i);
        all[i] = isnan(f) ? 0x7fc00000 : bits_of(f);
    }
    char hex[65];
    sha256_hex(all, 65536 * sizeof *all, hex);
    assert_string_equal(hex, json_string_value(json_object_get(root, "f16_to_f32_all_sha256")));
    free(all);
    json_decref(root);
}

static void every_half_and_bfloat_comes_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t half = (uint16_t)i;
        bool half_nan = (half & 0x7fff) > 0x7c00, bfloat_nan = (half & 0x7fff) > 0x7f80;
        assert_int_equal(ks_f32_to_f16(ks_f16_to_f32(half)), half_nan ? half | 0x200 : half);
        assert_int_equal(ks_f32_to_bf16(ks_bf16_to_f32(half)), bfloat_nan ? half | 0x40 : half);
    }
}

static void f32_rounds_as_the_reference_does(void **state)
{
    (void)state;
    json_t *root = load(), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "f32_rounding"), i, one)
    {
        float f = float_of(hex_field(one, "f32"));
        assert_int_equal(ks_f32_to_bf16(f), hex_field(one, "bf16"));
        if (!isnan(f))
            assert_int_equal(ks_f32_to_f16(f), hex_field(one, "f16"));
    }
    assert_true(i >= 30);
    json_decref(root);
}

static void nan_stays_nan_and_keeps_its_sign(void **state)
{
    (void)state;
    const uint32_t nans[] = {0x7f800001, 0xff800001, 0x7fc00000, 0xffc12345, 0x7fffffff};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        uint16_t half = ks_f32_to_f16(float_of(nans[i]));
        uint16_t bfloat = ks_f32_to_bf16(float_of(nans[i]));
        assert_true((half & 0x7fff) > 0x7c00 && (half & 0x200));
        assert_true((bfloat & 0x7fff) > 0x7f80 && (bfloat & 0x40));
        assert_int_equal(half >> 15, nans[i] >> 31);
        assert_int_equal(bfloat >> 15, nans[i] >> 31);
        assert_true(isnan(ks_f16_to_f32(half)) && isnan(ks_bf16_to_f32(bfloat)));
    }
}

/* The half nearest to f by the distance to its two neighbours, computed in double. */
static void check_nearest(float f)
{
    uint16_t got = ks_f32_to_f16(f);
    double error = fabs((double)ks_f16_to_f32(got) - (double)f);
    for (int step = -1; step <= 1; step += 2) {
        uint16_t other = (uint16_t)(got + step);
        double far = fabs((double)ks_f16_to_f32(other) - (double)f);
        assert_true(error < far || (error == far && got % 2 == 0));
    }
}

static void halves_are_nearest_with_ties_to_even(void **state)
{
    (void)state;
    for (uint32_t half = 1; half < 0x7bff; half += 3) {
        float low = ks_f16_to_f32((uint16_t)half), high = ks_f16_to_f32((uint16_t)(half + 1));
        float middle = low + (high - low) / 2;
        check_nearest(middle);
        check_nearest(nextafterf(middle, 0));
        check_nearest(nextafterf(middle, INFINITY));
    }
}

/* Everything below half of the least half, 2^-25, is a zero of its sign. */
static void what_is_too_small_for_a_half_is_zero(void **state)
{
    (void)state;
    for (uint32_t exponent = 0; exponent < 102; exponent++) {
        uint32_t bits = exponent << 23 | 0x7fffff;
        assert_int_equal(ks_f32_to_f16(float_of(bits)), 0);
        assert_int_equal(ks_f32_to_f16(float_of(bits | 0x80000000)), 0x8000);
    }
}

static void a_row_is_its_halves_one_by_one(void **state)
{
    (void)state;
    enum { MOST = 67 };
    uint8_t bytes[2 * MOST + 1], back[2 * MOST];
    float row[MOST];
    uint32_t random = 1;
    for (size_t n = 0; n <= MOST; n++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
        ks_f16_to_f32_row(bytes + 1, row, n); /* at any address */
        ks_f32_to_f16_row(row, back, n);
        for (size_t i = 0; i < n; i++) {
            uint16_t half = (uint16_t)(bytes[1 + 2 * i] | bytes[2 + 2 * i] << 8);
            uint16_t narrowed = (uint16_t)(back[2 * i] | back[2 * i + 1] << 8);
            assert_int_equal(bits_of(row[i]), bits_of(ks_f16_to_f32(half)));
            assert_int_equal(narrowed, ks_f32_to_f16(row[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_sha256),
        cmocka_unit_test(every_half_widens_to_the_reference_bits),
        cmocka_unit_test(every_half_and_bfloat_comes_back),
        cmocka_unit_test(f32_rounds_as_the_reference_does),
        cmocka_unit_test(nan_stays_nan_and_keeps_its_sign),
        cmocka_unit_test(what_is_too_small_for_a_half_is_zero),
        cmocka_unit_test(halves_are_nearest_with_ties_to_even),
        cmocka_unit_test(a_row_is_its_halves_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

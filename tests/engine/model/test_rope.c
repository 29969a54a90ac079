#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/model/arch/arch.h"

static struct ks_rope rope_of(uint32_t dims, float base)
{
    return (struct ks_rope){
        .dims = dims,
        .base = base,
        .factor = 1,
        .attn_factor = 1,
        .original_context = 4096,
        .yarn_beta_fast = 32,
        .yarn_beta_slow = 1,
    };
}

#define POSITIONS 600

struct tables {
    float cosine[POSITIONS * 64], sine[POSITIONS * 64];
};

static struct tables *tables_of(const struct ks_rope *r, const float *factors)
{
    static struct tables t;
    struct ks_error err;
    assert_int_equal(ks_rope_tables(r, factors, POSITIONS, t.cosine, t.sine, &err), 0);
    return &t;
}

/* The angle of pair i in the first row. */
static double frequency_of(const struct tables *t, size_t i)
{
    return atan2((double)t->sine[i], (double)t->cosine[i]);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 2e-7 * fabs(expected)))
        fail_msg("%.17g, not %.17g", value, expected);
}

/* The tables with position 1 in the first row, so that its angles are the frequencies. */
static struct tables *row_one(const struct ks_rope *r, const float *factors)
{
    struct tables *t = tables_of(r, factors);
    size_t pairs = r->dims / 2;
    memmove(t->cosine, t->cosine + pairs, pairs * sizeof(float));
    memmove(t->sine, t->sine + pairs, pairs * sizeof(float));
    return t;
}

static void plain_frequencies_are_powers_of_the_base(void **state)
{
    (void)state;
    const struct ks_rope r = rope_of(64, 10000);
    const struct tables *t = row_one(&r, NULL);
    for (size_t i = 0; i < 32; i++)
        assert_near(frequency_of(t, i), pow(10000, -(double)i / 32));
}

static void entries_are_the_rounded_cosines_of_the_exact_angles(void **state)
{
    (void)state;
    const struct ks_rope r = rope_of(32, 500000);
    const struct tables *t = tables_of(&r, NULL);
    for (size_t p = 0; p < POSITIONS; p++) {
        for (size_t i = 0; i < 16; i++) {
            double angle = (double)p * pow(500000, -(double)i / 16);
            assert_true(fabs((double)t->cosine[p * 16 + i] - cos(angle)) < 3.0e-8);
            assert_true(fabs((double)t->sine[p * 16 + i] - sin(angle)) < 3.0e-8);
        }
    }
}

static void linear_scaling_divides_every_frequency(void **state)
{
    (void)state;
    struct ks_rope r = rope_of(64, 10000);
    r.scaling = KS_ROPE_SCALING_LINEAR;
    r.factor = 4;
    const struct tables *t = row_one(&r, NULL);
    for (size_t i = 0; i < 32; i++)
        assert_near(frequency_of(t, i), pow(10000, -(double)i / 32) / 4);
}

static void factors_divide_each_frequency(void **state)
{
    (void)state;
    const struct ks_rope r = rope_of(8, 10000);
    const float factors[4] = {1, 2, 8, 0.5f};
    const struct tables *t = row_one(&r, factors);
    for (size_t i = 0; i < 4; i++)
        assert_near(frequency_of(t, i), pow(10000, -(double)i / 4) / (double)factors[i]);
}

struct yarn_point {
    size_t pair;
    double frequency;
};

/* Numbers from transformers' formula (modeling_rope_utils), evaluated in f64. */
static void yarn_ramps_from_kept_to_interpolated(void **state)
{
    (void)state;
    const struct yarn_point points[] = {
        {0, 1.0},
        {5, 0.33982083289425596},
        {20, 0.01333521432163324},
        {25, 0.004131738022518394},
        {30, 0.001064360981247002},
        {35, 0.0002462584069089387},
        {40, 4.445698525097307e-05},
        {60, 5.928434264154138e-07},
    };
    struct ks_rope r = rope_of(128, 1e6f);
    r.scaling = KS_ROPE_SCALING_YARN;
    r.factor = 4;
    r.original_context = 32768;
    const struct tables *t = row_one(&r, NULL);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        assert_near(frequency_of(t, points[i].pair), points[i].frequency);
    assert_near(hypot((double)t->cosine[0], (double)t->sine[0]), 1.138629436111989);
}

static void the_attention_factor_multiplies_cosine_and_sine(void **state)
{
    (void)state;
    struct ks_rope r = rope_of(64, 10000);
    r.attn_factor = 0.5f;
    assert_near((double)tables_of(&r, NULL)->cosine[0], 0.5);
    r.scaling = KS_ROPE_SCALING_YARN;
    r.factor = 16;
    assert_near((double)tables_of(&r, NULL)->cosine[0], 0.6386294361119891);
}

static void angles_beyond_the_cosines_range_are_refused(void **state)
{
    (void)state;
    const struct ks_rope r = rope_of(4, 10000);
    const float factors[2] = {1, 1e-30f};
    static float cosine[8], sine[8];
    struct ks_error err;
    assert_int_equal(ks_rope_tables(&r, factors, 4, cosine, sine, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_frequencies_are_powers_of_the_base),
        cmocka_unit_test(entries_are_the_rounded_cosines_of_the_exact_angles),
        cmocka_unit_test(linear_scaling_divides_every_frequency),
        cmocka_unit_test(factors_divide_each_frequency),
        cmocka_unit_test(yarn_ramps_from_kept_to_interpolated),
        cmocka_unit_test(the_attention_factor_multiplies_cosine_and_sine),
        cmocka_unit_test(angles_beyond_the_cosines_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The CPU paths against their definition, rows_scalar.c: equal bits, whatever is in the rows. */
#include "tests/testing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/ruler/rows.h"
#include "tests/engine/ruler/rulers.h"

#define MOST 2100

/* Ordinary logits, and now and then one of what breaks carelessly written loops. */
static void draw_wild(uint64_t *seed, float *row, size_t n, bool wild)
{
    static const float odd[] = {-INFINITY, 0.0F,     -0.0F,  FLT_MIN, -1e-42F, FLT_TRUE_MIN,
                                -FLT_MAX,  -745.25F, -1e30F, -708.5F, -88.75F, -746.5F};
    for (size_t i = 0; i < n; i++) {
        row[i] = ldexpf((float)signed24(seed), -20);
        if (wild && ks_random_below(seed, 3) == 0)
            row[i] = odd[ks_random_below(seed, sizeof odd / sizeof odd[0])];
    }
}

static void every_path_sums_to_the_same_bits(void **state)
{
    (void)state;
    enum ks_isa isas[4];
    size_t n_isas = running_isas(isas);
    float r[MOST], a[MOST];
    uint64_t seed = 11;
    for (size_t n = 1; n < MOST; n += n < 70 ? 1 : 61) {
        draw_wild(&seed, r, n, n % 3 == 0);
        draw_wild(&seed, a, n, n % 2 == 0);
        float max_r = n % 5 ? 8.5F : -745.0F + r[0], max_a = 8.25F;
        struct ks_reference_sums ref = ks_rows_scalar.reference(r, n, max_r);
        struct ks_arm_sums arm = ks_rows_scalar.arm(r, max_r, a, max_a, n);
        for (size_t i = 1; i < n_isas; i++) {
            struct ks_reference_sums ref2 = ks_rows(isas[i])->reference(r, n, max_r);
            struct ks_arm_sums arm2 = ks_rows(isas[i])->arm(r, max_r, a, max_a, n);
            assert_memory_equal(&ref, &ref2, sizeof ref);
            assert_memory_equal(&arm, &arm2, sizeof arm);
        }
    }
}

static void every_path_finds_and_counts_alike(void **state)
{
    (void)state;
    enum ks_isa isas[4];
    size_t n_isas = running_isas(isas);
    float row[300];
    uint64_t seed = 12;
    for (int round = 0; round < 300; round++) {
        size_t n = ks_random_below(&seed, 300), from = ks_random_below(&seed, n + 1);
        for (size_t i = 0; i < n; i++)
            row[i] = (float)ks_random_below(&seed, 9);
        if (n > 0 && round % 2)
            row[ks_random_below(&seed, n)] = round % 4 == 1 ? NAN : INFINITY;
        float limit = (float)ks_random_below(&seed, 10);
        const struct ks_rows *one = &ks_rows_scalar;
        for (size_t i = 1; i < n_isas; i++) {
            const struct ks_rows *other = ks_rows(isas[i]);
            assert_int_equal(other->find_above(row, from, n, limit),
                             one->find_above(row, from, n, limit));
            assert_int_equal(other->count_above(row, n, limit, true),
                             one->count_above(row, n, limit, true));
            assert_int_equal(other->count_above(row, n, limit, false),
                             one->count_above(row, n, limit, false));
        }
    }
}

/* Whole rows through the public face, bad ones too. Structs are compared field by field as bits:
 * memset first, so that padding is equal. */
static void every_path_measures_to_the_same_bits(void **state)
{
    (void)state;
    enum ks_isa isas[4];
    size_t n_isas = running_isas(isas);
    float r[MOST], a[MOST];
    uint64_t seed = 13;
    struct ks_error err;
    for (size_t n = 1; n < MOST; n += n < 40 ? 1 : 97) {
        draw_wild(&seed, r, n, n % 3 == 1);
        draw_wild(&seed, a, n, n % 3 == 2);
        if (n % 7 == 0)
            a[n / 2] = n % 2 ? NAN : INFINITY;
        if (n % 11 == 0)
            r[n - 1] = NAN;
        int32_t target = (int32_t)ks_random_below(&seed, n);
        struct ks_ref_row ref[4];
        struct ks_arm_row arm[4];
        memset(ref, 0, sizeof ref);
        memset(arm, 0, sizeof arm);
        for (size_t i = 0; i < n_isas; i++) {
            assert_int_equal(ks_ruler_reference(isas[i], r, n, target, 10, &ref[i], &err), 0);
            assert_int_equal(ks_ruler_arm(isas[i], r, n, &ref[i], a, n, target, 10, &arm[i], &err),
                             0);
            assert_memory_equal(&ref[i].max, &ref[0].max, 5 * sizeof(double));
            assert_memory_equal(ref[i].top, ref[0].top, sizeof ref[0].top);
            assert_int_equal(ref[i].rank, ref[0].rank);
            assert_int_equal(ref[i].measurement, ref[0].measurement);
            assert_memory_equal(&arm[i].kld, &arm[0].kld, 3 * sizeof(double));
            assert_int_equal(arm[i].rank, arm[0].rank);
            assert_int_equal(arm[i].overlap, arm[0].overlap);
            assert_int_equal(arm[i].top1, arm[0].top1);
            assert_int_equal(arm[i].measurement, arm[0].measurement);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_sums_to_the_same_bits),
        cmocka_unit_test(every_path_finds_and_counts_alike),
        cmocka_unit_test(every_path_measures_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

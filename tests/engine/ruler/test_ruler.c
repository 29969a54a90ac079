#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "tests/engine/ruler/rulers.h"

#define FOR_EACH_ISA(isa)                                                                          \
    enum ks_isa isas_[4], isa;                                                                     \
    size_t n_isas_ = running_isas(isas_);                                                          \
    for (size_t at_ = 0; at_ < n_isas_ && (isa = isas_[at_], true); at_++)

static const float minus_inf = -INFINITY;

/* ------------------------------------------------------------------ closed forms */

static void an_identical_arm_measures_exactly_zero(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 2, 15, 16, 17, 320, 4096, 50001};
    float *row = malloc(50001 * sizeof *row), *unused = malloc(50001 * sizeof *unused);
    FOR_EACH_ISA(isa)
    {
        for (size_t w = 0; w < 8; w++) {
            for (int spread = 0; spread < 11; spread += 2) {
                int32_t target = draw_pair(w + 100, widths[w], spread, 0, row, unused);
                struct ks_ref_row ref;
                struct ks_arm_row arm = measure(isa, row, row, widths[w], target, 10, &ref);
                const double zero = 0.0;
                assert_true(arm.measurement);
                assert_memory_equal(&arm.kld, &zero, sizeof zero);
                assert_memory_equal(&arm.reverse, &zero, sizeof zero);
                assert_memory_equal(&arm.logprob, &ref.logprob, sizeof zero);
                assert_int_equal(arm.overlap, ref.n_top);
                assert_int_equal(arm.rank, ref.rank);
                assert_true(arm.top1);
            }
        }
    }
    free(row);
    free(unused);
}

static void two_coins_measure_as_computed_by_hand(void **state)
{
    (void)state;
    const float even[] = {0, 0}, biased[] = {logf(3), 0};
    FOR_EACH_ISA(isa)
    {
        struct ks_ref_row ref;
        struct ks_arm_row arm = measure(isa, even, biased, 2, 0, 10, &ref);
        assert_near(arm.kld, 0.5 * log(4.0 / 3), 1e-7);
        assert_near(arm.kld, 0.1438410, 1e-6);
        assert_near(arm.reverse, 0.1308120, 1e-6);
        assert_near(ref.logprob, log(0.5), 1e-15);
        assert_near(ref.entropy, log(2.0), 1e-15);
        assert_near(arm.logprob, log(0.75), 1e-7);
        struct ks_arm_row back = measure(isa, biased, even, 2, 0, 10, &ref);
        assert_near(back.kld, arm.reverse, 1e-15);
        assert_near(back.reverse, arm.kld, 1e-15);
        assert_true(fabs(back.kld - arm.kld) > 1e-3);
    }
}

static void adding_800_to_both_rows_changes_nothing(void **state)
{
    (void)state;
    float r[320], a[320];
    FOR_EACH_ISA(isa)
    {
        int32_t target = draw_pair(5, 320, 3, -3, r, a);
        struct ks_ref_row ref;
        struct ks_arm_row before = measure(isa, r, a, 320, target, 10, &ref);
        for (size_t i = 0; i < 320; i++) {
            r[i] += 800; /* exact: 11 bits below the point, 10 above */
            a[i] += 800;
        }
        struct ks_arm_row after = measure(isa, r, a, 320, target, 10, &ref);
        assert_near(after.kld, before.kld, 1e-12);
        assert_near(after.reverse, before.reverse, 1e-12);
        assert_near(after.logprob, before.logprob, 1e-12);
    }
}

static void a_shift_of_the_arm_alone_measures_zero(void **state)
{
    (void)state;
    float r[320], a[320];
    FOR_EACH_ISA(isa)
    {
        draw_pair(6, 320, 3, -3, r, a);
        for (size_t i = 0; i < 320; i++)
            a[i] = r[i] - 800;
        struct ks_ref_row ref;
        assert_near(measure(isa, r, a, 320, 0, 10, &ref).kld, 0, 0);
    }
}

static void a_uniform_row_of_64_has_the_perplexity_64(void **state)
{
    (void)state;
    float flat[64] = {0}, high[64];
    for (size_t i = 0; i < 64; i++)
        high[i] = 80;
    FOR_EACH_ISA(isa)
    {
        struct ks_ref_row ref;
        struct ks_arm_row arm = measure(isa, flat, high, 64, 63, 10, &ref);
        assert_near(exp(-ref.logprob), 64, 1e-9);
        assert_near(exp(-arm.logprob), 64, 1e-9);
        assert_near(ref.entropy, log(64), 1e-14);
        assert_near(arm.kld, 0, 0);
        assert_int_equal(ref.rank, 64);
    }
}

static void a_moved_argmax_shows_in_divergence_top1_and_overlap(void **state)
{
    (void)state;
    float r[512], a[512];
    FOR_EACH_ISA(isa)
    {
        draw_pair(7, 512, 3, -1, r, a);
        struct ks_ref_row ref;
        measure(isa, r, r, 512, 0, 10, &ref);
        a[ref.top[0]] = -8;
        struct ks_arm_row arm = measure(isa, r, a, 512, 0, 10, &ref);
        assert_true(arm.kld > 0);
        assert_false(arm.top1);
        assert_in_range(arm.overlap, 0, 9);
    }
}

static void random_pairs_never_measure_below_zero(void **state)
{
    (void)state;
    float r[256], a[256];
    FOR_EACH_ISA(isa)
    {
        for (uint64_t seed = 0; seed < 64; seed++) {
            int32_t target = draw_pair(seed, 256, (int)(seed % 6), (int)(seed % 12) - 9, r, a);
            struct ks_ref_row ref;
            struct ks_arm_row arm = measure(isa, r, a, 256, target, 10, &ref);
            assert_true(arm.kld >= -1e-9 && isfinite(arm.kld));
            assert_true(arm.reverse >= -1e-9 && isfinite(arm.reverse));
        }
    }
}

/* ------------------------------------------------------------------ top k and rank */

static void overlap_is_of_sets_and_ties_go_to_the_lowest_index(void **state)
{
    (void)state;
    const float r[] = {0, 5, 4, 3, 1}, other_order[] = {0, 3, 4, 5, 1}, one_new[] = {9, 5, 4, 0, 1};
    const float flat[40] = {0};
    FOR_EACH_ISA(isa)
    {
        struct ks_ref_row ref;
        struct ks_arm_row arm = measure(isa, r, other_order, 5, 0, 3, &ref);
        assert_int_equal(ref.n_top, 3);
        assert_int_equal(arm.overlap, 3);
        assert_false(arm.top1);
        assert_int_equal(measure(isa, r, one_new, 5, 0, 3, &ref).overlap, 2);
        measure(isa, flat, flat, 40, 0, 3, &ref);
        for (int i = 0; i < 3; i++)
            assert_int_equal(ref.top[i], i);
    }
}

static void k_is_clamped_to_the_vocabulary(void **state)
{
    (void)state;
    const float r[] = {1, 3, 2}, a[] = {1, 2, 3};
    FOR_EACH_ISA(isa)
    {
        struct ks_ref_row ref;
        struct ks_arm_row arm = measure(isa, r, a, 3, 2, 10, &ref);
        assert_int_equal(ref.n_top, 3);
        assert_int_equal(arm.overlap, 3);
    }
}

/* -inf, zeros of both signs and many ties, against a plain sort. */
static void top_and_rank_agree_with_sorting(void **state)
{
    (void)state;
    float row[700];
    FOR_EACH_ISA(isa)
    {
        for (uint64_t seed = 1; seed <= 40; seed++) {
            uint64_t random = seed;
            size_t width = 1 + ks_random_below(&random, 700);
            int k = 1 + (int)ks_random_below(&random, KS_TOP_MAX);
            for (size_t i = 0; i < width; i++) {
                int v = (int)ks_random_below(&random, seed % 2 ? 9 : 2000);
                row[i] = v == 0 ? minus_inf : v == 1 ? -0.0F : (float)(v - 2);
            }
            row[width / 2] = 1;
            int32_t target = (int32_t)ks_random_below(&random, width);
            struct ks_ref_row ref;
            struct ks_arm_row arm = measure(isa, row, row, width, target, k, &ref);
            assert_int_equal(ref.n_top, k < (int)width ? k : (int)width);
            assert_int_equal(arm.rank, ref.rank);
            for (size_t i = 0; i < width; i++) {
                int32_t before = 0;
                for (size_t j = 0; j < width; j++)
                    before += row[j] > row[i] || (row[j] == row[i] && j < i);
                if (before < ref.n_top)
                    assert_int_equal(ref.top[before], i);
                if ((int32_t)i == target)
                    assert_int_equal(ref.rank, before + 1);
            }
        }
    }
}

/* ------------------------------------------------------------------ infinities and NaN */

static void mass_where_the_arm_has_none_is_infinite(void **state)
{
    (void)state;
    float r[40] = {0}, a[40] = {0};
    a[17] = minus_inf;
    FOR_EACH_ISA(isa)
    {
        struct ks_ref_row ref;
        struct ks_arm_row arm = measure(isa, r, a, 40, 17, 10, &ref);
        assert_true(arm.measurement);
        assert_true(isinf(arm.kld) && arm.kld > 0);
        assert_true(isinf(arm.logprob) && arm.logprob < 0);
        assert_near(arm.reverse, log(40.0 / 39), 1e-15);
        arm = measure(isa, a, r, 40, 17, 10, &ref);
        assert_near(arm.kld, log(40.0 / 39), 1e-15);
        assert_true(isinf(arm.reverse) && arm.reverse > 0);
        assert_near(ref.entropy, log(39), 1e-15);
    }
}

static void a_term_without_mass_is_skipped(void **state)
{
    (void)state;
    float r[40] = {0}, a[40] = {0};
    r[3] = minus_inf;
    r[4] = -2000; /* e^-2000 is 0 in f64 */
    a[3] = minus_inf;
    FOR_EACH_ISA(isa)
    {
        a[4] = minus_inf;
        struct ks_ref_row ref;
        struct ks_arm_row arm = measure(isa, r, a, 40, 0, 10, &ref);
        assert_near(arm.kld, 0, 0);
        assert_near(arm.reverse, 0, 0);
        a[4] = 0; /* log p of token 4 is finite all the same */
        arm = measure(isa, r, a, 40, 0, 10, &ref);
        assert_near(arm.kld, log(39.0 / 38), 1e-15);
        assert_near(arm.reverse, 2000.0 / 39 + log(38.0 / 39), 1e-13);
    }
}

static void a_row_that_is_no_measurement_never_scores(void **state)
{
    (void)state;
    float good[100], bad[100];
    FOR_EACH_ISA(isa)
    {
        for (size_t at = 0; at < 100; at++) {
            draw_pair(at, 100, 3, 0, good, bad);
            const float poison[] = {NAN, -NAN, INFINITY};
            for (size_t i = 0; i < 100 && at == 99; i++)
                bad[i] = minus_inf;
            if (at < 99)
                bad[at] = poison[at % 3];
            struct ks_ref_row ref;
            struct ks_arm_row arm = measure(isa, good, bad, 100, 0, 10, &ref);
            assert_true(ref.measurement);
            assert_false(arm.measurement);
            assert_true(isnan(arm.kld) && isnan(arm.reverse) && isnan(arm.logprob));
            arm = measure(isa, bad, good, 100, 0, 10, &ref);
            assert_false(ref.measurement);
            assert_false(arm.measurement);
            arm = measure(isa, bad, bad, 100, 0, 10, &ref);
            assert_false(arm.measurement);
            assert_true(isnan(ref.logprob) && isnan(ref.lse) && isnan(arm.kld));
        }
    }
}

/* ------------------------------------------------------------------ outside truth */

/* The error bound: each of ln S and ln T is within an ulp or two (|ln| < 8, so 2e-15), the sums
 * within 1e-15 of their size. */
static void random_pairs_agree_with_mpmath(void **state)
{
    (void)state;
    size_t len;
    char *table = test_read_file(test_data("ruler/pairs.txt"), &len), *rest = table, *line;
    float r[512], a[512];
    size_t n = 0;
    while ((line = strsep(&rest, "\n")) && rest) {
        unsigned long long seed;
        size_t width;
        int spread, noise;
        int32_t target, rank_r, rank_a, overlap;
        double kld, reverse, logprob_r, logprob_a, entropy;
        if (*line == '#')
            continue;
        assert_int_equal(sscanf(line, "%llu %zu %d %d %d %lf %lf %lf %lf %lf %d %d %d", &seed,
                                &width, &spread, &noise, &target, &kld, &reverse, &logprob_r,
                                &logprob_a, &entropy, &rank_r, &rank_a, &overlap),
                         13);
        assert_int_equal(draw_pair(seed, width, spread, noise, r, a), target);
        FOR_EACH_ISA(isa)
        {
            struct ks_ref_row ref;
            struct ks_arm_row arm = measure(isa, r, a, width, target, 10, &ref);
            assert_near(arm.kld, kld, 4e-15 + 1e-15 * kld);
            assert_near(arm.reverse, reverse, 4e-15 + 1e-15 * reverse);
            assert_near(ref.logprob, logprob_r, 2e-15 + 2.3e-16 * fabs(logprob_r));
            assert_near(arm.logprob, logprob_a, 2e-15 + 2.3e-16 * fabs(logprob_a));
            assert_near(ref.entropy, entropy, 4e-15);
            assert_int_equal(ref.rank, rank_r);
            assert_int_equal(arm.rank, rank_a);
            assert_int_equal(arm.overlap, overlap);
        }
        n++;
    }
    assert_int_equal(n, 39);
    free(table);
}

struct truth {
    long double kld, reverse, logprob_r, logprob_a;
};

/* By the definition: log-softmax of each row, then sum p (log p - log q), in long double. */
static struct truth by_definition(const float *r, const float *a, size_t n, size_t target)
{
    long double s = 0, t = 0;
    for (size_t i = 0; i < n; i++) {
        s += expl((long double)r[i]);
        t += expl((long double)a[i]);
    }
    long double lse_r = logl(s), lse_a = logl(t);
    struct truth out = {.logprob_r = (long double)r[target] - lse_r,
                        .logprob_a = (long double)a[target] - lse_a};
    for (size_t i = 0; i < n; i++) {
        long double p = (long double)r[i] - lse_r, q = (long double)a[i] - lse_a;
        out.kld += expl(p) * (p - q);
        out.reverse += expl(q) * (q - p);
    }
    return out;
}

static void wide_rows_agree_with_long_double(void **state)
{
    (void)state;
    size_t width = 50021;
    float *r = malloc(width * sizeof *r), *a = malloc(width * sizeof *a);
    for (int noise = -12; noise <= 2; noise += 7) {
        int32_t target = draw_pair((uint64_t)(noise + 40), width, 3, noise, r, a);
        struct truth truth = by_definition(r, a, width, (size_t)target);
        FOR_EACH_ISA(isa)
        {
            struct ks_ref_row ref;
            struct ks_arm_row arm = measure(isa, r, a, width, target, 10, &ref);
            assert_near(arm.kld, (double)truth.kld, 1e-14);
            assert_near(arm.reverse, (double)truth.reverse, 1e-14);
            assert_near(ref.logprob, (double)truth.logprob_r, 1e-14);
            assert_near(arm.logprob, (double)truth.logprob_a, 1e-14);
        }
    }
    free(r);
    free(a);
}

/* ------------------------------------------------------------------ refusals */

static void what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    const float row[20] = {0};
    struct ks_ref_row ref;
    struct ks_arm_row arm;
    struct ks_error err;
    const enum ks_isa isa = KS_ISA_SCALAR;

    assert_int_equal(ks_ruler_reference(isa, row, 20, 20, 10, &ref, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "next token is 20"));
    assert_non_null(strstr(err.text, "0 to 19"));
    assert_int_equal(ks_ruler_reference(isa, row, 20, -1, 10, &ref, &err), -1);
    assert_int_equal(ks_ruler_reference(isa, row, 0, 0, 10, &ref, &err), -1);
    assert_int_equal(ks_ruler_reference(isa, row, 20, 0, 0, &ref, &err), -1);
    assert_int_equal(ks_ruler_reference(isa, row, 20, 0, 33, &ref, &err), -1);
    assert_non_null(strstr(err.text, "top_k is 33"));

    assert_int_equal(ks_ruler_reference(isa, row, 20, 0, 10, &ref, &err), 0);
    assert_int_equal(ks_ruler_arm(isa, row, 20, &ref, row, 19, 0, 10, &arm, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "20 tokens wide, the arm's 19"));
    assert_int_equal(ks_ruler_arm(isa, row, 20, &ref, row, 20, 20, 10, &arm, &err), -1);
    assert_int_equal(ks_ruler_arm(isa, row, 20, &ref, row, 20, 0, 9, &arm, &err), -1);
    assert_int_equal(err.code, KS_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_identical_arm_measures_exactly_zero),
        cmocka_unit_test(two_coins_measure_as_computed_by_hand),
        cmocka_unit_test(adding_800_to_both_rows_changes_nothing),
        cmocka_unit_test(a_shift_of_the_arm_alone_measures_zero),
        cmocka_unit_test(a_uniform_row_of_64_has_the_perplexity_64),
        cmocka_unit_test(a_moved_argmax_shows_in_divergence_top1_and_overlap),
        cmocka_unit_test(random_pairs_never_measure_below_zero),
        cmocka_unit_test(overlap_is_of_sets_and_ties_go_to_the_lowest_index),
        cmocka_unit_test(k_is_clamped_to_the_vocabulary),
        cmocka_unit_test(top_and_rank_agree_with_sorting),
        cmocka_unit_test(mass_where_the_arm_has_none_is_infinite),
        cmocka_unit_test(a_term_without_mass_is_skipped),
        cmocka_unit_test(a_row_that_is_no_measurement_never_scores),
        cmocka_unit_test(random_pairs_agree_with_mpmath),
        cmocka_unit_test(wide_rows_agree_with_long_double),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

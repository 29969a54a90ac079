#include "tests/engine/kernels/kernels.h"

static void scalar_always_runs(void **state)
{
    (void)state;
    assert_true(ks_isa_runs(KS_ISA_SCALAR));
    setenv("KLDSCOPE_ISA", "scalar", 1);
    struct ks_error err;
    enum ks_isa isa = KS_ISA_NEON;
    assert_int_equal(ks_isa_choose(&isa, &err), 0);
    assert_int_equal(isa, KS_ISA_SCALAR);
}

static void every_path_that_runs_can_be_asked_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ISAS; i++) {
        struct ks_error err;
        enum ks_isa isa = KS_ISA_SCALAR;
        setenv("KLDSCOPE_ISA", ks_isa_name(all_isas[i]), 1);
        int failed = ks_isa_choose(&isa, &err);
        if (ks_isa_runs(all_isas[i])) {
            assert_int_equal(failed, 0);
            assert_int_equal(isa, all_isas[i]);
        } else {
            assert_int_equal(failed, -1);
            assert_int_equal(err.code, KS_UNSUPPORTED);
            assert_non_null(strstr(err.text, ks_isa_name(all_isas[i])));
        }
    }
}

static void the_best_path_that_runs_is_chosen_unasked(void **state)
{
    (void)state;
    unsetenv("KLDSCOPE_ISA");
    struct ks_error err;
    enum ks_isa isa;
    assert_int_equal(ks_isa_choose(&isa, &err), 0);
    assert_true(ks_isa_runs(isa));
    if (ks_isa_runs(KS_ISA_AVX512))
        assert_int_equal(isa, KS_ISA_AVX512);
    else if (ks_isa_runs(KS_ISA_AVX2))
        assert_int_equal(isa, KS_ISA_AVX2);
}

static void an_unknown_path_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    setenv("KLDSCOPE_ISA", "mmx", 1);
    struct ks_error err;
    enum ks_isa isa = KS_ISA_NEON;
    assert_int_equal(ks_isa_choose(&isa, &err), -1);
    assert_int_equal(isa, KS_ISA_NEON);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "mmx"));
    assert_non_null(strstr(err.text, "avx512"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_always_runs),
        cmocka_unit_test(every_path_that_runs_can_be_asked_for),
        cmocka_unit_test(the_best_path_that_runs_is_chosen_unasked),
        cmocka_unit_test(an_unknown_path_is_refused_with_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/engine/kernels/kernels.h"

#include "engine/kernels/elementary/lanes.h"
#include "engine/kernels/elementary/math.h"
#include "tests/engine/kernels/vec_path.h"

static const struct {
    enum ks_isa isa;
    const struct vec_path *path;
} paths[] = {
    {KS_ISA_SCALAR, &vec_path_scalar},
#ifdef KS_HAVE_X86
    {KS_ISA_AVX2, &vec_path_avx2},
    {KS_ISA_AVX512, &vec_path_avx512},
#endif
};
#define N_PATHS (sizeof paths / sizeof paths[0])

#define N 100003

/* Every magnitude and sign, a stretch around the edges, and the special values. */
static float *arguments(void)
{
    float *x = test_alloc(N, sizeof *x);
    uint64_t seed = 11;
    for (size_t i = 0; i < N; i++) {
        uint32_t bits = (uint32_t)ks_random_next(&seed);
        if (i % 2)
            x[i] = 800.0f * test_uniform(&seed);
        else
            memcpy(&x[i], &bits, sizeof bits);
    }
    const float special[] = {0.0f,        -0.0f,   INFINITY, -INFINITY, NAN,     -104.0f, 89.0f,
                             -745.13324f, -745.2f, 709.78f,  709.79f,   -708.4f, -87.4f,  88.73f};
    memcpy(x + 1000, special, sizeof special);
    return x;
}

static void the_exponentials_are_the_scalar_ones_to_the_bit(void **state)
{
    (void)state;
    float *x = arguments(), *f32 = test_alloc(N, sizeof *f32);
    double *f64 = test_alloc(N, sizeof *f64);
    for (size_t p = 0; p < N_PATHS; p++) {
        if (!test_runs(paths[p].isa))
            continue;
        paths[p].path->exp_f64(x, N, f64);
        paths[p].path->exp_f32(x, N, f32);
        for (size_t i = 0; i < N; i++) {
            double want = ks_exp((double)x[i]);
            float want_f = ks_expf(x[i]);
            bool same = isnan(want) ? isnan(f64[i]) : memcmp(&want, &f64[i], sizeof want) == 0;
            bool same_f = isnan(want_f) ? isnan(f32[i]) : memcmp(&want_f, &f32[i], 4) == 0;
            if (!same || !same_f)
                fail_msg("%s: exp(%a) is %a and %a, not %a and %a", ks_isa_name(paths[p].isa),
                         (double)x[i], f64[i], (double)f32[i], want, (double)want_f);
        }
    }
    free(x);
    free(f32);
    free(f64);
}

static void sums_keep_the_order_of_the_lanes(void **state)
{
    (void)state;
    for (size_t n = 1; n < 200; n += 7) {
        float *x = test_floats(n, n);
        double lane[KS_LANES] = {0};
        for (size_t i = 0; i < n; i++)
            lane[i % KS_LANES] += (double)x[i];
        double want = ks_lanes_sum_f64(lane);
        for (size_t p = 0; p < N_PATHS; p++)
            if (test_runs(paths[p].isa))
                assert_true(paths[p].path->sum(x, n) == want);
        free(x);
    }
}

/* ((0 + 8) + (4 + 12)) + ..., written out. */
static void the_tree_adds_halves(void **state)
{
    (void)state;
    float x[KS_LANES], lane[KS_LANES];
    uint64_t seed = 3;
    for (size_t i = 0; i < KS_LANES; i++)
        lane[i] = x[i] = test_uniform(&seed);
    float q[4];
    for (size_t i = 0; i < 4; i++)
        q[i] = (x[i] + x[i + 8]) + (x[i + 4] + x[i + 12]);
    assert_true(ks_lanes_sum_f32(lane) == (q[0] + q[2]) + (q[1] + q[3]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exponentials_are_the_scalar_ones_to_the_bit),
        cmocka_unit_test(sums_keep_the_order_of_the_lanes),
        cmocka_unit_test(the_tree_adds_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

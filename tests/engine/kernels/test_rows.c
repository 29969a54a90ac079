#include "tests/engine/kernels/kernels.h"

#include <math.h>

#include "engine/kernels/recur.h"

#define N 9

static const size_t dims[] = {1, 15, 16, 17, 64, 257, 576};
#define N_DIMS (sizeof dims / sizeof dims[0])

/* Runs one operation on x(N, dim), which it may read beside y(N, dim). */
typedef void operation(struct ks_cpu *cpu, float *x, const float *y, size_t dim);

/* The results of an operation are the scalar path's on every path, for odd widths and inputs that
 * IEEE has rules for. */
static void compare(operation *run, const char *name)
{
    for (size_t d = 0; d < N_DIMS; d++) {
        size_t n = N * dims[d];
        float *input = test_floats(n, 1), *y = test_floats(n, 2);
        for (size_t i = 0; i < n; i++)
            input[i] *= i % 3 ? 9.0f : 120.0f;
        test_sprinkle(input + n / 3, n - n / 3, 101, INFINITY);
        test_sprinkle(input + n / 2, n - n / 2, 97, NAN);
        test_sprinkle(input, n, 89, -0.0f);
        test_sprinkle(input, n / 3, 31, 0x1p-140f);
        float *want = test_alloc(n, sizeof *want), *got = test_alloc(n, sizeof *got);
        memcpy(want, input, n * sizeof *want);
        struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
        run(cpu, want, y, dims[d]);
        ks_cpu_destroy(cpu);
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                memcpy(got, input, n * sizeof *got);
                cpu = test_cpu(test_threads[t], all_isas[i]);
                run(cpu, got, y, dims[d]);
                ks_cpu_destroy(cpu);
                char what[64];
                snprintf(what, sizeof what, "%s %s, %zu wide", ks_isa_name(all_isas[i]), name,
                         dims[d]);
                assert_same_bits(got, want, n, what);
            }
        free(input);
        free(y);
        free(want);
        free(got);
    }
}

static void norm(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_rmsnorm(cpu, x, N, dim, y, 1e-5f, x);
}

static void sum(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_add(cpu, x, y, N, dim);
}

static void biased(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_add_bias(cpu, x, y, N, dim);
}

static void gated(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_silu_mul(cpu, x, y, N, dim);
}

static void clamped(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_clamped_silu_mul(cpu, x, y, N, dim);
}

/* The wide values as the other factor. */
static void clamped_up(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    float *gate = test_alloc(N * dim, sizeof *gate);
    memcpy(gate, y, N * dim * sizeof *gate);
    ks_clamped_silu_mul(cpu, gate, x, N, dim);
    memcpy(x, gate, N * dim * sizeof *gate);
    free(gate);
}

static void own_gate(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    (void)y;
    ks_silu(cpu, x, N, dim);
}

static void other_gate(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    float *gate = test_alloc(N * dim, sizeof *gate);
    memcpy(gate, x, N * dim * sizeof *gate);
    memcpy(x, y, N * dim * sizeof *gate);
    ks_sigmoid_mul(cpu, x, gate, N, dim);
    free(gate);
}

static void layer_normed(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_layernorm(cpu, x, N, dim, y, y + dim, 1e-5f, x);
}

static void layer_normed_unbiased(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_layernorm(cpu, x, N, dim, y, NULL, 1e-5f, x);
}

static void bare_normed(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    (void)y;
    ks_layernorm(cpu, x, N, dim, NULL, NULL, 1e-5f, x);
}

/* One row of N heads. */
static void heads_normed(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_layernorm_heads(cpu, x, 1, N, dim, y, 1e-5f);
}

static void gelu_gated(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_gelu_mul(cpu, x, y, N, dim);
}

static void gelu_alone(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    (void)y;
    ks_gelu(cpu, x, N, dim);
}

static void squared(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    (void)y;
    ks_relu2(cpu, x, N, dim);
}

static void scaled(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_scale(cpu, x, N, dim, y[0]);
}

static void capped(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    (void)y;
    ks_softcap(cpu, x, N, dim, 30.0f);
}

static const int32_t positions[N] = {0, 1, 2, 3, 7, 0, 5, 6, 4};

static void scaled_by_position(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    const float factors[8] = {1, y[0], 2, -1, 0.5f, 3, 1e-40f, 7};
    ks_scale_at(cpu, x, N, dim, positions, factors);
}

static void turned_adjacent(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_rope(cpu, x, dim, N, 1, dim, dim / 2 * 2, KS_ROPE_ADJACENT, positions, y, y + dim / 2);
}

static void turned_halves(struct ks_cpu *cpu, float *x, const float *y, size_t dim)
{
    ks_rope(cpu, x, dim, N, 1, dim, dim / 2 * 2, KS_ROPE_HALVES, positions, y, y + dim / 2);
}

static void every_path_gives_the_scalar_bits(void **state)
{
    (void)state;
    compare(norm, "rmsnorm");
    compare(sum, "add");
    compare(biased, "add_bias");
    compare(gated, "silu_mul");
    compare(clamped, "clamped_silu_mul of gates");
    compare(clamped_up, "clamped_silu_mul of ups");
    compare(own_gate, "silu");
    compare(other_gate, "sigmoid_mul");
    compare(layer_normed, "layernorm");
    compare(layer_normed_unbiased, "layernorm without bias");
    compare(bare_normed, "layernorm without gain");
    compare(heads_normed, "layernorm of heads");
    compare(gelu_gated, "gelu_mul");
    compare(gelu_alone, "gelu");
    compare(squared, "relu2");
    compare(scaled, "scale");
    compare(scaled_by_position, "scale_at");
    compare(capped, "softcap");
    compare(turned_adjacent, "rope adjacent");
    compare(turned_halves, "rope halves");
}

static void the_norm_is_its_formula(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    for (size_t d = 0; d < N_DIMS; d++) {
        size_t dim = dims[d];
        float *x = test_floats(dim, 1), *gain = test_floats(dim, 2);
        float *y = test_alloc(dim, sizeof *y);
        ks_rmsnorm(cpu, x, 1, dim, gain, 1e-5f, y);
        double sum_of_squares = 0.0;
        for (size_t i = 0; i < dim; i++)
            sum_of_squares += (double)x[i] * (double)x[i];
        for (size_t i = 0; i < dim; i++) {
            double want =
                (double)x[i] / sqrt(sum_of_squares / (double)dim + (double)1e-5f) * (double)gain[i];
            assert_true(fabs((double)y[i] - want) <= 4e-7 * fabs(want));
        }
        free(x);
        free(gain);
        free(y);
    }
    ks_cpu_destroy(cpu);
}

static void the_layer_norm_is_its_formula(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    for (size_t d = 1; d < N_DIMS; d++) {
        size_t dim = dims[d];
        float *x = test_floats(dim, 1), *gain = test_floats(dim, 2), *bias = test_floats(dim, 3);
        float *y = test_alloc(dim, sizeof *y);
        ks_layernorm(cpu, x, 1, dim, gain, bias, 1e-5f, y);
        double mean = 0.0, variance = 0.0;
        for (size_t i = 0; i < dim; i++)
            mean += (double)x[i] / (double)dim;
        for (size_t i = 0; i < dim; i++)
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)dim;
        for (size_t i = 0; i < dim; i++) {
            double normed = ((double)x[i] - mean) / sqrt(variance + (double)1e-5f);
            double want = normed * (double)gain[i] + (double)bias[i];
            assert_true(fabs((double)y[i] - want) <= 1e-6 * (1 + fabs(want)));
        }
        free(x);
        free(gain);
        free(bias);
        free(y);
    }
    ks_cpu_destroy(cpu);
}

static void gelu_is_its_formula(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    for (double v = -12.0; v < 30.0; v += 0.0137) {
        float alone = (float)v, gate = (float)v, up = 1.5f;
        ks_gelu(cpu, &alone, 1, 1);
        ks_gelu_mul(cpu, &gate, &up, 1, 1);
        long double x = (long double)(float)v;
        long double inner = 0.7978845608028653559L * (x + 0.044715L * x * x * x);
        long double want = x / 2 * (1 + tanhl(inner));
        double error = (double)fabsl((long double)alone - want);
        /* Four roundings of the exponent, which is twice inner, show in proportion to it; and the
         * formula as it stands loses 1e-18 in long doubles. */
        assert_true(error <= 5e-7 * (1 + fabs((double)inner)) * (double)fabsl(want) + 1e-18);
        assert_true(gate == alone * up);
    }
    float far[] = {-100.0f, 100.0f, NAN};
    ks_gelu(cpu, far, 1, 3);
    assert_true(far[0] == 0.0f && far[1] == 100.0f && isnan(far[2]));
    ks_cpu_destroy(cpu);
}

static void relu2_squares_what_is_above_zero(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    float x[] = {-3.0f, 0.0f, 1.5f, 1e20f, -INFINITY, NAN};
    ks_relu2(cpu, x, 1, 6);
    assert_true(x[0] == 0 && x[1] == 0 && x[2] == 2.25f && x[3] == INFINITY && x[4] == 0);
    assert_true(isnan(x[5]));
    ks_cpu_destroy(cpu);
}

static void a_soft_cap_is_its_formula(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    for (double v = -400.0; v < 400.0; v += 0.61) {
        float x = (float)v;
        ks_softcap(cpu, &x, 1, 1, 30.0f);
        double want = 30.0 * tanh((double)(float)v / 30.0);
        assert_true(fabs((double)x - want) <= 3e-7 * fabs(want));
    }
    ks_cpu_destroy(cpu);
}

static void the_gate_is_its_formula(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    for (double v = -88.0; v < 90.0; v += 0.37) {
        float gate = (float)v, up = 1.5f;
        ks_silu_mul(cpu, &gate, &up, 1, 1);
        double x = (double)(float)v, want = 1.5 * x / (1.0 + exp(-x));
        assert_true(fabs((double)gate - want) <= 4e-7 * fabs(want) + 0x1p-149);
    }
    float far = -100.0f, up = 1.0f; /* e^100 is beyond f32, and 1e-42 nothing to a gate */
    ks_silu_mul(cpu, &far, &up, 1, 1);
    assert_true(far == 0.0f);
    ks_cpu_destroy(cpu);
}

static void the_clamped_gate_is_its_formula_and_lets_nan_through(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    for (double v = -20.0; v < 20.0; v += 0.37)
        for (double w = -9.0; w < 9.0; w += 0.71) {
            float gate = (float)v, up = (float)w;
            double g = fmin((double)gate, 7.0), u = fmax(fmin((double)up, 7.0), -7.0);
            double want = g / (1.0 + exp(-1.702 * g)) * (u + 1.0);
            ks_clamped_silu_mul(cpu, &gate, &up, 1, 1);
            assert_true(fabs((double)gate - want) <= 2e-6 * fabs(want) + 1e-37);
        }
    float gate = NAN, up = 1.0f, other = 1.0f, bad = NAN;
    ks_clamped_silu_mul(cpu, &gate, &up, 1, 1);
    ks_clamped_silu_mul(cpu, &other, &bad, 1, 1);
    assert_true(isnan(gate) && isnan(other));
    ks_cpu_destroy(cpu);
}

static void a_sigmoid_gate_is_its_formula(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    for (double v = -80.0; v < 80.0; v += 0.37) {
        float x = -2.5f, gate = (float)v, own = (float)v;
        ks_sigmoid_mul(cpu, &x, &gate, 1, 1);
        ks_silu(cpu, &own, 1, 1);
        double sigmoid = 1.0 / (1.0 + exp(-(double)gate));
        assert_true(fabs((double)x + 2.5 * sigmoid) <= 1e-6 * sigmoid);
        assert_true(fabs((double)own - (double)gate * sigmoid) <= 1e-6 * fabs(v) * sigmoid);
    }
    ks_cpu_destroy(cpu);
}

/* Turning by the angle a of pair (x, y): x cos a - y sin a, x sin a + y cos a. */
static void rope_turns_its_pairs_and_leaves_the_rest(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(2, KS_ISA_SCALAR);
    const float cosine[] = {1.0f, 1.0f, 0.0f, -1.0f}, sine[] = {0.0f, 0.0f, 1.0f, 0.0f};
    const int32_t at[] = {1};
    float x[] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
    ks_rope(cpu, x, 12, 1, 2, 6, 4, KS_ROPE_ADJACENT, at, cosine, sine);
    const float adjacent[] = {-2, 1, -3, -4, 5, 6, -20, 10, -30, -40, 50, 60};
    assert_same_bits(x, adjacent, 12, "adjacent");
    float z[] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
    ks_rope(cpu, z, 12, 1, 2, 6, 4, KS_ROPE_HALVES, at, cosine, sine);
    const float halves[] = {-3, -2, 1, -4, 5, 6, -30, -20, 10, -40, 50, 60};
    assert_same_bits(z, halves, 12, "halves");
    ks_cpu_destroy(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_gives_the_scalar_bits),
        cmocka_unit_test(the_norm_is_its_formula),
        cmocka_unit_test(the_gate_is_its_formula),
        cmocka_unit_test(the_layer_norm_is_its_formula),
        cmocka_unit_test(gelu_is_its_formula),
        cmocka_unit_test(relu2_squares_what_is_above_zero),
        cmocka_unit_test(a_soft_cap_is_its_formula),
        cmocka_unit_test(the_clamped_gate_is_its_formula_and_lets_nan_through),
        cmocka_unit_test(a_sigmoid_gate_is_its_formula),
        cmocka_unit_test(rope_turns_its_pairs_and_leaves_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

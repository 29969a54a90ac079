#include "tests/engine/kernels/kernels.h"

#include "engine/kernels/recur.h"

#define N           61
#define N_SEQUENCES 5
static const size_t starts[N_SEQUENCES + 1] = {0, 1, 3, 3, 40, N};

static size_t start_of(size_t row)
{
    size_t s = 0;
    while (starts[s + 1] <= row)
        s++;
    return starts[s];
}

/* ------------------------------------------------------------------ convolution */

static float *convolve(enum ks_isa isa, int threads, const float *x, size_t channels,
                       const float *taps, size_t n_taps)
{
    int32_t positions[N];
    for (size_t i = 0; i < N; i++)
        positions[i] = (int32_t)(i - start_of(i));
    float *out = test_alloc(N * channels, sizeof *out);
    struct ks_cpu *cpu = test_cpu(threads, isa);
    struct ks_error err;
    assert_int_equal(ks_convolve(cpu, x, N, channels, positions, taps, n_taps, out, &err), 0);
    ks_cpu_destroy(cpu);
    return out;
}

static void a_convolution_sees_its_own_sequences_last_rows(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{7, 1}, {33, 3}, {64, 4}, {5, 50}};
    for (size_t n = 0; n < 4; n++) {
        size_t channels = shapes[n][0], n_taps = shapes[n][1];
        float *x = test_floats(N * channels, 1), *taps = test_floats(channels * n_taps, 2);
        float *want = test_alloc(N * channels, sizeof *want);
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < channels; c++)
                for (size_t j = 0; j < n_taps; j++)
                    if (i + 1 + j >= n_taps + start_of(i))
                        want[i * channels + c] =
                            fmaf(taps[c * n_taps + j], x[(i + 1 + j - n_taps) * channels + c],
                                 want[i * channels + c]);
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                float *got = convolve(all_isas[i], test_threads[t], x, channels, taps, n_taps);
                assert_same_bits(got, want, N * channels, ks_isa_name(all_isas[i]));
                free(got);
            }
        free(x);
        free(taps);
        free(want);
    }
}

/* ------------------------------------------------------------------ gates */

static void delta_gates_are_their_formulas(void **state)
{
    (void)state;
    const float rate[3] = {-0.5f, -4.0f, -16.0f}, bias[3] = {0.25f, -1.0f, 3.0f};
    for (float x = -30.0f; x < 60.0f; x += 0.37f) {
        float decay[3] = {x, x, x}, beta[3] = {x, x, x};
        ks_delta_gates(decay, beta, rate, bias, 1, 3);
        for (size_t h = 0; h < 3; h++) {
            double step = log1p(exp((double)x + (double)bias[h]));
            double want = exp((double)rate[h] * step), gate = 1 / (1 + exp(-(double)x));
            assert_true(fabs((double)decay[h] - want) <= 1e-7 * want + 1e-44);
            assert_true(fabs((double)beta[h] - gate) <= 1e-7 * gate);
        }
    }
    float decay = 1e30f, beta = -1e30f, one = -1.0f, none = 0.0f;
    ks_delta_gates(&decay, &beta, &one, &none, 1, 1);
    assert_true(decay == 0.0f && beta == 0.0f);
}

static void heads_of_unit_length_keep_their_direction(void **state)
{
    (void)state;
    enum { heads = 3, dim = 37, ld = heads * dim + 4 };
    float *x = test_floats(N * ld, 3), *want = test_alloc(N * ld, sizeof *want), *got = NULL;
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!test_runs(all_isas[i]))
            continue;
        got = test_alloc(N * ld, sizeof *got);
        memcpy(got, x, N * ld * sizeof *got);
        struct ks_cpu *cpu = test_cpu(2, all_isas[i]);
        ks_unit_heads(cpu, got, ld, N, heads, dim, 1e-6f, 0.5f);
        ks_cpu_destroy(cpu);
        if (all_isas[i] == KS_ISA_SCALAR)
            memcpy(want, got, N * ld * sizeof *got);
        assert_same_bits(got, want, N * ld, ks_isa_name(all_isas[i]));
        free(got);
    }
    for (size_t row = 0; row < N; row++) {
        for (size_t h = 0; h < heads; h++) {
            const float *a = x + row * ld + h * dim, *b = want + row * ld + h * dim;
            double squares = 0;
            for (size_t d = 0; d < dim; d++)
                squares += (double)a[d] * (double)a[d];
            for (size_t d = 0; d < dim; d++)
                assert_true(fabs((double)b[d] - 0.5 * (double)a[d] / sqrt(squares + 1e-6)) < 1e-7);
        }
        assert_memory_equal(x + row * ld + heads * dim, want + row * ld + heads * dim, 4);
    }
    free(x);
    free(want);
}

/* ------------------------------------------------------------------ the delta rule */

struct heads {
    size_t k_heads, v_heads, dim_k, dim_v;
};

static const struct heads shapes[] = {{2, 4, 16, 16}, {1, 1, 5, 3}, {2, 6, 33, 70}, {1, 2, 24, 33}};
#define N_SHAPES (sizeof shapes / sizeof *shapes)

/* One row of everything: q, k, v, and some room. */
static struct ks_delta create_delta(const struct heads *h, float **memory)
{
    size_t keys = h->k_heads * h->dim_k, ld = 2 * keys + h->v_heads * h->dim_v + 3;
    float *rows = test_floats(N * ld + 2 * N * h->v_heads, 4);
    float *gates = rows + N * ld;
    for (size_t i = 0; i < 2 * N * h->v_heads; i++)
        gates[i] = 0.5f + 0.5f * gates[i];
    /* Keys of unit length, as the model makes them: longer ones let the state grow. */
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < keys; k++)
            rows[i * ld + keys + k] /= sqrtf((float)h->dim_k);
    *memory = rows;
    return (struct ks_delta){
        .q = rows,
        .k = rows + keys,
        .v = rows + 2 * keys,
        .ld = ld,
        .decay = gates,
        .beta = gates + N * h->v_heads,
        .k_heads = h->k_heads,
        .v_heads = h->v_heads,
        .dim_k = h->dim_k,
        .dim_v = h->dim_v,
        .starts = starts,
        .n_sequences = N_SEQUENCES,
    };
}

static float *run_delta(enum ks_isa isa, int threads, const struct ks_delta *d)
{
    float *out = test_alloc(N * d->v_heads * d->dim_v, sizeof *out);
    struct ks_cpu *cpu = test_cpu(threads, isa);
    ks_delta_net(cpu, d, out);
    ks_cpu_destroy(cpu);
    return out;
}

/*
 * Without the recurrence: d_i = beta_i * (v_i - sum over j < i of g(i, j) (k_i . k_j) d_j), out_i =
 * sum over j <= i of g(i, j) (q_i . k_j) d_j, where g(i, j) is the product of the decays after j up
 * to i. In f64, one column.
 */
static void attention_form(const struct ks_delta *d, size_t first, size_t n, size_t head,
                           size_t column, double *out)
{
    double delta[N];
    size_t group = head % d->k_heads * d->dim_k;
    for (size_t i = 0; i < n; i++) {
        size_t row = first + i;
        double seen = 0, kept = 0, g = 1;
        for (size_t j = i + 1; j-- > 0;) {
            double kk = 0, qk = 0;
            for (size_t e = 0; e < d->dim_k; e++) {
                double key = (double)d->k[(first + j) * d->ld + group + e];
                kk += (double)d->k[row * d->ld + group + e] * key;
                qk += (double)d->q[row * d->ld + group + e] * key;
            }
            if (j == i) {
                out[i] = qk; /* times delta[i], once that is known */
            } else {
                kept += g * kk * delta[j];
                seen += g * qk * delta[j];
            }
            g *= (double)d->decay[(first + j) * d->v_heads + head];
        }
        double v = (double)d->v[row * d->ld + head * d->dim_v + column];
        delta[i] = (v - kept) * (double)d->beta[row * d->v_heads + head];
        out[i] = seen + out[i] * delta[i];
    }
}

static void the_delta_rule_is_its_attention_form(void **state)
{
    (void)state;
    for (size_t n = 0; n < N_SHAPES; n++) {
        float *memory;
        struct ks_delta d = create_delta(&shapes[n], &memory);
        float *got = run_delta(KS_ISA_SCALAR, 1, &d);
        size_t dim = d.v_heads * d.dim_v;
        for (size_t s = 0; s < N_SEQUENCES; s++)
            for (size_t c = 0; c < dim; c++) {
                double want[N];
                size_t rows = starts[s + 1] - starts[s];
                attention_form(&d, starts[s], rows, c / d.dim_v, c % d.dim_v, want);
                for (size_t i = 0; i < rows; i++)
                    if (!(fabs((double)got[(starts[s] + i) * dim + c] - want[i]) < 1e-5))
                        fail_msg("shape %zu, sequence %zu, row %zu, column %zu: %g, not %g", n, s,
                                 i, c, (double)got[(starts[s] + i) * dim + c], want[i]);
            }
        free(got);
        free(memory);
    }
}

static void every_path_and_thread_count_gives_the_scalar_state(void **state)
{
    (void)state;
    for (size_t n = 0; n < N_SHAPES; n++) {
        float *memory;
        struct ks_delta d = create_delta(&shapes[n], &memory);
        float *want = run_delta(KS_ISA_SCALAR, 1, &d);
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                float *got = run_delta(all_isas[i], test_threads[t], &d);
                assert_same_bits(got, want, N * d.v_heads * d.dim_v, ks_isa_name(all_isas[i]));
                free(got);
            }
        free(want);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_sees_its_own_sequences_last_rows),
        cmocka_unit_test(delta_gates_are_their_formulas),
        cmocka_unit_test(heads_of_unit_length_keep_their_direction),
        cmocka_unit_test(the_delta_rule_is_its_attention_form),
        cmocka_unit_test(every_path_and_thread_count_gives_the_scalar_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

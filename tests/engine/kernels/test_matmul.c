#include "tests/engine/kernels/kernels.h"

#include "engine/quant/activations.h"
#include "engine/quant/decode.h"

/* A matrix with random blocks whose scales are sane: bytes from a seed, halves pushed below 1. */
static struct ks_matrix random_matrix(enum ks_type type, size_t rows, size_t cols, uint64_t seed)
{
    uint64_t row_bytes;
    assert_true(ks_type_row_bytes(type, cols, &row_bytes));
    uint8_t *data = test_alloc(rows, row_bytes);
    for (size_t i = 0; i < rows * row_bytes; i++)
        data[i] = (uint8_t)ks_random_next(&seed);
    if (type == KS_F32)
        for (size_t i = 0; i < rows * cols; i++)
            ((float *)(void *)data)[i] = test_uniform(&seed);
    return (struct ks_matrix){.type = type, .rows = rows, .cols = cols, .data = data};
}

/* The definition, by itself: decoded rows, one chain. */
static void expect(const struct ks_matrix *w, const float *x, size_t ldx, size_t n, float *y,
                   size_t ldy)
{
    uint64_t row_bytes;
    assert_true(ks_type_row_bytes(w->type, w->cols, &row_bytes));
    float *row = test_alloc(w->cols, sizeof *row);
    for (size_t r = 0; r < w->rows; r++) {
        ks_decode_row(w->type, w->data + r * row_bytes, row, w->cols);
        for (size_t i = 0; i < n; i++) {
            float sum = 0.0f;
            for (size_t k = 0; k < w->cols; k++)
                sum = fmaf(x[i * ldx + k], row[k], sum);
            y[i * ldy + r] = sum;
        }
    }
    free(row);
}

static void check(const struct ks_matrix *w, size_t n, size_t pad)
{
    size_t ldx = w->cols + pad, ldy = w->rows + pad;
    float *x = test_floats(n * ldx, 7), *want = test_floats(n * ldy, 8);
    expect(w, x, ldx, n, want, ldy);
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!test_runs(all_isas[i]))
            continue;
        for (size_t t = 0; t < N_TEST_THREADS; t++) {
            struct ks_cpu *cpu = test_cpu(test_threads[t], all_isas[i]);
            float *got = test_floats(n * ldy, 8);
            struct ks_error err;
            assert_int_equal(ks_matmul(cpu, w, x, ldx, n, got, ldy, &err), 0);
            char what[128];
            snprintf(what, sizeof what, "%s %s %d threads, %zu x %zu x %zu",
                     ks_isa_name(all_isas[i]), ks_type_info((uint32_t)w->type)->name,
                     test_threads[t], n, (size_t)w->cols, (size_t)w->rows);
            assert_same_bits(got, want, n * ldy, what);
            free(got);
            ks_cpu_destroy(cpu);
        }
    }
    free(x);
    free(want);
}

static void every_output_is_one_fma_chain_for_every_shape(void **state)
{
    (void)state;
    const size_t n[] = {1, 2, 13, 14, 15, 64, 97}, rows[] = {1, 31, 32, 33, 320};
    const size_t cols[] = {1, 31, 32, 33, 257};
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            struct ks_matrix w = random_matrix(KS_F32, rows[r], cols[(i + r) % 5], 3);
            check(&w, n[i], i % 2 * 5);
            free((void *)(uintptr_t)w.data);
        }
}

/* Matrices of a stack do what each does alone, with any number of tokens, none too. */
static void a_stack_multiplies_each_matrix_by_its_own_rows(void **state)
{
    (void)state;
    enum { stacked = 5, rows = 45, cols = 96, n = 190 };
    const size_t starts[stacked + 1] = {0, 3, 3, 120, 121, n};
    const enum ks_type types[] = {KS_F32, KS_Q8_0, KS_MXFP4};
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
        struct ks_matrix w = random_matrix(types[type], stacked * rows, cols, 11);
        float *x = test_floats(n * cols, 7), *want = test_floats(n * (rows + 2), 8);
        uint64_t row_bytes;
        assert_true(ks_type_row_bytes(w.type, cols, &row_bytes));
        for (size_t m = 0; m < stacked; m++) {
            const struct ks_matrix one = {w.type, rows, cols, w.data + m * rows * row_bytes};
            expect(&one, x + starts[m] * cols, cols, starts[m + 1] - starts[m],
                   want + starts[m] * (rows + 2), rows + 2);
        }
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                struct ks_cpu *cpu = test_cpu(test_threads[t], all_isas[i]);
                float *got = test_floats(n * (rows + 2), 8);
                struct ks_error err;
                assert_int_equal(
                    ks_matmul_stacked(cpu, &w, stacked, starts, x, cols, got, rows + 2, &err), 0);
                assert_same_bits(got, want, n * (rows + 2), ks_isa_name(all_isas[i]));
                free(got);
                ks_cpu_destroy(cpu);
            }
        free(x);
        free(want);
        free((void *)(uintptr_t)w.data);
    }
}

static void a_chain_longer_than_the_panel_goes_on_where_it_stopped(void **state)
{
    (void)state;
    struct ks_matrix w = random_matrix(KS_F32, 33, 4500, 4);
    check(&w, 15, 3);
    free((void *)(uintptr_t)w.data);
}

/* Rows of x whole pages apart take another way through memory. */
static void rows_of_x_may_lie_pages_apart(void **state)
{
    (void)state;
    struct ks_matrix w = random_matrix(KS_F32, 33, 1000, 4);
    check(&w, 30, 24);
    check(&w, 1, 24);
    free((void *)(uintptr_t)w.data);
}

static void every_type_that_decodes_multiplies(void **state)
{
    (void)state;
    const struct ks_type_info *info;
    for (uint32_t i = 0; (info = ks_type_at(i)); i++) {
        if (!info->decodes)
            continue;
        struct ks_matrix w = random_matrix(info->type, 33, 3 * (size_t)info->block_elems, i);
        check(&w, 15, 0);
        free((void *)(uintptr_t)w.data);
    }
}

/* Rounded row by row, by itself, and then the definition; each matrix of a stack its own rows. */
static void rounded_rows_are_multiplied_as_any_others(void **state)
{
    (void)state;
    enum { stacked = 3, rows = 33, cols = 256, n = 61 };
    const size_t starts[stacked + 1] = {0, 20, 20, n};
    const enum ks_type types[] = {KS_F32, KS_F16, KS_BF16, KS_Q4_1, KS_Q8_0, KS_Q4_K, KS_IQ4_XS};
    float *x = test_floats(n * cols, 7), *rounded = test_floats(n * cols, 8);
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
        struct ks_matrix w = random_matrix(types[type], stacked * rows, cols, 11);
        for (size_t i = 0; i < n; i++)
            ks_activations_round_row(w.type, x + i * cols, cols, rounded + i * cols);
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                struct ks_cpu *cpu = test_cpu(test_threads[t], all_isas[i]);
                float got[n * (rows + 1)] = {0}, want[n * (rows + 1)] = {0};
                struct ks_error err;
                assert_int_equal(ks_matmul_stacked(cpu, &w, stacked, starts, rounded, cols, want,
                                                   rows + 1, &err),
                                 0);
                assert_int_equal(
                    ks_matmul_rounded(cpu, &w, stacked, starts, x, got, rows + 1, &err), 0);
                assert_same_bits(got, want, n * (rows + 1), ks_type_info(w.type)->name);
                ks_cpu_destroy(cpu);
            }
        free((void *)(uintptr_t)w.data);
    }
    free(x);
    free(rounded);
}

/* IEEE says what comes of them; the row or output they stand in, and no other. */
static void nan_and_infinity_stay_in_their_row_and_output(void **state)
{
    (void)state;
    struct ks_matrix w = random_matrix(KS_F32, 40, 64, 5);
    float *weights = (float *)(void *)(uintptr_t)w.data;
    weights[3 * 64 + 7] = INFINITY;
    weights[35 * 64] = NAN;
    float *x = test_floats(20 * 64, 6), y[20 * 40];
    x[4 * 64 + 9] = NAN;
    x[5 * 64 + 7] = 0.0f; /* times infinity */
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!test_runs(all_isas[i]))
            continue;
        struct ks_cpu *cpu = test_cpu(2, all_isas[i]);
        struct ks_error err;
        assert_int_equal(ks_matmul(cpu, &w, x, 64, 20, y, 40, &err), 0);
        for (size_t t = 0; t < 20; t++)
            for (size_t r = 0; r < 40; r++) {
                float v = y[t * 40 + r];
                if (t == 4 || r == 35 || (t == 5 && r == 3))
                    assert_true(isnan(v));
                else
                    assert_true(r == 3 ? isinf(v) : isfinite(v));
            }
        ks_cpu_destroy(cpu);
    }
    free(x);
    free(weights);
}

static void denormals_are_kept(void **state)
{
    (void)state;
    struct ks_matrix w = random_matrix(KS_F32, 33, 1, 5);
    float *weights = (float *)(void *)(uintptr_t)w.data, x = 0x1p-20f, y[33];
    for (size_t r = 0; r < 33; r++)
        weights[r] = 0x1p-126f * (float)(r + 1);
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!test_runs(all_isas[i]))
            continue;
        struct ks_cpu *cpu = test_cpu(1, all_isas[i]);
        struct ks_error err;
        assert_int_equal(ks_matmul(cpu, &w, &x, 1, 1, y, 33, &err), 0);
        for (size_t r = 0; r < 33; r++)
            assert_true(y[r] == 0x1p-146f * (float)(r + 1));
        ks_cpu_destroy(cpu);
    }
    free(weights);
}

/* Blocks of random bytes: every scale, sign and bit field there is. */
static void rows_are_gathered_as_they_decode(void **state)
{
    (void)state;
    const int32_t ids[] = {5, 0, 5, 39, 12};
    const struct ks_type_info *info;
    for (uint32_t t = 0; (info = ks_type_at(t)); t++) {
        if (!info->decodes)
            continue;
        size_t cols = info->block_elems == 1 ? 517 : 512;
        struct ks_matrix w = random_matrix(info->type, 40, cols, t);
        uint64_t row_bytes;
        assert_true(ks_type_row_bytes(info->type, cols, &row_bytes));
        float got[5 * 517], want[5 * 517];
        for (size_t i = 0; i < 5; i++)
            ks_decode_row(info->type, w.data + (uint64_t)ids[i] * row_bytes, want + i * cols, cols);
        for (size_t i = 0; i < N_ISAS; i++) {
            if (!test_runs(all_isas[i]))
                continue;
            struct ks_cpu *cpu = test_cpu(2, all_isas[i]);
            ks_gather(cpu, &w, ids, 5, got);
            assert_same_bits(got, want, 5 * cols, info->name);
            ks_cpu_destroy(cpu);
        }
        free((void *)(uintptr_t)w.data);
    }
}

static void what_cannot_be_multiplied_is_refused(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    struct ks_error err;
    uint8_t data[64] = {0};
    float x[64] = {0}, y[1] = {42.0f};
    struct ks_matrix w = {.type = (enum ks_type)99, .rows = 1, .cols = 32, .data = data};
    assert_int_equal(ks_matmul(cpu, &w, x, 64, 1, y, 1, &err), -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    w.type = KS_Q8_0, w.cols = 33;
    assert_int_equal(ks_matmul(cpu, &w, x, 64, 1, y, 1, &err), -1);
    assert_non_null(strstr(err.text, "Q8_0"));
    assert_non_null(strstr(err.text, "33"));
    assert_true(y[0] == 42.0f);
    ks_cpu_destroy(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output_is_one_fma_chain_for_every_shape),
        cmocka_unit_test(a_stack_multiplies_each_matrix_by_its_own_rows),
        cmocka_unit_test(a_chain_longer_than_the_panel_goes_on_where_it_stopped),
        cmocka_unit_test(rows_of_x_may_lie_pages_apart),
        cmocka_unit_test(every_type_that_decodes_multiplies),
        cmocka_unit_test(rounded_rows_are_multiplied_as_any_others),
        cmocka_unit_test(nan_and_infinity_stay_in_their_row_and_output),
        cmocka_unit_test(denormals_are_kept),
        cmocka_unit_test(rows_are_gathered_as_they_decode),
        cmocka_unit_test(what_cannot_be_multiplied_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

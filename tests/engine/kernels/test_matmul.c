#include "tests/engine/kernels/kernels.h"

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
        if (!ks_isa_runs(all_isas[i]))
            continue;
        for (int threads = 1; threads <= 7; threads = threads == 1 ? 2 : threads + 5) {
            struct ks_cpu *cpu = test_cpu(threads, all_isas[i]);
            float *got = test_floats(n * ldy, 8);
            struct ks_error err;
            assert_int_equal(ks_matmul(cpu, w, x, ldx, n, got, ldy, &err), 0);
            char what[128];
            snprintf(what, sizeof what, "%s %s %d threads, %zu x %zu x %zu",
                     ks_isa_name(all_isas[i]), ks_type_info((uint32_t)w->type)->name, threads, n,
                     (size_t)w->cols, (size_t)w->rows);
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

static void a_chain_longer_than_the_panel_goes_on_where_it_stopped(void **state)
{
    (void)state;
    struct ks_matrix w = random_matrix(KS_F32, 33, 4500, 4);
    check(&w, 15, 3);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output_is_one_fma_chain_for_every_shape),
        cmocka_unit_test(a_chain_longer_than_the_panel_goes_on_where_it_stopped),
        cmocka_unit_test(every_type_that_decodes_multiplies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The path of cooperative matrices: its twin, where it is, and what it computes there. What comes
 * before the product itself: test_split.c.
 */
#include "tests/testing.h"

#include "gpu/head/head.h"
#include "tests/gpu/activations.h"
#include "tests/gpu/listening.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Opened in main, which asks it what there is to test. */
static struct listening opened;

static int use_opened(void **state)
{
    *state = &opened;
    return opened.gpu ? 0 : -1;
}

/* sum |x| (|scale q| + |minimum|), what errors are measured by. */
static double size_of_output(const struct product *p, uint64_t row, const float *x)
{
    double size = 0;
    float *sizes = must(malloc(p->cols * sizeof *sizes));
    ks_gpu_twin_sizes(p->layout, (const void *const *)p->parts, p->cols, row, sizes);
    for (uint64_t k = 0; k < p->cols; k++)
        size += fabs((double)x[k]) * (double)sizes[k];
    free(sizes);
    return size;
}

static double exact_output(const struct product *p, uint64_t row, const float *x)
{
    double sum = 0;
    for (uint64_t u = 0; u < p->cols / 16; u++) {
        float q[16], minimum;
        double scale = (double)ks_gpu_twin_grains(p->layout, (const void *const *)p->parts, p->cols,
                                                  row, u, q, &minimum);
        for (uint64_t i = 0; i < 16; i++)
            sum += (double)x[16 * u + i] * (scale * (double)q[i] + (double)minimum);
    }
    return sum;
}

static void check_twin(const struct product *p, const struct halves *h, const float *x)
{
    for (uint64_t row = 0; row < p->rows; row++) {
        double got = (double)ks_gpu_twin_matrix(p->layout, (const void *const *)p->parts, p->cols,
                                                row, &h->twin);
        double error = fabs(got - exact_output(p, row, x)) / size_of_output(p, row, x);
        if (!(error <= 1e-6))
            fail_msg("%s, %llu columns: %g", ks_gpu_layout_info(p->layout)->name,
                     (unsigned long long)p->cols, error);
    }
}

static void the_twin_is_as_exact_as_plain_floats_are(void **state)
{
    (void)state;
    static const enum kind kinds[] = {PLAIN, OUTLIERS, SPARSE};
    uint64_t seed = 11;
    for (enum ks_gpu_layout layout = 0; layout < KS_GPU_LAYOUTS; layout++) {
        uint32_t block = ks_gpu_grains(layout).block;
        if (block == 0)
            continue;
        struct product p = make_product(layout, 9, 1024);
        struct halves h = make_halves(p.cols);
        for (size_t i = 0; i < COUNT(kinds); i++) {
            for (size_t k = 0; k < p.cols; k++)
                p.x[k] = element(kinds[i], k, &seed);
            ks_gpu_twin_split(p.x, p.cols, block, &h.twin);
            check_twin(&p, &h, p.x);
        }
        free_halves(&h);
        free_product(&p);
    }
}

static void a_device_without_cooperative_matrices_has_the_other_paths_alone(void **state)
{
    struct listening *l = *state;
    struct ks_error err = {0};
    for (enum ks_gpu_layout layout = 0; layout < KS_GPU_LAYOUTS; layout++)
        for (enum ks_gpu_path path = 0; path < KS_GPU_PATHS; path++)
            assert_int_equal(ks_gpu_path_available(l->gpu, layout, 256, path),
                             path != KS_GPU_MATRIX);
    struct product p = make_product(KS_GPU_I8, 8, 64);
    upload(&p, l->gpu);
    struct ks_gpu_tile *tile = ks_gpu_tile_create(l->gpu, 3, 8, &err);
    assert_non_null(tile);
    assert_int_equal(ks_gpu_matmul(p.w, KS_GPU_MATRIX, p.x, 3, tile, &err), -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no matrix cores for layout i8 with 64 columns"));
    ks_gpu_tile_destroy(tile);
    free_product(&p);
    check_silence(l);
}

/* ------------------------------------------------------------------ on a device that has them */

static void check_device(const struct product *p, struct ks_gpu *gpu, size_t m)
{
    float *y = compute(p, gpu, KS_GPU_MATRIX, p->x, m);
    struct halves h = make_halves(p->cols);
    for (size_t i = 0; i<m; i += m> 8 ? 1 + m / 9 : 1) {
        const float *x = p->x + i * p->cols;
        ks_gpu_twin_split(x, p->cols, ks_gpu_grains(p->layout).block, &h.twin);
        for (uint64_t row = 0; row < p->rows; row += 1 + p->rows / 40) {
            double got = (double)y[i * p->rows + row], size = size_of_output(p, row, x);
            double twin = (double)ks_gpu_twin_matrix(p->layout, (const void *const *)p->parts,
                                                     p->cols, row, &h.twin);
            if (!(fabs(got - twin) <= 0x1p-20 * size) ||
                !(fabs(got - exact_output(p, row, x)) <= 1e-6 * size))
                fail_msg("%s, %llu x %llu, m = %zu, position %zu, row %llu: %.9g, twin %.9g",
                         ks_gpu_layout_info(p->layout)->name, (unsigned long long)p->rows,
                         (unsigned long long)p->cols, m, i, (unsigned long long)row, got, twin);
        }
    }
    free_halves(&h);
    free(y);
}

static void a_device_that_has_them_agrees_with_the_twin_and_with_f64(void **state)
{
    struct listening *l = *state;
    static const size_t ms[] = {1, 2, 7, 64, 512};
    static const uint64_t rows[] = {1, 33, 320, 1000};
    for (enum ks_gpu_layout layout = 0; layout < KS_GPU_LAYOUTS; layout++) {
        uint32_t elems = ks_gpu_layout_info(layout)->block_elems;
        elems = elems < 32 ? 32 : elems;
        if (!ks_gpu_path_available(l->gpu, layout, 3 * elems, KS_GPU_MATRIX))
            continue;
        for (size_t r = 0; r < COUNT(rows); r++)
            for (size_t i = 0; i < COUNT(ms); i++) {
                struct product p = make_product(layout, rows[r], (r % 2 ? 3 : 4) * elems);
                uint64_t seed = 17 + r;
                for (size_t k = 0; k < KS_GPU_MAX_POSITIONS * p.cols; k++)
                    p.x[k] = element(k / p.cols % 3 == 1 ? OUTLIERS : PLAIN, k % p.cols, &seed);
                upload(&p, l->gpu);
                check_device(&p, l->gpu, ms[i]);
                free_product(&p);
            }
    }
    check_silence(l);
}

static void a_position_that_is_not_finite_makes_no_number_and_leaves_the_others(void **state)
{
    struct listening *l = *state;
    struct product p = make_product(KS_GPU_I8, 200, 96);
    upload(&p, l->gpu);
    float *whole = compute(&p, l->gpu, KS_GPU_MATRIX, p.x, 20);
    p.x[3 * 96 + 50] = INFINITY;
    p.x[17 * 96] = NAN;
    float *y = compute(&p, l->gpu, KS_GPU_MATRIX, p.x, 20);
    for (size_t i = 0; i < 20; i++)
        for (size_t row = 0; row < 200; row++)
            assert_true(i == 3 || i == 17 ? isnan(y[i * 200 + row])
                                          : y[i * 200 + row] == whole[i * 200 + row]);
    free(y);
    free(whole);
    free_product(&p);
    check_silence(l);
}

int main(void)
{
    const struct CMUnitTest without[] = {
        cmocka_unit_test(the_twin_is_as_exact_as_plain_floats_are),
        cmocka_unit_test(a_device_without_cooperative_matrices_has_the_other_paths_alone),
    };
    const struct CMUnitTest with[] = {
        cmocka_unit_test(the_twin_is_as_exact_as_plain_floats_are),
        cmocka_unit_test(a_device_that_has_them_agrees_with_the_twin_and_with_f64),
        cmocka_unit_test(a_position_that_is_not_finite_makes_no_number_and_leaves_the_others),
    };
    struct ks_error err = {0};
    try_listening(&opened, NULL, &err);
    if (opened.gpu && ks_gpu_info(opened.gpu)->matrix_cores)
        return cmocka_run_group_tests(with, use_opened, close_once);
    return cmocka_run_group_tests(without, use_opened, close_once);
}

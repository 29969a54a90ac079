/*
 * Every layout by every path, over odd shapes and numbers of positions.
 */
#include "tests/testing.h"

#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void check_errors(const struct product *p, struct ks_gpu *gpu, enum ks_gpu_path path,
                         size_t m)
{
    float *y = compute(p, gpu, path, p->x, m);
    uint64_t step = m > 64 ? 1 + p->rows / 13 : 1 + p->rows / 101;
    for (uint64_t row = p->rows - 1; row < p->rows; row -= step) {
        double error = error_of_row(p, y, m, row);
        if (!(error <= 1e-5))
            fail_msg("%s, %s, %llu x %llu, m = %zu, row %llu: %g",
                     ks_gpu_layout_info(p->layout)->name, ks_gpu_path_name(path),
                     (unsigned long long)p->rows, (unsigned long long)p->cols, m,
                     (unsigned long long)row, error);
    }
    free(y);
}

/* Every m with every layout and path, and none of the costly pairs twice. */
struct shape {
    uint64_t rows;
    size_t m[4];
};

static const struct shape shapes[] = {
    {1, {1, 7, 64}},
    {33, {1, 2, 7, 64}},
    {320, {2, 512}},
    {1000, {1, 7, 64}},
};

static void check_layout(struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols)
{
    for (size_t s = 0; s < COUNT(shapes); s++) {
        struct product p = make_product(layout, shapes[s].rows, cols);
        upload(&p, gpu);
        for (size_t i = 0; i < COUNT(shapes[s].m) && shapes[s].m[i]; i++)
            for (int path = 0; path < KS_GPU_PATHS; path++)
                if (ks_gpu_path_available(gpu, layout, cols, (enum ks_gpu_path)path))
                    check_errors(&p, gpu, (enum ks_gpu_path)path, shapes[s].m[i]);
        free_product(&p);
    }
}

/* A width whose pipelines are made once for all tests. */
static uint64_t usual_cols(enum ks_gpu_layout layout)
{
    return ks_gpu_layout_info(layout)->block_elems == 256 ? 256 : 96;
}

static void every_layout_is_multiplied_within_tolerance_by_every_path(void **state)
{
    struct listening *l = *state;
    for (int layout = 0; layout < KS_GPU_LAYOUTS; layout++) {
        check_layout(l->gpu, (enum ks_gpu_layout)layout, usual_cols((enum ks_gpu_layout)layout));
    }
    check_silence(l);
}

static void rows_may_be_one_block_or_many(void **state)
{
    struct listening *l = *state;
    static const struct {
        enum ks_gpu_layout layout;
        uint64_t cols;
    } widths[] = {{KS_GPU_F16, 16}, {KS_GPU_I8, 32}, {KS_GPU_I8, 576}, {KS_GPU_K6, 768}};
    for (size_t i = 0; i < COUNT(widths); i++)
        check_layout(l->gpu, widths[i].layout, widths[i].cols);
    check_silence(l);
}

/* Row m - 1 - i of x is the unit vector of column i, so the answer is the decoded weight itself. */
static void check_columns(struct ks_gpu *gpu, const struct product *p, enum ks_gpu_path path)
{
    uint64_t m = p->cols;
    float *w = must(malloc(m * sizeof *w)), *y = compute(p, gpu, path, p->x, m);
    for (uint64_t row = 0; row < p->rows; row++) {
        ks_gpu_twin_row(p->layout, (const void *const *)p->parts, m, row, w);
        for (uint64_t k = 0; k < m; k++)
            if (!(y[(m - 1 - k) * p->rows + row] == w[k]))
                fail_msg("%s, row %llu, column %llu: %.9g, not %.9g",
                         ks_gpu_layout_info(p->layout)->name, (unsigned long long)row,
                         (unsigned long long)k, (double)y[(m - 1 - k) * p->rows + row],
                         (double)w[k]);
    }
    free(w);
    free(y);
}

static void a_unit_vector_picks_a_column_bit_for_bit(void **state)
{
    struct listening *l = *state;
    for (int i = 0; i < KS_GPU_LAYOUTS; i++) {
        enum ks_gpu_layout layout = (enum ks_gpu_layout)i;
        uint64_t cols = usual_cols(layout);
        struct product p = make_product(layout, 130, cols);
        upload(&p, l->gpu);
        memset(p.x, 0, cols * cols * sizeof *p.x);
        for (size_t k = 0; k < cols; k++)
            p.x[(cols - 1 - k) * cols + k] = 1;
        for (int path = 0; path < KS_GPU_PATHS; path++)
            if (ks_gpu_path_available(l->gpu, layout, cols, (enum ks_gpu_path)path))
                check_columns(l->gpu, &p, (enum ks_gpu_path)path);
        free_product(&p);
    }
    check_silence(l);
}

/* A row of 16 halves whose bits follow each other from 16 row on; of unit vectors each picks one.
 */
static void check_halves(struct ks_gpu *gpu)
{
    struct product p = make_product(KS_GPU_F16, 4096, 16);
    for (uint32_t bits = 0; bits < 65536; bits++) {
        p.parts[0][2 * bits] = (uint8_t)bits;
        p.parts[0][2 * bits + 1] = (uint8_t)(bits >> 8);
    }
    upload(&p, gpu);
    memset(p.x, 0, 16 * 16 * sizeof *p.x);
    for (size_t k = 0; k < 16; k++)
        p.x[k * 16 + k] = 1;
    for (int path = 0; path < KS_GPU_PATHS; path++) {
        if (!ks_gpu_path_available(gpu, p.layout, 16, (enum ks_gpu_path)path))
            continue;
        float *y = compute(&p, gpu, (enum ks_gpu_path)path, p.x, 16);
        for (uint32_t bits = 0; bits < 65536; bits++) {
            float got = y[bits % 16 * 4096 + bits / 16];
            if ((bits & 0x7c00) != 0x7c00 && !(got == ks_gpu_twin_half((uint16_t)bits)))
                fail_msg("%s, half %04x: %.9g, not %.9g", ks_gpu_path_name((enum ks_gpu_path)path),
                         bits, (double)got, (double)ks_gpu_twin_half((uint16_t)bits));
        }
        free(y);
    }
    free_product(&p);
}

/* By the driver's conversion, where it was found to be exact, and by integers without that proof.
 */
static void every_finite_half_is_a_weight_exactly(void **state)
{
    struct listening *l = *state, unproved;
    check_halves(l->gpu);
    check_silence(l);
    open_listening(&unproved, &(struct ks_gpu_testing){.no_self_test = true});
    check_halves(unproved.gpu);
    close_listening(&unproved);
}

/* Within 1e-5 of sum |x w|, or to the bit. */
static void check_twin(double got, float twin, double size, bool to_the_bit)
{
    if (to_the_bit ? got != (double)twin : !(fabs(got - (double)twin) <= 1e-5 * size))
        fail_msg("%.9g, not the twin's %.9g%s", got, (double)twin,
                 to_the_bit ? ", to the bit" : "");
}

static void check_twins(struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols,
                        bool to_the_bit)
{
    struct product p = make_product(layout, 70, cols);
    upload(&p, gpu);
    float *few = compute(&p, gpu, KS_GPU_FEW, p.x, 5);
    float *many = compute(&p, gpu, KS_GPU_MANY, p.x, 5);
    float *w = must(malloc(cols * sizeof *w));
    const void *const *parts = (const void *const *)p.parts;
    for (size_t i = 0; i < (size_t)5 * 70; i++) {
        const float *x = p.x + i / 70 * cols;
        double size = 0;
        ks_gpu_twin_row(layout, parts, cols, i % 70, w);
        for (size_t k = 0; k < cols; k++)
            size += fabs((double)x[k] * (double)w[k]);
        check_twin((double)few[i], ks_gpu_twin_few(layout, parts, cols, i % 70, x), size,
                   to_the_bit);
        check_twin((double)many[i], ks_gpu_twin_many(w, cols, x), size, to_the_bit);
    }
    free(w);
    free(few);
    free(many);
    free_product(&p);
}

/* Compilers may contract a product and the sum behind it. The software device's does not, nor does
 * it reorder, so there the definition holds to the bit. */
static void
the_twins_have_the_bits_of_a_device_that_contracts_nothing_and_are_near_any(void **state)
{
    struct listening *l = *state;
    bool to_the_bit = strstr(ks_gpu_info(l->gpu)->name, "llvmpipe") != NULL;
    static const struct {
        enum ks_gpu_layout layout;
        uint64_t cols;
    } widths[] = {{KS_GPU_I8, 32},  {KS_GPU_I8, 576},       {KS_GPU_I8, 2048}, {KS_GPU_F16, 48},
                  {KS_GPU_U4, 96},  {KS_GPU_I4, 576},       {KS_GPU_K4, 256},  {KS_GPU_K6, 768},
                  {KS_GPU_F32, 80}, {KS_GPU_LEVELS4_K, 512}};
    print_message("# %s: %s\n", ks_gpu_info(l->gpu)->name,
                  to_the_bit ? "to the bit" : "within 1e-5 of sum |x w|");
    for (size_t i = 0; i < COUNT(widths); i++)
        check_twins(l->gpu, widths[i].layout, widths[i].cols, to_the_bit);
    check_silence(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_is_multiplied_within_tolerance_by_every_path),
        cmocka_unit_test(rows_may_be_one_block_or_many),
        cmocka_unit_test(a_unit_vector_picks_a_column_bit_for_bit),
        cmocka_unit_test(every_finite_half_is_a_weight_exactly),
        cmocka_unit_test(
            the_twins_have_the_bits_of_a_device_that_contracts_nothing_and_are_near_any),
    };
    return cmocka_run_group_tests(tests, open_once, close_once);
}

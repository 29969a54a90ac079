/*
 * Every layout by every path, over odd shapes and numbers of positions.
 */
#include "tests/testing.h"

#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int open_once(void **state)
{
    static struct listening l;
    open_listening(&l, NULL);
    *state = &l;
    return 0;
}

static int close_once(void **state)
{
    close_listening(*state);
    return 0;
}

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

static void every_layout_is_multiplied_within_tolerance_by_every_path(void **state)
{
    struct listening *l = *state;
    for (int layout = 0; layout < KS_GPU_LAYOUTS; layout++) {
        bool large = ks_gpu_layout_info((enum ks_gpu_layout)layout)->block_elems == 256;
        check_layout(l->gpu, (enum ks_gpu_layout)layout, large ? 256 : 96);
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
static void a_unit_vector_picks_a_column_bit_for_bit(void **state)
{
    struct listening *l = *state;
    for (int layout = 0; layout < KS_GPU_LAYOUTS; layout++) {
        struct product p = make_product((enum ks_gpu_layout)layout, 130, 256);
        upload(&p, l->gpu);
        memset(p.x, 0, 256 * 256 * sizeof *p.x);
        for (size_t k = 0; k < 256; k++)
            p.x[(255 - k) * 256 + k] = 1;
        float w[256];
        for (int path = 0; path < KS_GPU_PATHS; path++) {
            if (!ks_gpu_path_available(l->gpu, p.layout, 256, (enum ks_gpu_path)path))
                continue;
            float *y = compute(&p, l->gpu, (enum ks_gpu_path)path, p.x, 256);
            for (uint64_t row = 0; row < 130; row++) {
                ks_gpu_twin_row(p.layout, (const void *const *)p.parts, 256, row, w);
                for (size_t k = 0; k < 256; k++)
                    if (!(y[(255 - k) * 130 + row] == w[k]))
                        fail_msg("%s, row %llu, column %zu: %.9g, not %.9g",
                                 ks_gpu_layout_info(p.layout)->name, (unsigned long long)row, k,
                                 (double)y[(255 - k) * 130 + row], (double)w[k]);
            }
            free(y);
        }
        free_product(&p);
    }
    check_silence(l);
}

/* The software device does neither contract nor reorder, so there the definition holds to the bit.
 */
static void the_twins_have_the_bits_of_a_device_that_contracts_nothing(void **state)
{
    struct listening *l = *state;
    const struct ks_gpu_info *info = ks_gpu_info(l->gpu);
    if (!strstr(info->name, "llvmpipe"))
        skip();
    static const uint64_t cols[] = {32, 576, 2048};
    for (size_t c = 0; c < COUNT(cols); c++) {
        struct product p = make_product(KS_GPU_I8, 70, cols[c]);
        upload(&p, l->gpu);
        uint32_t lanes = 16;
        while (lanes > info->subgroup_size || cols[c] / 16 % lanes != 0)
            lanes /= 2;
        float *few = compute(&p, l->gpu, KS_GPU_FEW, p.x, 5);
        float *many = compute(&p, l->gpu, KS_GPU_MANY, p.x, 5);
        float w[2048];
        const void *const *parts = (const void *const *)p.parts;
        for (size_t i = 0; i < (size_t)5 * 70; i++) {
            const float *x = p.x + i / 70 * cols[c];
            ks_gpu_twin_row(p.layout, parts, cols[c], i % 70, w);
            assert_true(few[i] == ks_gpu_twin_few(p.layout, parts, cols[c], i % 70, lanes, x));
            assert_true(many[i] == ks_gpu_twin_many(w, cols[c], x));
        }
        free(few);
        free(many);
        free_product(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_is_multiplied_within_tolerance_by_every_path),
        cmocka_unit_test(rows_may_be_one_block_or_many),
        cmocka_unit_test(a_unit_vector_picks_a_column_bit_for_bit),
        cmocka_unit_test(the_twins_have_the_bits_of_a_device_that_contracts_nothing),
    };
    return cmocka_run_group_tests(tests, open_once, close_once);
}

/*
 * Bits that must not move, however the work is cut; and a vocabulary beyond a binding.
 */
#include "tests/testing.h"

#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

/* Ways to be small: bindings, the decoded piece, the work of a submission; and a device
 * that computes as others do. */
static const struct ks_gpu_testing cuts[] = {
    {.max_binding_bytes = 256 << 10},
    {.scratch_bytes = 1, .worth_decoding = 1},
    {.flops_per_submit = 1e6, .staging = true},
    {.as_hardware = true, .no_self_test = true},
};

#define ROWS 1000
#define MOST 130

/* Positions 0..MOST - 1 by a path in batches of m. */
static void compute_in_batches(const struct product *p, struct ks_gpu *gpu, enum ks_gpu_path path,
                               size_t m, float *y)
{
    for (size_t from = 0; from < MOST; from += m) {
        size_t here = MOST - from < m ? MOST - from : m;
        float *part = compute(p, gpu, path, p->x + from * p->cols, here);
        memcpy(y + from * ROWS, part, here * ROWS * sizeof *y);
        free(part);
    }
}

static void check_cut(const struct ks_gpu_testing *t, struct product *p, enum ks_gpu_path path,
                      size_t m, const float *whole)
{
    struct listening l;
    open_listening(&l, t);
    upload(p, l.gpu);
    if (t && t->max_binding_bytes)
        assert_true(ks_gpu_weight_shards(p->w) > 1);
    float *y = must(malloc(MOST * ROWS * sizeof *y));
    compute_in_batches(p, l.gpu, path, m, y);
    assert_memory_equal(y, whole, MOST * ROWS * sizeof *y);
    free(y);
    ks_gpu_weight_destroy(p->w);
    p->w = NULL;
    close_listening(&l);
}

static void neither_shards_nor_pieces_nor_company_move_a_bit(void **state)
{
    (void)state;
    static const enum ks_gpu_layout layouts[] = {KS_GPU_I8, KS_GPU_F32};
    static const uint64_t cols[] = {288, 192};
    for (int i = 0; i < 2 * KS_GPU_PATHS; i++) {
        enum ks_gpu_path path = (enum ks_gpu_path)(i % KS_GPU_PATHS);
        struct product p = make_product(layouts[i / KS_GPU_PATHS], ROWS, cols[i / KS_GPU_PATHS]);
        struct listening l;
        open_listening(&l, NULL);
        if (!ks_gpu_path_available(l.gpu, p.layout, p.cols, path)) {
            close_listening(&l);
            free_product(&p);
            continue;
        }
        upload(&p, l.gpu);
        float *whole = compute(&p, l.gpu, path, p.x, MOST);
        ks_gpu_weight_destroy(p.w);
        close_listening(&l);
        check_cut(NULL, &p, path, 1, whole);
        check_cut(NULL, &p, path, 3, whole);
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++)
            check_cut(&cuts[c], &p, path, c == 0 ? MOST : 67, whole);
        free(whole);
        free_product(&p);
    }
}

static void rows_come_in_any_portions_and_a_tile_is_read_in_any(void **state)
{
    (void)state;
    struct listening l;
    struct ks_error err = {0};
    open_listening(&l, &(struct ks_gpu_testing){.max_binding_bytes = 256 << 10, .staging = true});
    struct product p = make_product(KS_GPU_I8, ROWS, 288);
    upload(&p, l.gpu);
    float *whole = compute(&p, l.gpu, KS_GPU_MANY, p.x, MOST);
    ks_gpu_weight_destroy(p.w);
    p.w = ks_gpu_weight_create(l.gpu, p.layout, ROWS, 288, &err);
    assert_non_null(p.w);
    for (uint64_t from = 0, n = 1; from < ROWS;
         from += n, n = from + 300 < ROWS ? 300 : ROWS - from) {
        const void *parts[KS_GPU_MAX_PARTS] = {p.parts[0] + from * 288,
                                               p.parts[1] + from * 288 / 32 * 2};
        assert_int_equal(ks_gpu_weight_append(p.w, n, parts, &err), 0);
    }
    struct ks_gpu_tile *tile = ks_gpu_tile_create(l.gpu, MOST, ROWS, &err);
    float *y = must(malloc(MOST * ROWS * sizeof *y));
    assert_int_equal(ks_gpu_matmul(p.w, KS_GPU_MANY, p.x, MOST, tile, &err), 0);
    for (size_t from = MOST; from-- > 0;)
        assert_int_equal(ks_gpu_tile_read(tile, from, 1, y + from * ROWS, &err), 0);
    assert_memory_equal(y, whole, MOST * ROWS * sizeof *y);
    ks_gpu_tile_destroy(tile);
    free(y);
    free(whole);
    free_product(&p);
    close_listening(&l);
}

#define AGAIN_ROWS 700
#define AGAIN_M    100

/* Three times by a path on one device; whole: what is expected, filled where it is NULL. */
static void check_again(struct listening *l, struct product *p, enum ks_gpu_path path,
                        float **whole)
{
    struct ks_error err = {0};
    float *y = must(malloc(AGAIN_M * AGAIN_ROWS * sizeof *y));
    struct ks_gpu_tile *tile = ks_gpu_tile_create(l->gpu, AGAIN_M, AGAIN_ROWS, &err);
    assert_non_null(tile);
    if (!*whole)
        *whole = compute(p, l->gpu, path, p->x, AGAIN_M);
    assert_int_equal(ks_gpu_matmul_again(p->w, path, p->x, AGAIN_M, tile, 3, &err), 0);
    assert_int_equal(ks_gpu_tile_read(tile, 0, AGAIN_M, y, &err), 0);
    assert_memory_equal(y, *whole, AGAIN_M * AGAIN_ROWS * sizeof *y);
    assert_int_equal(ks_gpu_matmul(p->w, path, p->x, AGAIN_M, tile, &err), 0);
    assert_int_equal(ks_gpu_tile_read(tile, 0, AGAIN_M, y, &err), 0);
    assert_memory_equal(y, *whole, AGAIN_M * AGAIN_ROWS * sizeof *y);
    ks_gpu_tile_destroy(tile);
    free(y);
}

/* By weights that stay packed, are decoded for each product, and are kept decoded. */
static void a_product_made_again_has_the_same_bits_whatever_is_kept_of_the_weight(void **state)
{
    (void)state;
    static const struct ks_gpu_testing keeping[] = {
        {.max_binding_bytes = 256 << 10},
        {.max_binding_bytes = 256 << 10, .worth_decoding = 1},
        {.worth_decoding = 1},
    };
    struct product p = make_product(KS_GPU_I8, AGAIN_ROWS, 256);
    float *whole[KS_GPU_PATHS] = {NULL};
    for (size_t k = 0; k < sizeof keeping / sizeof *keeping; k++) {
        struct listening l;
        open_listening(&l, &keeping[k]);
        upload(&p, l.gpu);
        uint64_t packed = ks_gpu_weight_bytes(p.w);
        for (int path = 0; path < KS_GPU_MATRIX; path++)
            check_again(&l, &p, (enum ks_gpu_path)path, &whole[path]);
        uint64_t decoded = keeping[k].max_binding_bytes ? 0 : 768 * 256 * sizeof(float);
        assert_int_equal(ks_gpu_weight_bytes(p.w), packed + decoded);
        if (ks_gpu_path_available(l.gpu, p.layout, p.cols, KS_GPU_MATRIX))
            check_again(&l, &p, KS_GPU_MATRIX, &whole[KS_GPU_MATRIX]);
        ks_gpu_weight_destroy(p.w);
        close_listening(&l);
    }
    p.w = NULL;
    for (int path = 0; path < KS_GPU_PATHS; path++)
        free(whole[path]);
    free_product(&p);
}

static void what_does_not_fit_the_device_is_refused_with_words(void **state)
{
    (void)state;
    struct listening l;
    struct ks_error err = {0};
    open_listening(&l,
                   &(struct ks_gpu_testing){.max_binding_bytes = 256 << 10, .no_self_test = true});
    assert_null(ks_gpu_weight_create(l.gpu, KS_GPU_F32, 10, 1024, &err));
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "1024 columns"));
    assert_null(ks_gpu_weight_create(l.gpu, KS_GPU_F32, 10, 1 << 20, &err));
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_null(ks_gpu_weight_create(l.gpu, KS_GPU_I8, 10, 48, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_null(ks_gpu_weight_create(l.gpu, KS_GPU_I8, 10, 0, &err));
    assert_null(ks_gpu_weight_create(l.gpu, KS_GPU_I8, 0, 32, &err));
    assert_null(ks_gpu_tile_create(l.gpu, 1, 1025, &err));
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "1025 logits"));
    struct product p = make_product(KS_GPU_I8, 8, 1024);
    upload(&p, l.gpu);
    struct ks_gpu_tile *tile = ks_gpu_tile_create(l.gpu, 65, 8, &err);
    assert_int_equal(ks_gpu_matmul(p.w, KS_GPU_FEW, p.x, 65, tile, &err), -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "activations"));
    ks_gpu_tile_destroy(tile);
    free_product(&p);
    close_listening(&l);
}

/* ------------------------------------------------------------------ a large vocabulary */

#define VOCAB  262144
#define HIDDEN 640

/* Nothing of 178 MB needs to be random: a repeated run of rows whose number divides nothing. */
#define RUN 1009

static void upload_runs(struct product *run, struct ks_gpu *gpu)
{
    struct ks_error err = {0};
    run->w = ks_gpu_weight_create(gpu, KS_GPU_I8, VOCAB, HIDDEN, &err);
    if (!run->w)
        fail_msg("%s", err.text);
    for (uint64_t from = 0; from < VOCAB; from += RUN) {
        uint64_t n = VOCAB - from < RUN ? VOCAB - from : RUN;
        assert_int_equal(ks_gpu_weight_append(run->w, n, (const void *const *)run->parts, &err), 0);
    }
}

static void check_runs(const struct product *run, struct ks_gpu *gpu, enum ks_gpu_path path,
                       size_t m)
{
    struct product all = *run;
    all.rows = VOCAB;
    float *y = compute(&all, gpu, path, run->x, m);
    float *first = must(malloc(m * RUN * sizeof *first));
    for (size_t i = 0; i < m; i++) {
        memcpy(first + i * RUN, y + i * VOCAB, RUN * sizeof *first);
        for (size_t v = RUN; v < VOCAB; v++)
            if (y[i * VOCAB + v] != first[i * RUN + v % RUN])
                fail_msg("position %zu of %zu, row %zu: not as row %zu", i, m, v, v % RUN);
    }
    for (uint64_t row = 0; row < RUN; row += 83)
        assert_true(error_of_row(run, first, m, row) <= 1e-5);
    free(first);
    free(y);
}

static void a_vocabulary_beyond_a_binding_works_with_1_7_and_64_positions(void **state)
{
    (void)state;
    struct listening l;
    open_listening(&l, NULL);
    struct product run = make_product(KS_GPU_I8, RUN, HIDDEN);
    upload_runs(&run, l.gpu);
    if (ks_gpu_info(l.gpu)->max_binding_bytes <= 1 << 27)
        assert_true(ks_gpu_weight_shards(run.w) >= 2);
    check_runs(&run, l.gpu, KS_GPU_FEW, 1);
    check_runs(&run, l.gpu, KS_GPU_FEW, 7);
    check_runs(&run, l.gpu, KS_GPU_MANY, 64);
    free_product(&run);
    close_listening(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neither_shards_nor_pieces_nor_company_move_a_bit),
        cmocka_unit_test(rows_come_in_any_portions_and_a_tile_is_read_in_any),
        cmocka_unit_test(a_product_made_again_has_the_same_bits_whatever_is_kept_of_the_weight),
        cmocka_unit_test(what_does_not_fit_the_device_is_refused_with_words),
        cmocka_unit_test(a_vocabulary_beyond_a_binding_works_with_1_7_and_64_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

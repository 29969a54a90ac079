/*
 * The path of cooperative matrices: where it is, and that it is refused where it is not.
 */
#include "tests/testing.h"

#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

static void a_device_without_cooperative_matrices_has_the_other_paths_alone(void **state)
{
    (void)state;
    struct ks_error err = {0};
    struct listening l;
    open_listening(&l, NULL);
    if (ks_gpu_info(l.gpu)->cooperative_matrix_khr) {
        close_listening(&l);
        skip();
    }
    for (int layout = 0; layout < KS_GPU_LAYOUTS; layout++)
        for (int path = 0; path < KS_GPU_PATHS; path++)
            assert_int_equal(ks_gpu_path_available(l.gpu, (enum ks_gpu_layout)layout, 256,
                                                   (enum ks_gpu_path)path),
                             path != KS_GPU_MATRIX);
    struct product p = make_product(KS_GPU_I8, 8, 64);
    upload(&p, l.gpu);
    struct ks_gpu_tile *tile = ks_gpu_tile_create(l.gpu, 3, 8, &err);
    assert_non_null(tile);
    assert_int_equal(ks_gpu_matmul(p.w, KS_GPU_MATRIX, p.x, 3, tile, &err), -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no matrix cores for layout i8 with 64 columns"));
    ks_gpu_tile_destroy(tile);
    free_product(&p);
    close_listening(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_without_cooperative_matrices_has_the_other_paths_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Host memory that runs out once, at each allocation of a device's life.
 */
#include "tests/testing.h"

#include "tests/failing_memory.h"
#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

#define ROWS 200
#define COLS 64
#define M    70

/* From opening to reading; -1 with *err where anything failed. */
static int whole_life(struct listening *l, const struct product *p, float *y, struct ks_error *err)
{
    try_listening(l, NULL, err);
    if (!l->gpu)
        return -1;
    struct ks_gpu_weight *w = ks_gpu_weight_create(l->gpu, p->layout, ROWS, COLS, err);
    struct ks_gpu_tile *tile = w ? ks_gpu_tile_create(l->gpu, M, ROWS, err) : NULL;
    int failed = !tile || ks_gpu_weight_append(w, ROWS, (const void *const *)p->parts, err) != 0 ||
                 ks_gpu_matmul(w, KS_GPU_MANY, p->x, M, tile, err) != 0 ||
                 ks_gpu_tile_read(tile, 0, M, y, err) != 0;
    ks_gpu_tile_destroy(tile);
    ks_gpu_weight_destroy(w);
    ks_gpu_close(l->gpu);
    return failed ? -1 : 0;
}

static long fail_everywhere(const struct product *p, const float *whole, float *y)
{
    for (long n = 0;; n++) {
        struct listening l;
        struct ks_error err = {0};
        atomic_store(&allocations_left, n);
        int failed = whole_life(&l, p, y, &err);
        long left = atomic_exchange(&allocations_left, -1);
        check_silence(&l);
        if (failed)
            assert_int_equal(err.code, KS_NO_MEMORY);
        else
            assert_memory_equal(y, whole, M * ROWS * sizeof *y);
        if (left > 0)
            return n;
    }
}

static void every_allocation_may_fail_and_is_an_error_or_done_without(void **state)
{
    (void)state;
    struct listening l;
    struct ks_error err = {0};
    struct product p = make_product(KS_GPU_I4, ROWS, COLS);
    float *whole = must(malloc(M * ROWS * sizeof *whole)), *y = must(malloc(M * ROWS * sizeof *y));
    assert_int_equal(whole_life(&l, &p, whole, &err), 0);
    check_silence(&l);
    memory_comes_back = true;
    assert_true(fail_everywhere(&p, whole, y) > 20);
    free(whole);
    free(y);
    free_product(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail_and_is_an_error_or_done_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The largest logits of blocks of columns, which products leave beside what they make.
 */
#include "tests/testing.h"

#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"
#include "tests/gpu/rows.h"

#define BLOCK 128

static uint32_t order(float logit)
{
    uint32_t bits;
    memcpy(&bits, &logit, sizeof bits);
    if (bits == 0x80000000)
        bits = 0;
    return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

static uint32_t *read_maxima(struct ks_gpu_tile *tile, size_t position)
{
    struct ks_error err = {0};
    size_t bytes = tile->stride / BLOCK * sizeof(uint32_t);
    uint32_t *maxima = must(malloc(bytes));
    if (ks_vk_buffer_read(tile->gpu, &tile->maxima[position / tile->per_segment],
                          position % tile->per_segment * bytes, maxima, bytes, tile->gpu->submitted,
                          &err) != 0)
        fail_msg("%s", err.text);
    return maxima;
}

/* Of all whole blocks of positions 0 .. m - 1; makes them first where they are missing. */
static void check_maxima(struct ks_gpu_tile *tile, size_t m)
{
    struct ks_error err = {0};
    struct ks_vk_slot *slot;
    assert_int_equal(ks_vk_begin(tile->gpu, &slot, &err), 0);
    assert_int_equal(ks_gpu_tile_find_maxima(tile, m, &slot, &err), 0);
    assert_int_equal(ks_vk_submit(tile->gpu, slot, &err), 0);
    float *row = must(malloc(tile->rows * sizeof *row));
    for (size_t p = 0; p < m; p++) {
        assert_int_equal(ks_gpu_tile_read(tile, p, 1, row, &err), 0);
        uint32_t *maxima = read_maxima(tile, p);
        for (size_t b = 0; b < tile->rows / BLOCK; b++) {
            uint32_t most = 0;
            for (size_t i = b * BLOCK; i < (b + 1) * BLOCK; i++)
                most = order(row[i]) > most ? order(row[i]) : most;
            if (maxima[b] != most)
                fail_msg("position %zu, block %zu: %08x, not %08x", p, b, maxima[b], most);
        }
        free(maxima);
    }
    free(row);
}

/* By segments of 64 positions and by shards of 128 rows. */
static void every_path_leaves_the_largest_logit_of_every_block(void **state)
{
    (void)state;
    static const struct ks_gpu_testing cuts[] = {
        {.no_self_test = true},
        {.max_binding_bytes = 1 << 18,
         .scratch_bytes = 1 << 17,
         .worth_decoding = 1,
         .no_self_test = true},
    };
    struct ks_error err = {0};
    for (size_t c = 0; c < 2; c++) {
        struct listening l;
        open_listening(&l, &cuts[c]);
        struct product p = make_product(KS_GPU_I8, 700, 64);
        upload(&p, l.gpu);
        for (enum ks_gpu_path path = 0; path < KS_GPU_PATHS; path++) {
            if (!ks_gpu_path_available(l.gpu, p.layout, p.cols, path))
                continue;
            struct ks_gpu_tile *tile = ks_gpu_tile_create(l.gpu, 100, p.rows, &err);
            assert_int_equal(ks_gpu_matmul(p.w, path, p.x, 100, tile, &err), 0);
            check_maxima(tile, 100);
            ks_gpu_tile_destroy(tile);
        }
        free_product(&p);
        close_listening(&l);
    }
}

static void rows_of_any_kind_get_their_maxima(void **state)
{
    (void)state;
    struct listening l;
    open_listening(&l, &(struct ks_gpu_testing){.no_self_test = true});
    uint64_t seed = 77;
    struct rows r = make_rows(KINDS, 1300);
    for (enum kind kind = 0; kind < KINDS; kind++)
        fill_row(kind, r.n, 0, &seed, r.reference + kind * r.n, r.arm + kind * r.n);
    struct ks_gpu_tile *tile = upload_rows(l.gpu, r.reference, r.m, r.n);
    check_maxima(tile, r.m);
    ks_gpu_tile_destroy(tile);
    free_rows(&r);
    close_listening(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_leaves_the_largest_logit_of_every_block),
        cmocka_unit_test(rows_of_any_kind_get_their_maxima),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What comes before a product by cooperative matrices, and runs on any device: activations split
 * into halves, and weights taken apart, both in an order of lanes that is made up here.
 */
#include "tests/testing.h"

#include "gpu/head/path/matrix.h"
#include "tests/gpu/activations.h"
#include "tests/gpu/listening.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* What the halves make of element k. */
static double joined(const struct halves *h, size_t k)
{
    return ((double)ks_gpu_twin_half(h->twin.high[k]) + (double)ks_gpu_twin_half(h->twin.low[k])) *
           (double)h->twin.back;
}

static void check_split(enum kind kind, const float *x, const struct halves *h)
{
    double largest = 0;
    for (size_t k = 0; k < h->cols; k++)
        largest = fmax(largest, fabs((double)x[k]));
    for (size_t k = 0; k < h->cols; k++) {
        double size = fabs((double)x[k]), error = fabs(joined(h, k) - (double)x[k]);
        double allowed = size >= 0x1p-16 * largest ? 0x1p-23 * size : 0x1p-39 * largest;
        if (size < 0x1p-126)
            assert_true(joined(h, k) == 0);
        else if (!(error <= allowed))
            fail_msg("kind %d: %a is split %g off, %g allowed, largest %g", kind, (double)x[k],
                     error, allowed, largest);
    }
}

static void two_halves_hold_an_element_to_the_precision_of_a_float(void **state)
{
    (void)state;
    enum { COLS = 1024, ROWS_OF_KIND = 60 };
    struct halves h = make_halves(COLS);
    float *x = must(malloc(COLS * sizeof *x));
    uint64_t seed = 3;
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int row = 0; row < ROWS_OF_KIND; row++) {
            for (size_t k = 0; k < COLS; k++)
                x[k] = element(kind, k, &seed);
            ks_gpu_twin_split(x, COLS, 32, &h.twin);
            check_split(kind, x, &h);
        }
    free(x);
    free_halves(&h);
}

static void every_size_of_an_element_is_split_beside_a_largest_of_any(void **state)
{
    (void)state;
    struct halves h = make_halves(32);
    for (int largest = -126; largest <= 127; largest++)
        for (int below = 0; largest - below >= -126; below++) {
            float x[32] = {ldexpf(-1.75f, largest),
                           ldexpf(1.0f, largest - below),
                           ldexpf(1.9999999f, largest - below),
                           ldexpf(-1.0009766f, largest - below),
                           ldexpf(1.0004882f, largest - below),
                           ldexpf(1.0004884f, largest - below)};
            if (largest - below == 127)
                x[2] = 0;
            ks_gpu_twin_split(x, 32, 32, &h.twin);
            check_split(PLAIN, x, &h);
        }
    free_halves(&h);
}

/* What test and device make of one row that is not finite: halves of 0, which a factor of NaN
 * turns into no number. */
static void a_row_that_is_not_finite_is_marked_whole(void **state)
{
    (void)state;
    static const float wrong[] = {INFINITY, -INFINITY, NAN};
    struct halves h = make_halves(64);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        float x[64] = {1, 2, 3};
        x[40] = wrong[i];
        ks_gpu_twin_split(x, 64, 32, &h.twin);
        assert_true(isnan(h.twin.back));
        for (size_t k = 0; k < 64; k++)
            assert_true(h.twin.high[k] == 0 && h.twin.low[k] == 0);
    }
    free_halves(&h);
}

/* The activations are on the device, and a slot records. */
static struct ks_gpu_product begin_product(struct ks_gpu *gpu, struct ks_gpu_weight *w,
                                           const float *x, size_t m)
{
    struct ks_error err = {0};
    struct ks_gpu_product p = {.gpu = gpu, .w = w, .m = m};
    uint64_t bytes = m * w->cols * sizeof *x;
    if (ks_vk_buffer_reserve(gpu, KS_VK_ON_DEVICE, bytes, "activations", &gpu->x, &err) != 0 ||
        ks_vk_begin(gpu, &p.slot, &err) != 0 ||
        ks_vk_copy_in(gpu, &p.slot, &gpu->x, 0, x, bytes, &err) != 0)
        fail_msg("%s", err.text);
    ks_vk_barrier(p.slot);
    return p;
}

/* A made-up order of lanes, for steps without the product itself. */
struct lanes {
    uint32_t held[512];   /* (2, 32 lanes, 8): 16 * row + k */
    size_t place[2][256]; /* where in its half a number is held */
};

static void give_lanes(struct ks_gpu *gpu, uint64_t seed, struct lanes *out)
{
    struct ks_error err = {0};
    uint32_t *lanes = out->held;
    for (uint32_t i = 0; i < 512; i++)
        lanes[i] = i % 256;
    for (uint32_t i = 511; i > 0; i--) { /* shuffled within either half */
        uint32_t first = i / 256 * 256;
        uint32_t with = first + (uint32_t)(ks_random_next(&seed) % (i - first + 1));
        uint32_t moved = lanes[i];
        lanes[i] = lanes[with];
        lanes[with] = moved;
    }
    if (ks_vk_buffer_reserve(gpu, KS_VK_ON_DEVICE, KS_GPU_LANES_BYTES, "lanes", &gpu->lanes,
                             &err) != 0 ||
        ks_vk_buffer_write(gpu, &gpu->lanes, 0, lanes, sizeof out->held, &err) != 0)
        fail_msg("%s", err.text);
    gpu->knows_lanes = false;
    for (size_t i = 0; i < 512; i++)
        out->place[i / 256][lanes[i]] = i % 256;
}

/* malloc'ed */
static void *read_back(struct ks_gpu *gpu, const struct ks_vk_buffer *buffer, size_t bytes)
{
    struct ks_error err = {0};
    void *out = must(malloc(bytes));
    if (ks_vk_buffer_read(gpu, buffer, 0, out, bytes, gpu->submitted, &err) != 0)
        fail_msg("%s", err.text);
    return out;
}

/* What the device made of a batch of activations. */
struct split {
    size_t height;
    uint32_t block;
    const struct lanes *lanes;
    const uint16_t *halves;
    const float *factors;
};

static void check_row_of_split(const struct split *s, const float *x, size_t row, struct halves *h)
{
    const float *factors = s->factors;
    size_t cols = h->cols;
    ks_gpu_twin_split(x, cols, s->block, &h->twin);
    for (size_t k = 0; k < cols; k++) {
        size_t matrix = (row / 16 * (cols / 16) + k / 16) * 2;
        const uint16_t *high =
            s->halves + matrix * 256 + s->lanes->place[0][row % 16 * 16 + k % 16];
        if (high[0] != h->twin.high[k] || high[256] != h->twin.low[k])
            fail_msg("row %zu, column %zu: %a in %04x and %04x, not %04x and %04x", row, k,
                     (double)x[k], high[0], high[256], h->twin.high[k], h->twin.low[k]);
    }
    assert_true(factors[row] == h->twin.back || (isnan(factors[row]) && isnan(h->twin.back)));
    for (size_t b = 0; b < cols / s->block; b++)
        assert_true(factors[(1 + b) * s->height + row] == h->twin.sums[b]);
}

static void a_device_splits_rows_of_every_kind_to_the_bit(void **state)
{
    struct listening *l = *state;
    enum { COLS = 576, HEIGHT = 64, M = 3 * KINDS + 2 };
    struct ks_error err = {0};
    struct product p = make_product(KS_GPU_I8, 1, COLS);
    upload(&p, l->gpu);
    uint64_t seed = 5;
    for (size_t i = 0; i < (size_t)M * COLS; i++)
        p.x[i] = element((enum kind)(i / COLS % KINDS), i % COLS, &seed);
    p.x[(M - 1) * COLS + 9] = NAN;
    p.x[(M - 2) * COLS + 575] = -INFINITY;
    struct lanes lanes;
    give_lanes(l->gpu, 23, &lanes);
    for (uint32_t block = 16; block <= 32; block *= 2) {
        struct ks_gpu_product d = begin_product(l->gpu, p.w, p.x, M);
        assert_int_equal(ks_gpu_split(&d, HEIGHT, block, &err), 0);
        assert_int_equal(ks_vk_submit(l->gpu, d.slot, &err), 0);
        uint16_t *halves = read_back(l->gpu, &l->gpu->turned, (size_t)HEIGHT * COLS * 4);
        float *factors =
            read_back(l->gpu, &l->gpu->factors, HEIGHT * (1 + COLS / block) * sizeof(float));
        struct halves h = make_halves(COLS);
        float zeros[COLS] = {0};
        struct split s = {HEIGHT, block, &lanes, halves, factors};
        for (size_t row = 0; row < HEIGHT; row++)
            check_row_of_split(&s, row < M ? p.x + row * COLS : zeros, row, &h);
        free_halves(&h);
        free(factors);
        free(halves);
    }
    free_product(&p);
    check_silence(l);
}

/* ------------------------------------------------------------------ weights taken apart */

/* A piece's elements and scales, as they come back. */
struct apart {
    const struct lanes *lanes;
    const uint8_t *bytes; /* 128 above the integers they stand for */
    const uint16_t *halves;
    const float *scales, *minima;
    uint64_t width;
};

/* Bytes lie as lanes hold 32 k: for either 16 of them 8 elements, of every four the middle ones
 * exchanged; halves as they hold 16. */
static float element_at(const struct apart *a, const struct product *p, uint64_t row, uint64_t k)
{
    size_t place = a->lanes->place[1][row % 16 * 16 + k % 16], lane = place / 8;
    size_t element = place % 8;
    if (ks_gpu_grains(p->layout).bytes == 2)
        return ks_gpu_twin_half(a->halves[(row / 16 * (p->cols / 16) + k / 16) * 256 + place]);
    static const size_t exchanged[4] = {0, 2, 1, 3};
    size_t at = ((row / 16 * (p->cols / 32) + k / 32) * 32 + lane) * 16 + k % 32 / 16 * 8 +
                element / 4 * 4 + exchanged[element % 4];
    return (float)a->bytes[at] - 128;
}

static void check_apart(const struct product *p, const struct apart *a, uint64_t first,
                        uint64_t row)
{
    uint32_t block = ks_gpu_grains(p->layout).block;
    const void *const *parts = (const void *const *)p->parts;
    for (uint64_t u = 0; u < p->cols / 16; u++) {
        float q[16], decoded[16], minimum;
        float scale = ks_gpu_twin_grains(p->layout, parts, p->cols, first + row, u, q, &minimum);
        float one = ks_gpu_twin_unit(p->layout, parts, p->cols, first + row, u, decoded);
        uint64_t at = u * 16 / block * a->width + row;
        assert_true(a->scales[at] == scale);
        assert_true((a->minima ? a->minima[at] : 0) == minimum);
        for (uint64_t i = 0; i < 16; i++) {
            assert_true(element_at(a, p, row, 16 * u + i) == q[i]);
            assert_true(scale * q[i] + minimum == one * decoded[i]);
        }
    }
}

static void check_piece(struct ks_gpu *gpu, const struct product *p, uint64_t first,
                        const struct lanes *lanes)
{
    struct ks_error err = {0};
    struct ks_gpu_grains grains = ks_gpu_grains(p->layout);
    struct ks_gpu_product d = begin_product(gpu, p->w, p->x, 1);
    struct ks_gpu_piece piece = ks_gpu_piece_at(&d, p->w->shards, first);
    assert_int_equal(ks_gpu_piece_reserve(&d, &piece, &err), 0);
    assert_int_equal(ks_gpu_take_apart(&d, &piece, &err), 0);
    assert_int_equal(ks_vk_submit(gpu, d.slot, &err), 0);
    size_t table = piece.width * (p->cols / grains.block);
    void *grains_read = read_back(gpu, piece.grains, piece.width * p->cols * grains.bytes);
    float *scales = read_back(gpu, piece.scales, table * (grains.minima ? 2 : 1) * sizeof(float));
    struct apart a = {.lanes = lanes,
                      .bytes = grains_read,
                      .halves = grains_read,
                      .scales = scales,
                      .minima = grains.minima ? scales + table : NULL,
                      .width = piece.width};
    for (uint64_t row = 0; row < piece.rows; row++)
        check_apart(p, &a, first, row);
    for (uint64_t row = piece.rows; row < piece.width; row++)
        for (uint64_t k = 0; k < p->cols; k += 5)
            assert_true(element_at(&a, p, row, k) == 0 &&
                        a.scales[k / grains.block * a.width + row] == 0);
    free(scales);
    free(grains_read);
}

static void weights_are_taken_apart_into_what_they_were_made_of(void **state)
{
    (void)state;
    struct listening l;
    struct lanes lanes;
    open_listening(&l, &(struct ks_gpu_testing){.scratch_bytes = 128 * 288, .no_self_test = true});
    for (enum ks_gpu_layout layout = 0; layout < KS_GPU_LAYOUTS; layout++) {
        if (ks_gpu_grains(layout).block == 0)
            continue;
        uint64_t cols = ks_gpu_layout_info(layout)->block_elems == 256 ? 512 : 288;
        struct product p = make_product(layout, 300, cols);
        upload(&p, l.gpu);
        give_lanes(l.gpu, layout, &lanes);
        for (uint64_t first = 0; first < 300; first += 128)
            check_piece(l.gpu, &p, first, &lanes);
        free_product(&p);
    }
    close_listening(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_halves_hold_an_element_to_the_precision_of_a_float),
        cmocka_unit_test(every_size_of_an_element_is_split_beside_a_largest_of_any),
        cmocka_unit_test(a_row_that_is_not_finite_is_marked_whole),
        cmocka_unit_test(a_device_splits_rows_of_every_kind_to_the_bit),
        cmocka_unit_test(weights_are_taken_apart_into_what_they_were_made_of),
    };
    return cmocka_run_group_tests(tests, open_once, close_once);
}

/*
 * Sums over rows of logits on a device, against the twin and against themselves.
 */
#include "tests/testing.h"

#include "gpu/ruler/twin.h"
#include "tests/gpu/listening.h"
#include "tests/gpu/rows.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ------------------------------------------------------------------ the twin */

static void check_peaks(const struct ks_gpu_peaks *got, const struct ks_gpu_peaks *twin)
{
    assert_int_equal(got->flags, twin->flags);
    assert_int_equal(got->before, twin->before);
    assert_int_equal(got->n_top, twin->n_top);
    assert_memory_equal(got->top, twin->top, sizeof got->top);
    assert_memory_equal(&got->max, &twin->max, sizeof got->max);
    assert_memory_equal(&got->target, &twin->target, sizeof got->target);
}

static void check_sum(const char *what, enum kind kind, size_t n, double got, double twin)
{
    if (memcmp(&got, &twin, sizeof got) != 0)
        fail_msg("%s of a %s row of %zu: %.17g, not %.17g", what, kind_names[kind], n, got, twin);
}

/* exact: no term is denormal, which a device may take for 0. */
static void check_against_twin(const struct rows *r, size_t p, enum kind kind, uint32_t top,
                               bool exact)
{
    const float *reference = r->reference + p * r->n, *arm = r->arm + p * r->n;
    const struct ks_gpu_reference_row *ref = &r->ref_rows[p];
    const struct ks_gpu_arm_row *got = &r->arm_rows[p];
    struct ks_gpu_peaks peaks = ks_gpu_ruler_twin_peaks(reference, r->n, r->targets[p], top);
    struct ks_gpu_reference_row ref_twin = ks_gpu_ruler_twin_reference(reference, r->n, &peaks);
    check_peaks(&ref->peaks, &ref_twin.peaks);
    check_sum("sum e^x", kind, r->n, ref->exp, ref_twin.exp);
    if (exact)
        check_sum("sum e^x x", kind, r->n, ref->exp_x, ref_twin.exp_x);
    peaks = ks_gpu_ruler_twin_peaks(arm, r->n, r->targets[p], top);
    struct ks_gpu_arm_row twin =
        ks_gpu_ruler_twin_arm(reference, ref_twin.base, arm, r->n, got->shift, &peaks);
    check_peaks(&got->peaks, &twin.peaks);
    if (got->peaks.flags || !exact)
        return;
    check_sum("sum e^x d", kind, r->n, got->d, twin.d);
    check_sum("sum e^x (e^d - 1)", kind, r->n, got->more, twin.more);
    check_sum("sum e^x psi", kind, r->n, got->psi, twin.psi);
}

static void every_number_is_the_twins_to_the_bit(void **state)
{
    struct listening *l = *state;
    static const size_t widths[] = {1, 2, 9, 63, 1000, 4097, 16384, 16385};
    static const double apart[] = {0, 1e-4, 0.3, 5};
    uint64_t seed = 3;
    for (size_t w = 0; w < COUNT(widths); w++) {
        struct rows r = make_rows(COUNT(apart), widths[w]);
        uint32_t top = widths[w] == 1000 ? 32 : 10;
        for (enum kind kind = 0; kind < KINDS; kind++) {
            for (size_t p = 0; p < r.m; p++) {
                fill_row(kind, r.n, apart[p], &seed, r.reference + p * r.n, r.arm + p * r.n);
                r.targets[p] = (uint32_t)ks_random_below(&seed, r.n);
            }
            measure_rows(&r, l->gpu, top);
            for (size_t p = 0; p < r.m; p++)
                check_against_twin(&r, p, kind, top, kind != DENORMAL);
        }
        free_rows(&r);
    }
    check_silence(l);
}

/* ------------------------------------------------------------------ properties */

static void equal_rows_have_sums_of_exactly_zero(void **state)
{
    struct listening *l = *state;
    struct rows r = make_rows(KINDS, 5000);
    uint64_t seed = 5;
    for (size_t p = 0; p < r.m; p++)
        fill_row((enum kind)p, r.n, 0, &seed, r.reference + p * r.n, r.arm + p * r.n);
    measure_rows(&r, l->gpu, 10);
    for (size_t p = 0; p < r.m; p++) {
        const struct ks_gpu_arm_row *a = &r.arm_rows[p];
        assert_true(a->shift == 0 && a->d == 0 && a->more == 0 && a->psi == 0);
        check_peaks(&a->peaks, &r.ref_rows[p].peaks);
    }
    free_rows(&r);
    check_silence(l);
}

#define POSITIONS 150
#define WIDTH     4500

/* Three ways to cut: segments of 64 positions, little work at once through staging, and less
 * positions at a time. */
static void measure_in_parts(struct rows *r, const struct ks_gpu_testing *t, size_t at_once)
{
    struct listening l;
    open_listening(&l, t);
    for (size_t p = 0; p < r->m; p += at_once) {
        struct rows part = {
            .m = r->m - p < at_once ? r->m - p : at_once,
            .n = r->n,
            .reference = r->reference + p * r->n,
            .arm = r->arm + p * r->n,
            .targets = r->targets + p,
            .ref_rows = r->ref_rows + p,
            .arm_rows = r->arm_rows + p,
        };
        measure_rows(&part, l.gpu, 10);
    }
    close_listening(&l);
}

static void neither_company_nor_cuts_move_a_bit(void **state)
{
    struct listening *l = *state;
    static const struct ks_gpu_testing cuts[] = {
        {.max_binding_bytes = 2 << 20, .no_self_test = true},
        {.flops_per_submit = 3e6, .staging = true, .no_self_test = true},
    };
    struct rows r = make_rows(POSITIONS, WIDTH);
    uint64_t seed = 9;
    for (size_t p = 0; p < r.m; p++) {
        fill_row(p % 2 ? PEAKED : PLAIN, r.n, 0.1, &seed, r.reference + p * r.n, r.arm + p * r.n);
        r.targets[p] = (uint32_t)ks_random_below(&seed, r.n);
    }
    measure_rows(&r, l->gpu, 10);
    struct rows again = r;
    again.ref_rows = needed(calloc(r.m, sizeof *r.ref_rows));
    again.arm_rows = needed(calloc(r.m, sizeof *r.arm_rows));
    for (size_t c = 0; c < COUNT(cuts); c++) {
        measure_in_parts(&again, &cuts[c], c == 0 ? POSITIONS : 67);
        assert_memory_equal(again.ref_rows, r.ref_rows, r.m * sizeof *r.ref_rows);
        assert_memory_equal(again.arm_rows, r.arm_rows, r.m * sizeof *r.arm_rows);
    }
    free(again.ref_rows);
    free(again.arm_rows);
    free_rows(&r);
    check_silence(l);
}

/* ------------------------------------------------------------------ flags */

static void what_f32_cannot_hold_is_flagged(void **state)
{
    struct listening *l = *state;
    static const struct {
        float reference, arm;
        uint32_t ref_flags, arm_flags;
    } cases[] = {
        {NAN, 1, KS_GPU_ROW_NONFINITE, 0},
        {-NAN, 1, KS_GPU_ROW_NONFINITE, 0},
        {1, NAN, 0, KS_GPU_ROW_NONFINITE},
        {INFINITY, 1, KS_GPU_ROW_NONFINITE, 0},
        {1, INFINITY, 0, KS_GPU_ROW_NONFINITE},
        {1, -INFINITY, 0, KS_GPU_ROW_UNEVEN},
        {-INFINITY, 1, 0, KS_GPU_ROW_UNEVEN},
        {-INFINITY, -INFINITY, 0, 0},
        {1, 90, 0, KS_GPU_ROW_RANGE},
        {-100, -20, 0, 0},
        {-1e30f, 1, 0, 0},
    };
    struct rows r = make_rows(COUNT(cases), 700);
    uint64_t seed = 21;
    for (size_t p = 0; p < r.m; p++) {
        fill_row(PLAIN, r.n, 0.01, &seed, r.reference + p * r.n, r.arm + p * r.n);
        r.reference[p * r.n + 633] = cases[p].reference;
        r.arm[p * r.n + 633] = cases[p].arm;
    }
    measure_rows(&r, l->gpu, 10);
    for (size_t p = 0; p < r.m; p++) {
        uint32_t ref = r.ref_rows[p].peaks.flags, arm = r.arm_rows[p].peaks.flags;
        if (cases[p].ref_flags || (cases[p].arm_flags & KS_GPU_ROW_NONFINITE))
            arm &= KS_GPU_ROW_NONFINITE; /* no other means anything */
        if (ref != cases[p].ref_flags || arm != cases[p].arm_flags)
            fail_msg("case %zu: flags %u and %u", p, ref, arm);
    }
    free_rows(&r);
    check_silence(l);
}

static void a_row_of_nothing_has_no_maximum(void **state)
{
    struct listening *l = *state;
    struct rows r = make_rows(1, 300);
    for (size_t i = 0; i < r.n; i++)
        r.reference[i] = r.arm[i] = -INFINITY;
    measure_rows(&r, l->gpu, 10);
    assert_true(r.ref_rows[0].peaks.max == -INFINITY && r.arm_rows[0].peaks.max == -INFINITY);
    assert_int_equal(r.ref_rows[0].peaks.flags, 0);
    free_rows(&r);
    check_silence(l);
}

static void both_zeros_are_one_and_ties_go_to_the_lowest_index(void **state)
{
    struct listening *l = *state;
    struct rows r = make_rows(1, 6000);
    for (size_t i = 0; i < r.n; i++)
        r.reference[i] = r.arm[i] = i % 2 ? 0.0f : -0.0f;
    r.targets[0] = 4321;
    measure_rows(&r, l->gpu, 32);
    for (uint32_t k = 0; k < 32; k++)
        assert_int_equal(r.ref_rows[0].peaks.top[k], k);
    assert_int_equal(r.ref_rows[0].peaks.before, 4321);
    assert_int_equal(r.arm_rows[0].peaks.before, 4321);
    free_rows(&r);
    check_silence(l);
}

/* ------------------------------------------------------------------ refusals */

static void a_target_beyond_the_vocabulary_is_refused(void **state)
{
    struct listening *l = *state;
    struct ks_error err = {0};
    struct ks_gpu_tile *tile = ks_gpu_tile_create(l->gpu, 1, 50, &err);
    struct ks_gpu_ruler *ruler = ks_gpu_ruler_create(l->gpu, 1, 50, 10, &err);
    uint32_t target = 50;
    assert_int_equal(ks_gpu_ruler_reference(ruler, tile, &target, 1, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "50"));
    ks_gpu_ruler_destroy(ruler);
    ks_gpu_tile_destroy(tile);
    check_silence(l);
}

static void a_device_that_sums_wrongly_gets_no_ruler(void **state)
{
    (void)state;
    struct listening l;
    open_listening(&l, &(struct ks_gpu_testing){.no_self_test = true});
    ks_gpu_inject(l.gpu, KS_GPU_FAULT_ANSWER, 0);
    struct ks_error err = {0};
    assert_int_equal(ks_gpu_ruler_self_test(l.gpu, &err), -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "computes wrongly"));
    assert_int_equal(ks_gpu_ruler_self_test(l.gpu, &err), 0);
    close_listening(&l);
}

static void failures_in_the_middle_are_errors(void **state)
{
    (void)state;
    static const enum ks_gpu_fault faults[] = {KS_GPU_FAULT_ALLOCATION, KS_GPU_FAULT_SUBMIT,
                                               KS_GPU_FAULT_LOST};
    for (size_t f = 0; f < COUNT(faults); f++) {
        struct listening l;
        open_listening(&l, &(struct ks_gpu_testing){.no_self_test = true});
        struct ks_error err = {0};
        for (unsigned after = 0;; after++) {
            ks_gpu_inject(l.gpu, faults[f], after);
            if (ks_gpu_ruler_self_test(l.gpu, &err) == 0)
                break;
            assert_true(err.code == KS_NO_MEMORY || err.code == KS_SYSTEM);
            assert_true(after < 40);
            if (ks_gpu_lost(l.gpu))
                break;
        }
        close_listening(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_the_twins_to_the_bit),
        cmocka_unit_test(equal_rows_have_sums_of_exactly_zero),
        cmocka_unit_test(neither_company_nor_cuts_move_a_bit),
        cmocka_unit_test(what_f32_cannot_hold_is_flagged),
        cmocka_unit_test(a_row_of_nothing_has_no_maximum),
        cmocka_unit_test(both_zeros_are_one_and_ties_go_to_the_lowest_index),
        cmocka_unit_test(a_target_beyond_the_vocabulary_is_refused),
        cmocka_unit_test(a_device_that_sums_wrongly_gets_no_ruler),
        cmocka_unit_test(failures_in_the_middle_are_errors),
    };
    return cmocka_run_group_tests(tests, open_once, close_once);
}

/*
 * A device's sums, finished, against the ruler's f64 on the same rows.
 */
#include "tests/testing.h"

#include "engine/head/finish.h"
#include "tests/gpu/listening.h"
#include "tests/gpu/rows.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

#define TOP 10
#define ISA KS_ISA_SCALAR

/* ------------------------------------------------------------------ both ways */

/* By the device and by the CPU. */
struct both {
    struct rows rows;
    int32_t *targets;
    struct ks_ref_row *ref, *ref_cpu;
    struct ks_arm_row *arm, *arm_cpu;
    size_t redone; /* arm's rows that were read back */
};

static struct both make_both(size_t m, size_t n)
{
    struct both b = {.rows = make_rows(m, n)};
    b.targets = needed(calloc(m, sizeof *b.targets));
    b.ref = needed(calloc(m, sizeof *b.ref));
    b.ref_cpu = needed(calloc(m, sizeof *b.ref));
    b.arm = needed(calloc(m, sizeof *b.arm));
    b.arm_cpu = needed(calloc(m, sizeof *b.arm));
    return b;
}

static void free_both(struct both *b)
{
    free_rows(&b->rows);
    free(b->targets);
    free(b->ref);
    free(b->ref_cpu);
    free(b->arm);
    free(b->arm_cpu);
}

static int read_row(void *ctx, bool arm, size_t position, float *row, struct ks_error *err)
{
    (void)err;
    struct both *b = ctx;
    const struct rows *r = &b->rows;
    b->redone += arm;
    memcpy(row, (arm ? r->arm : r->reference) + position * r->n, r->n * sizeof *row);
    return 0;
}

static void finish(struct both *b)
{
    struct rows *r = &b->rows;
    struct ks_error err = {0};
    struct ks_head_measure measure = {ISA, r->n, TOP, b->targets};
    struct ks_head_reader reader = {read_row, b};
    if (ks_head_finish_references(&measure, &reader, r->ref_rows, r->m, b->ref, &err) != 0 ||
        ks_head_finish(&measure, &reader, r->ref_rows, b->ref, r->arm_rows, r->m, b->arm, &err) !=
            0)
        fail_msg("%s", err.text);
}

static void measure_both(struct both *b, struct ks_gpu *gpu)
{
    struct rows *r = &b->rows;
    struct ks_error err = {0};
    for (size_t i = 0; i < r->m; i++)
        b->targets[i] = (int32_t)r->targets[i];
    measure_rows(r, gpu, TOP);
    finish(b);
    for (size_t i = 0; i < r->m; i++) {
        const float *reference = r->reference + i * r->n, *arm = r->arm + i * r->n;
        if (ks_ruler_reference(ISA, reference, r->n, b->targets[i], TOP, &b->ref_cpu[i], &err) ||
            ks_ruler_arm(ISA, reference, r->n, &b->ref_cpu[i], arm, r->n, b->targets[i], TOP,
                         &b->arm_cpu[i], &err))
            fail_msg("%s", err.text);
    }
}

/* ------------------------------------------------------------------ accuracy */

static bool near(double got, double want, double relative, double absolute)
{
    return got == want || fabs(got - want) <= relative * fabs(want) + absolute;
}

static void check_position(const struct both *b, size_t i, enum kind kind)
{
    const struct ks_ref_row *ref = &b->ref[i], *ref_cpu = &b->ref_cpu[i];
    const struct ks_arm_row *arm = &b->arm[i], *arm_cpu = &b->arm_cpu[i];
    const char *name = kind_names[kind];
    if (!near(ref->lse, ref_cpu->lse, 0, 3e-7) || !near(ref->logprob, ref_cpu->logprob, 0, 3e-7) ||
        !near(ref->entropy, ref_cpu->entropy, 1e-6, 1e-6))
        fail_msg("%s row of %zu: ln sum %.9g, target %.9g, entropy %.9g, not %.9g, %.9g, %.9g",
                 name, b->rows.n, ref->lse, ref->logprob, ref->entropy, ref_cpu->lse,
                 ref_cpu->logprob, ref_cpu->entropy);
    assert_true(ref->max == ref_cpu->max && ref->rank == ref_cpu->rank);
    assert_int_equal(ref->n_top, ref_cpu->n_top);
    assert_memory_equal(ref->top, ref_cpu->top, sizeof ref->top);
    if (!near(arm->kld, arm_cpu->kld, 1e-6, 1e-12) ||
        !near(arm->reverse, arm_cpu->reverse, 1e-6, 1e-12) ||
        !near(arm->logprob, arm_cpu->logprob, 0, 3e-7))
        fail_msg("%s row of %zu: KLD %.12g, reverse %.12g, target %.9g, not %.12g, %.12g, %.9g",
                 name, b->rows.n, arm->kld, arm->reverse, arm->logprob, arm_cpu->kld,
                 arm_cpu->reverse, arm_cpu->logprob);
    assert_int_equal(arm->rank, arm_cpu->rank);
    assert_int_equal(arm->overlap, arm_cpu->overlap);
    assert_int_equal(arm->top1, arm_cpu->top1);
}

/* How many positions the CPU had to measure. */
static size_t check_width(struct ks_gpu *gpu, size_t n, enum kind kind, uint64_t *seed)
{
    static const double apart[] = {1e-5, 1e-3, 0.03, 0.3, 1, 3, 5};
    struct both b = make_both(COUNT(apart), n);
    for (size_t i = 0; i < COUNT(apart); i++) {
        fill_row(kind, n, apart[i], seed, b.rows.reference + i * n, b.rows.arm + i * n);
        b.rows.targets[i] = (uint32_t)ks_random_below(seed, n);
    }
    measure_both(&b, gpu);
    for (size_t i = 0; i < COUNT(apart); i++)
        check_position(&b, i, kind);
    size_t redone = b.redone;
    free_both(&b);
    return redone;
}

static void rows_of_every_kind_and_width_are_measured_as_in_f64(void **state)
{
    struct listening *l = *state;
    uint64_t seed = 17;
    size_t redone = 0;
    static const size_t widths[] = {1, 2, 3, 17, 255, 1021, 5000};
    for (size_t w = 0; w < COUNT(widths); w++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            redone += check_width(l->gpu, widths[w], kind, &seed);
    for (int i = 0; i < 20; i++)
        redone += check_width(l->gpu, 1 + (size_t)ks_random_below(&seed, 5000),
                              (enum kind)ks_random_below(&seed, KINDS), &seed);
    assert_true(redone <= 10); /* of 483 */
    check_silence(l);
}

static void a_vocabulary_of_151936_is_measured_as_in_f64(void **state)
{
    struct listening *l = *state;
    static const double apart[] = {4e-5, 0.05, 6.5};
    uint64_t seed = 1;
    struct both b = make_both(COUNT(apart), 151936);
    for (size_t i = 0; i < COUNT(apart); i++) {
        fill_row(PLAIN, b.rows.n, apart[i], &seed, b.rows.reference + i * b.rows.n,
                 b.rows.arm + i * b.rows.n);
        b.rows.targets[i] = (uint32_t)(151935 - 70000 * i);
    }
    measure_both(&b, l->gpu);
    assert_true(b.arm_cpu[0].kld < 1e-9 && b.arm_cpu[2].kld > 13);
    for (size_t i = 0; i < COUNT(apart); i++)
        check_position(&b, i, PLAIN);
    assert_int_equal(b.redone, 0);
    free_both(&b);
    check_silence(l);
}

/* Far apart by a constant, which is nothing to a distribution. */
static void a_constant_between_rows_costs_no_accuracy(void **state)
{
    struct listening *l = *state;
    static const float between[] = {800, -37.7f, 4096};
    uint64_t seed = 77;
    struct both b = make_both(COUNT(between), 3000);
    for (size_t i = 0; i < COUNT(between); i++) {
        float *arm = b.rows.arm + i * b.rows.n;
        fill_row(PLAIN, b.rows.n, 0.02, &seed, b.rows.reference + i * b.rows.n, arm);
        for (size_t k = 0; k < b.rows.n; k++)
            arm[k] += between[i];
    }
    measure_both(&b, l->gpu);
    for (size_t i = 0; i < COUNT(between); i++)
        check_position(&b, i, PLAIN);
    assert_int_equal(b.redone, 0);
    free_both(&b);
    check_silence(l);
}

static void an_identical_arm_is_exactly_0_apart(void **state)
{
    struct listening *l = *state;
    uint64_t seed = 4;
    struct both b = make_both(KINDS, 4999);
    for (size_t i = 0; i < KINDS; i++) {
        fill_row((enum kind)i, b.rows.n, 0, &seed, b.rows.reference + i * b.rows.n,
                 b.rows.arm + i * b.rows.n);
        b.rows.targets[i] = (uint32_t)ks_random_below(&seed, b.rows.n);
    }
    measure_both(&b, l->gpu);
    for (size_t i = 0; i < KINDS; i++) {
        assert_true(b.arm[i].measurement && b.arm[i].top1);
        assert_true(b.arm[i].kld == 0 && b.arm[i].reverse == 0);
        assert_memory_equal(&b.arm[i].logprob, &b.ref[i].logprob, sizeof b.arm[i].logprob);
        assert_int_equal(b.arm[i].overlap, TOP);
        assert_int_equal(b.arm[i].rank, b.ref[i].rank);
    }
    assert_int_equal(b.redone, 0);
    free_both(&b);
    check_silence(l);
}

/* ------------------------------------------------------------------ what the CPU does again */

/* A row's index 100 set, the last so far up that f32 has no sixteenths there; 8 and 9 are
 * ill-conditioned: all of the arm is off but the top, by as much; everything but the top fell by
 * 20. */
static void spoil(size_t c, size_t n, float *reference, float *arm)
{
    static const float values[][2] = {{NAN, 0},       {0, NAN},       {INFINITY, 0}, {0, INFINITY},
                                      {0, -INFINITY}, {-INFINITY, 0}, {0, 95},       {4e4f, 39990}};
    if (c < COUNT(values)) {
        reference[100] = values[c][0];
        arm[100] = values[c][1];
        return;
    }
    for (size_t k = 0; k < n; k++) {
        reference[k] = k < 20 ? 1.0f : 0.875f;
        arm[k] = reference[k] - (k < 20 ? 0.0f : c == 8 ? 0.1f : 20.0f);
    }
}

#define SPOILED 10

static void what_f32_cannot_hold_is_measured_again_by_the_cpu(void **state)
{
    struct listening *l = *state;
    uint64_t seed = 13;
    struct both b = make_both(SPOILED, 2000);
    for (size_t i = 0; i < SPOILED; i++) {
        float *reference = b.rows.reference + i * b.rows.n, *arm = b.rows.arm + i * b.rows.n;
        fill_row(PLAIN, b.rows.n, 0.1, &seed, reference, arm);
        spoil(i, b.rows.n, reference, arm);
    }
    measure_both(&b, l->gpu);
    for (size_t i = 0; i < SPOILED; i++)
        assert_int_equal(b.arm[i].measurement, i >= 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(b.ref[i].measurement, b.ref_cpu[i].measurement);
        assert_true(isnan(b.arm[i].kld) && isnan(b.arm[i].logprob) && b.arm[i].overlap == 0);
    }
    assert_true(b.arm[4].kld == INFINITY && b.arm[5].reverse == INFINITY);
    for (size_t i = 4; i < SPOILED; i++)
        assert_memory_equal(&b.arm[i], &b.arm_cpu[i], sizeof b.arm[i]);
    assert_memory_equal(&b.ref[7], &b.ref_cpu[7], sizeof b.ref[7]);
    assert_int_equal(b.redone, SPOILED - 4);
    free_both(&b);
    check_silence(l);
}

static int refuse_row(void *ctx, bool arm, size_t position, float *row, struct ks_error *err)
{
    (void)ctx, (void)arm, (void)row;
    return ks_fail(err, KS_SYSTEM, "row %zu is gone", position);
}

static void a_row_that_cannot_be_read_back_is_an_error(void **state)
{
    struct listening *l = *state;
    uint64_t seed = 15;
    struct both b = make_both(2, 500);
    for (size_t i = 0; i < 2; i++)
        fill_row(PLAIN, 500, 0.1, &seed, b.rows.reference + i * 500, b.rows.arm + i * 500);
    spoil(4, 500, b.rows.reference + 500, b.rows.arm + 500);
    measure_both(&b, l->gpu);
    struct ks_error err = {0};
    struct ks_head_measure measure = {ISA, 500, TOP, b.targets};
    struct ks_head_reader reader = {refuse_row, NULL};
    assert_int_equal(
        ks_head_finish(&measure, &reader, b.rows.ref_rows, b.ref, b.rows.arm_rows, 2, b.arm, &err),
        -1);
    assert_string_equal(err.text, "row 1 is gone");
    free_both(&b);
    check_silence(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_kind_and_width_are_measured_as_in_f64),
        cmocka_unit_test(a_vocabulary_of_151936_is_measured_as_in_f64),
        cmocka_unit_test(a_constant_between_rows_costs_no_accuracy),
        cmocka_unit_test(an_identical_arm_is_exactly_0_apart),
        cmocka_unit_test(what_f32_cannot_hold_is_measured_again_by_the_cpu),
        cmocka_unit_test(a_row_that_cannot_be_read_back_is_an_error),
    };
    return cmocka_run_group_tests(tests, open_once, close_once);
}

/*
 * Comparisons on their way through a device: what comes back must not depend on how many there are.
 */
#include "tests/testing.h"

#include "engine/head/queue.h"
#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

#define VOCAB     700
#define COLS      64
#define POSITIONS 70
#define TOP       10
#define WINDOWS   3
#define ARMS      3
#define APART     100 /* windows, in positions of the activations */
#define ISA       KS_ISA_SCALAR

/* Heads of a reference and of arms, and what each window's residuals are. */
struct fixture {
    struct listening l;
    struct product heads[1 + ARMS];
    int32_t targets[WINDOWS][POSITIONS];
};

/* The last arm's head is of another kind altogether; the others are the reference's, and so equal
 * it where they get its residuals. */
static void open_fixture(struct fixture *f, const struct ks_gpu_testing *testing)
{
    open_listening(&f->l, testing);
    for (size_t i = 0; i <= ARMS; i++) {
        f->heads[i] = make_product(i == ARMS ? KS_GPU_I4 : KS_GPU_I8, VOCAB, COLS);
        upload(&f->heads[i], f->l.gpu);
    }
    for (size_t i = 0; i < (WINDOWS - 1) * APART * COLS; i++)
        f->heads[0].x[i] *= 1e-3f;
    for (size_t w = 0; w < WINDOWS; w++)
        for (size_t p = 0; p < POSITIONS; p++)
            f->targets[w][p] = (int32_t)((w * 31 + p * 17) % VOCAB);
}

static void close_fixture(struct fixture *f)
{
    for (size_t i = 0; i <= ARMS; i++)
        free_product(&f->heads[i]);
    close_listening(&f->l);
}

/* Windows have as many positions as they like. */
static size_t positions_of(size_t window)
{
    return window == 1 ? 5 : POSITIONS;
}

static const float *residuals(const struct fixture *f, size_t window, size_t arm)
{
    return f->heads[0].x + (window * APART + arm) * COLS;
}

struct results {
    struct ks_ref_row ref[WINDOWS][POSITIONS];
    struct ks_arm_row arms[WINDOWS][ARMS][POSITIONS];
};

static struct ks_head_queue *make_queue(struct fixture *f)
{
    struct ks_error err = {0};
    struct ks_head_queue *q = ks_head_queue_create(f->l.gpu, POSITIONS, VOCAB, TOP, ISA, &err);
    if (!q)
        fail_msg("%s", err.text);
    return q;
}

static void queue_reference(struct fixture *f, struct ks_head_queue *q, size_t w, struct results *r)
{
    struct ks_error err = {0};
    if (ks_head_queue_reference(q, f->heads[0].w, KS_GPU_MANY, residuals(f, w, 0), f->targets[w],
                                positions_of(w), r->ref[w], &err))
        fail_msg("%s", err.text);
}

static void queue_arm(struct fixture *f, struct ks_head_queue *q, size_t w, size_t a,
                      struct results *r)
{
    struct ks_error err = {0};
    if (ks_head_queue_arm(q, f->heads[1 + a].w, KS_GPU_MANY, residuals(f, w, a), r->arms[w][a],
                          &err))
        fail_msg("%s", err.text);
}

static void finish(struct ks_head_queue *q)
{
    struct ks_error err = {0};
    if (ks_head_queue_finish(q, &err))
        fail_msg("%s", err.text);
}

/* Each comparison by itself. */
static struct results *measure_singly(struct fixture *f)
{
    struct results *r = must(calloc(1, sizeof *r));
    struct ks_head_queue *q = make_queue(f);
    for (size_t w = 0; w < WINDOWS; w++)
        for (size_t a = 0; a < ARMS; a++) {
            queue_reference(f, q, w, r);
            queue_arm(f, q, w, a, r);
            finish(q);
        }
    ks_head_queue_destroy(q);
    return r;
}

static struct results *measure_queued(struct fixture *f, struct ks_head_queue *q)
{
    struct results *r = must(calloc(1, sizeof *r));
    for (size_t w = 0; w < WINDOWS; w++) {
        queue_reference(f, q, w, r);
        for (size_t a = 0; a < ARMS; a++)
            queue_arm(f, q, w, a, r);
    }
    finish(q);
    return r;
}

static void what_is_queued_is_what_is_measured_singly(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, &(struct ks_gpu_testing){.no_self_test = true});
    struct results *singly = measure_singly(&f);
    struct ks_head_queue *q = make_queue(&f);
    struct results *queued = measure_queued(&f, q);
    assert_memory_equal(queued, singly, sizeof *queued);
    for (size_t w = 0; w < WINDOWS; w++)
        for (size_t p = 0; p < positions_of(w); p++) {
            assert_true(queued->ref[w][p].measurement);
            assert_true(queued->arms[w][0][p].kld == 0 && queued->arms[w][0][p].reverse == 0);
            assert_true(w == WINDOWS - 1 || queued->arms[w][1][p].kld > 0);
            assert_true(w == WINDOWS - 1 || queued->arms[w][2][p].kld > 0);
        }
    ks_head_queue_destroy(q);
    free(singly);
    free(queued);
    close_fixture(&f);
}

/* Whichever allocation fails, there is no queue or one that measures the same: without the second
 * pair of logits it has a comparison at a time. */
static void a_device_short_of_memory_measures_one_at_a_time(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, &(struct ks_gpu_testing){.no_self_test = true});
    struct results *singly = measure_singly(&f);
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned after = 0; after < 20; after++) {
        struct ks_error err = {0};
        ks_gpu_inject(f.l.gpu, KS_GPU_FAULT_ALLOCATION, after);
        struct ks_head_queue *q = ks_head_queue_create(f.l.gpu, POSITIONS, VOCAB, TOP, ISA, &err);
        ks_gpu_inject(f.l.gpu, KS_GPU_FAULT_NONE, 0);
        if (!q) {
            assert_int_equal(err.code, KS_NO_MEMORY);
            continue;
        }
        uint64_t bytes = ks_head_queue_bytes(q);
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
        struct results *queued = measure_queued(&f, q);
        assert_memory_equal(queued, singly, sizeof *queued);
        free(queued);
        ks_head_queue_destroy(q);
    }
    assert_int_equal(most, 2 * least);
    free(singly);
    close_fixture(&f);
}

static void a_reference_without_arms_is_measured_all_the_same(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, &(struct ks_gpu_testing){.no_self_test = true});
    struct results *singly = measure_singly(&f), *r = must(calloc(1, sizeof *r));
    struct ks_head_queue *q = make_queue(&f);
    struct ks_error err = {0};
    for (size_t w = 0; w < WINDOWS; w++)
        queue_reference(&f, q, w, r);
    assert_int_equal(ks_head_queue_arm(q, NULL, KS_GPU_MANY, NULL, r->arms[0][0], &err), 0);
    finish(q);
    assert_memory_equal(r->ref, singly->ref, sizeof r->ref);
    for (size_t p = 0; p < positions_of(WINDOWS - 1); p++)
        assert_true(r->arms[0][0][p].kld == 0 && r->arms[0][0][p].top1);
    ks_head_queue_destroy(q);
    free(singly);
    free(r);
    close_fixture(&f);
}

static void logits_are_read_once_all_is_finished(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, &(struct ks_gpu_testing){.no_self_test = true});
    struct results *r = must(calloc(1, sizeof *r));
    struct ks_head_queue *q = make_queue(&f);
    struct ks_error err = {0};
    float *logits = must(malloc(POSITIONS * VOCAB * sizeof *logits));
    queue_reference(&f, q, 0, r);
    queue_arm(&f, q, 0, 1, r);
    assert_int_equal(ks_head_queue_read(q, POSITIONS, logits, &err), 0);
    assert_true(r->ref[0][0].measurement && r->arms[0][1][0].measurement);
    for (size_t row = 0; row < VOCAB; row += 37)
        assert_true(error_of_row(&f.heads[0], logits, POSITIONS, row) <= 1e-5);
    free(logits);
    free(r);
    ks_head_queue_destroy(q);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_queued_is_what_is_measured_singly),
        cmocka_unit_test(a_device_short_of_memory_measures_one_at_a_time),
        cmocka_unit_test(a_reference_without_arms_is_measured_all_the_same),
        cmocka_unit_test(logits_are_read_once_all_is_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

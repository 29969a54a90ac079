/*
 * Heads on a device: a software one, so that the tests run anywhere. What the device makes must be
 * what the CPU makes, within f32 sums; what it fails to make, the CPU makes again.
 */
#include "tests/testing.h"

#include <math.h>

#include "tests/engine/run/plans.h"
#include "tests/gpu/listening.h"

#define DEVICE "llvmpipe"

/* The device that the run opened, to make it fail later. */
static struct ks_gpu_testing testing;
static struct listening listening;

struct ks_gpu *__wrap_ks_gpu_open(const char *which, struct ks_error *err);

struct ks_gpu *__wrap_ks_gpu_open(const char *which, struct ks_error *err)
{
    listening.gpu = ks_gpu_open_testing(which, &testing, err);
    pin_libraries();
    return listening.gpu;
}

static struct ks_plan *plan_with_head(enum ks_head_choice head, const char *device)
{
    struct ks_plan *plan = make_plan(2, 64);
    add_usual_arms(plan);
    plan->head = head;
    if (device)
        set(&plan->device, device);
    return plan;
}

static int reset(void **state)
{
    (void)state;
    listening = (struct listening){0};
    testing = (struct ks_gpu_testing){.cache_folder = "", .message = heard, .ctx = &listening};
    return 0;
}

/* The layers have nothing to say of what a run does to the device. */
static int silence(void **state)
{
    (void)state;
    check_silence(&listening);
    return 0;
}

static bool log_has(const struct ks_snapshot *s, const char *words)
{
    for (size_t i = 0; i < s->n_log; i++)
        if (strstr(s->log[i].text, words))
            return true;
    return false;
}

static void assert_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-5 * fabs(wanted) + 1e-12))
        fail_msg("%.17g is not near %.17g", found, wanted);
}

static void the_device_measures_what_the_cpu_measures(void **state)
{
    (void)state;
    const struct ks_snapshot *cpu = run_to_end(plan_with_head(KS_HEAD_CPU, NULL));
    const struct ks_snapshot *gpu = run_to_end(plan_with_head(KS_HEAD_VULKAN, DEVICE));
    assert_string_equal(cpu->facts->backend_head, "cpu");
    assert_non_null(strstr(gpu->facts->backend_head, DEVICE));
    assert_int_equal(gpu->windows_on_cpu, 0);
    assert_near(gpu->reference.ppl_ref, cpu->reference.ppl_ref);
    for (size_t i = 0; i < cpu->facts->n_arms; i++) {
        const struct ks_numbers *a = &gpu->arms[i].numbers, *b = &cpu->arms[i].numbers;
        assert_int_equal(a->n, b->n);
        assert_near(a->kld_mean, b->kld_mean);
        assert_near(a->kld_reverse_mean, b->kld_reverse_mean);
        assert_near(a->ppl_arm, b->ppl_arm);
        assert_true(a->top1_agreement == b->top1_agreement);
        assert_true(a->topk_overlap == b->topk_overlap);
    }
    ks_snapshot_release(cpu);
    ks_snapshot_release(gpu);
}

static void an_unchanged_arm_is_exactly_zero_on_the_device(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_with_head(KS_HEAD_VULKAN, DEVICE));
    const struct ks_numbers *same = &s->arms[0].numbers;
    assert_true(same->kld_mean == 0 && same->kld_max == 0 && same->kld_reverse_mean == 0);
    assert_true(same->top1_agreement == 1 && same->topk_overlap == 1);
    assert_true(same->ppl_arm == same->ppl_ref && same->delta_p_rms == 0);
    ks_snapshot_release(s);
}

static void threads_never_move_a_bit_beside_the_device(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_with_head(KS_HEAD_VULKAN, DEVICE);
    plan->threads = 1;
    const struct ks_snapshot *one = run_to_end(plan);
    plan = plan_with_head(KS_HEAD_VULKAN, DEVICE);
    plan->threads = 3;
    const struct ks_snapshot *three = run_to_end(plan);
    assert_same_results(one, three);
    ks_snapshot_release(one);
    ks_snapshot_release(three);
}

static void automatic_never_takes_a_cpu_for_a_gpu(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_with_head(KS_HEAD_AUTO, NULL));
    assert_string_equal(s->facts->backend_head, "cpu");
    assert_true(strlen(s->facts->head_note) > 0);
    ks_snapshot_release(s);
}

static void a_device_that_is_not_there_is_no_error(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_with_head(KS_HEAD_VULKAN, "no such device"));
    assert_int_equal(s->state, KS_RUN_DONE);
    assert_string_equal(s->facts->backend_head, "cpu");
    assert_true(log_has(s, "no such device"));
    ks_snapshot_release(s);
}

static void fault_at_start(enum ks_gpu_fault fault)
{
    testing.fault = fault;
    const struct ks_snapshot *cpu = run_to_end(plan_with_head(KS_HEAD_CPU, NULL));
    const struct ks_snapshot *s = run_to_end(plan_with_head(KS_HEAD_VULKAN, DEVICE));
    assert_string_equal(s->facts->backend_head, "cpu");
    assert_true(log_has(s, "heads on the cpu"));
    assert_same_results(cpu, s);
    ks_snapshot_release(cpu);
    ks_snapshot_release(s);
}

static void a_device_that_fails_at_the_start_is_not_taken(void **state)
{
    (void)state;
    fault_at_start(KS_GPU_FAULT_ALLOCATION);
    fault_at_start(KS_GPU_FAULT_SUBMIT);
    fault_at_start(KS_GPU_FAULT_LOST);
}

static void a_device_that_computes_wrong_is_not_taken(void **state)
{
    (void)state;
    fault_at_start(KS_GPU_FAULT_ANSWER);
}

/* ------------------------------------------------------------------ failures on the way */

static enum ks_gpu_fault fault_later;

static void break_device(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    (void)ctx;
    (void)run;
    if (now->windows == 2)
        ks_gpu_inject(listening.gpu, fault_later, 0);
}

static void fault_on_the_way(enum ks_gpu_fault fault)
{
    fault_later = fault;
    const struct ks_snapshot *cpu = run_to_end(plan_with_head(KS_HEAD_CPU, NULL));
    struct ks_plan *plan = plan_with_head(KS_HEAD_VULKAN, DEVICE);
    plan->hooks = (struct ks_hooks){.on_window = break_device};
    const struct ks_snapshot *s = run_to_end(plan);
    assert_int_equal(s->state, KS_RUN_DONE);
    assert_int_equal(s->positions, cpu->positions);
    assert_true(s->windows_on_cpu > 0 && s->windows_on_cpu < s->facts->windows);
    assert_true(log_has(s, "is done again on the cpu"));
    for (size_t i = 0; i < cpu->facts->n_arms; i++)
        assert_near(s->arms[i].numbers.kld_mean, cpu->arms[i].numbers.kld_mean);
    assert_true(s->arms[0].numbers.kld_max == 0);
    ks_snapshot_release(cpu);
    ks_snapshot_release(s);
}

static void a_device_that_fails_on_the_way_loses_nothing(void **state)
{
    (void)state;
    fault_on_the_way(KS_GPU_FAULT_SUBMIT);
    fault_on_the_way(KS_GPU_FAULT_LOST);
}

/* Pins the driver before a run of whose opening nothing is left. */
static int pin_driver(void **state)
{
    (void)state;
    struct ks_error err;
    try_listening(&listening, NULL, &err);
    ks_gpu_close(listening.gpu);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_device_measures_what_the_cpu_measures, reset, silence),
        cmocka_unit_test_setup_teardown(an_unchanged_arm_is_exactly_zero_on_the_device, reset,
                                        silence),
        cmocka_unit_test_setup_teardown(threads_never_move_a_bit_beside_the_device, reset, silence),
        cmocka_unit_test_setup_teardown(automatic_never_takes_a_cpu_for_a_gpu, reset, silence),
        cmocka_unit_test_setup_teardown(a_device_that_is_not_there_is_no_error, reset, silence),
        cmocka_unit_test_setup_teardown(a_device_that_fails_at_the_start_is_not_taken, reset,
                                        silence),
        cmocka_unit_test_setup_teardown(a_device_that_computes_wrong_is_not_taken, reset, silence),
        cmocka_unit_test_setup_teardown(a_device_that_fails_on_the_way_loses_nothing, reset,
                                        silence),
    };
    write_corpus();
    int failed = cmocka_run_group_tests(tests, pin_driver, NULL);
    unlink(corpus_path);
    return failed;
}

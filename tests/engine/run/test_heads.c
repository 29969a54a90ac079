/*
 * Heads on a device: a software one, so that the tests run anywhere. What the device makes must be
 * what the CPU makes, within f32 sums; what it fails to make, the CPU makes again.
 */
#include "tests/testing.h"

#include <math.h>

#include "tests/engine/run/plans.h"
#include "tests/gpu/listening.h"

/* The device that the run opened last, to make it fail later. */
static struct ks_gpu_testing testing;
static struct listening listening;
static int opened;

struct ks_gpu *__wrap_ks_gpu_open(const char *which, struct ks_error *err);

struct ks_gpu *__wrap_ks_gpu_open(const char *which, struct ks_error *err)
{
    opened++;
    listening.gpu = ks_gpu_open_testing(which, &testing, err);
    pin_libraries();
    return listening.gpu;
}

static struct ks_plan *plan_with_head(enum ks_head_choice head, const char *device)
{
    struct ks_plan *plan = make_plan(2, 64);
    add_usual_arms(plan);
    add_arm(plan, "rounded", "attn_|^output\\.", "Q8_0");
    plan->arms[plan->n_arms - 1].activations = KS_ACTIVATIONS_Q8;
    plan->head = head;
    if (device)
        set(&plan->device, device);
    return plan;
}

static struct ks_plan *plan_on_device(void)
{
    return plan_with_head(KS_HEAD_VULKAN, test_device());
}

static int reset(void **state)
{
    (void)state;
    listening = (struct listening){0};
    testing = (struct ks_gpu_testing){.cache_folder = "", .ctx = &listening};
    testing.message = getenv("KS_TEST_GPU_DEAF") ? NULL : heard;
    opened = 0;
    return 0;
}

/* The layers have nothing to say of what a run does to the device. */
static int silence(void **state)
{
    (void)state;
    check_silence(&listening);
    return 0;
}

static void assert_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-5 * fabs(wanted) + 1e-12))
        fail_msg("%.17g is not near %.17g", found, wanted);
}

static void assert_near_the_cpu(const struct ks_snapshot *gpu, const struct ks_snapshot *cpu)
{
    assert_int_equal(gpu->state, KS_RUN_DONE);
    assert_int_equal(gpu->positions, cpu->positions);
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
}

static void assert_unchanged(const struct ks_numbers *same)
{
    assert_true(same->kld_mean == 0 && same->kld_max == 0 && same->kld_reverse_mean == 0);
    assert_true(same->top1_agreement == 1 && same->topk_overlap == 1);
    assert_true(same->ppl_arm == same->ppl_ref && same->delta_p_rms == 0);
}

static void every_path_measures_what_the_cpu_measures(void **state)
{
    (void)state;
    static const char *const names[] = {
        [KS_HEAD_PATH_FEW] = "(few rows)",
        [KS_HEAD_PATH_MANY] = "(many rows)",
        [KS_HEAD_PATH_MATRIX] = "(matrix cores)",
    };
    const struct ks_snapshot *cpu = run_to_end(plan_with_head(KS_HEAD_CPU, NULL));
    assert_string_equal(cpu->facts->backend_head, "cpu");
    for (enum ks_head_path path = KS_HEAD_PATH_AUTO; path <= KS_HEAD_PATH_MATRIX; path++) {
        struct ks_plan *plan = plan_on_device();
        plan->head_path = path;
        const struct ks_snapshot *gpu = run_to_end(plan);
        bool lacks = path == KS_HEAD_PATH_MATRIX && strcmp(gpu->facts->backend_head, "cpu") == 0;
        if (lacks)
            assert_non_null(strstr(gpu->facts->head_note, "there are no matrix cores"));
        else
            assert_non_null(strstr(gpu->facts->backend_head, "vulkan "));
        if (names[path] && !lacks)
            assert_non_null(strstr(gpu->facts->backend_head, names[path]));
        assert_int_equal(gpu->windows_on_cpu, 0);
        assert_near_the_cpu(gpu, cpu);
        assert_unchanged(&gpu->arms[0].numbers);
        ks_snapshot_release(gpu);
    }
    ks_snapshot_release(cpu);
}

static void threads_never_move_a_bit_beside_the_device(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_on_device();
    plan->threads = 1;
    const struct ks_snapshot *one = run_to_end(plan);
    plan = plan_on_device();
    plan->threads = 3;
    const struct ks_snapshot *three = run_to_end(plan);
    assert_same_results(one, three);
    ks_snapshot_release(one);
    ks_snapshot_release(three);
}

static void so_little_to_multiply_is_not_worth_a_device(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_with_head(KS_HEAD_AUTO, NULL));
    assert_string_equal(s->facts->backend_head, "cpu");
    assert_true(log_has(s, "too little to multiply"));
    assert_int_equal(opened, 0);
    ks_snapshot_release(s);
}

/* A device that is named is tried however little there is to do, and still has to be faster. */
static void automatic_takes_what_is_faster(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_with_head(KS_HEAD_AUTO, test_device()));
    assert_int_equal(opened, 1);
    assert_true(s->facts->head_gain > 0);
    bool taken = strstr(s->facts->backend_head, "vulkan ") != NULL;
    assert_int_equal(taken, s->facts->head_gain >= 1);
    if (!taken)
        assert_true(log_has(s, "slower here"));
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

/* Rows of different backends are no comparison, so one such head leaves them all to the CPU. */
static void a_head_that_no_shader_reads_leaves_all_to_the_cpu(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_on_device();
    add_arm(plan, "odd", "^output\\.", "NVFP4");
    const struct ks_snapshot *s = run_to_end(plan);
    assert_int_equal(s->state, KS_RUN_DONE);
    assert_string_equal(s->facts->backend_head, "cpu");
    assert_non_null(strstr(s->facts->head_note, "odd: no GPU shader reads NVFP4"));
    assert_int_equal(s->windows_on_cpu, 0);
    ks_snapshot_release(s);
}

static void fault_at_start(enum ks_gpu_fault fault)
{
    testing.fault = fault;
    const struct ks_snapshot *cpu = run_to_end(plan_with_head(KS_HEAD_CPU, NULL));
    const struct ks_snapshot *s = run_to_end(plan_on_device());
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

/* After window 2, every device that does not have it yet, so many of them, gets the fault. */
static struct {
    enum ks_gpu_fault fault;
    int devices;
    struct ks_gpu *broken;
} later;

static void break_device(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    (void)ctx;
    (void)run;
    if (now->windows < 2 || later.devices == 0 || listening.gpu == later.broken)
        return;
    later.devices--;
    later.broken = listening.gpu;
    ks_gpu_inject(listening.gpu, later.fault, 0);
}

/* A run on as many devices that break; the numbers stay the CPU's, whoever made them. */
static const struct ks_snapshot *run_and_break(enum ks_gpu_fault fault, int devices)
{
    later.fault = fault;
    later.devices = devices;
    later.broken = NULL;
    opened = 0;
    const struct ks_snapshot *cpu = run_to_end(plan_with_head(KS_HEAD_CPU, NULL));
    struct ks_plan *plan = plan_on_device();
    plan->hooks = (struct ks_hooks){.on_window = break_device};
    const struct ks_snapshot *s = run_to_end(plan);
    assert_near_the_cpu(s, cpu);
    assert_unchanged(&s->arms[0].numbers);
    assert_true(s->windows_on_cpu > 0 && s->windows_on_cpu < s->facts->windows);
    assert_true(log_has(s, "done again on the cpu"));
    assert_non_null(strstr(s->facts->backend_head, "vulkan "));
    ks_snapshot_release(cpu);
    return s;
}

static void a_device_that_fails_once_is_opened_anew_and_goes_on(void **state)
{
    (void)state;
    static const enum ks_gpu_fault faults[] = {KS_GPU_FAULT_SUBMIT, KS_GPU_FAULT_LOST};
    for (size_t i = 0; i < 2; i++) {
        const struct ks_snapshot *s = run_and_break(faults[i], 1);
        assert_int_equal(opened, 2);
        assert_true(log_has(s, "was opened anew"));
        assert_false(log_has(s, "is given up"));
        ks_snapshot_release(s);
    }
}

static void a_device_that_is_lost_twice_is_given_up(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_and_break(KS_GPU_FAULT_LOST, 2);
    assert_int_equal(opened, 2);
    assert_true(log_has(s, "was opened anew"));
    assert_true(log_has(s, "is given up"));
    ks_snapshot_release(s);
}

static void spoil_later_devices(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    break_device(ctx, run, now);
    testing.fault = KS_GPU_FAULT_ANSWER;
}

static void a_device_that_comes_back_has_to_prove_itself(void **state)
{
    (void)state;
    later.fault = KS_GPU_FAULT_LOST;
    later.devices = 1;
    later.broken = NULL;
    struct ks_plan *plan = plan_on_device();
    plan->hooks = (struct ks_hooks){.on_window = spoil_later_devices};
    const struct ks_snapshot *s = run_to_end(plan);
    assert_int_equal(opened, 2);
    assert_true(log_has(s, "is given up"));
    assert_true(log_has(s, "computes wrong"));
    assert_unchanged(&s->arms[0].numbers);
    ks_snapshot_release(s);
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
        cmocka_unit_test_setup_teardown(every_path_measures_what_the_cpu_measures, reset, silence),
        cmocka_unit_test_setup_teardown(threads_never_move_a_bit_beside_the_device, reset, silence),
        cmocka_unit_test_setup_teardown(so_little_to_multiply_is_not_worth_a_device, reset,
                                        silence),
        cmocka_unit_test_setup_teardown(automatic_takes_what_is_faster, reset, silence),
        cmocka_unit_test_setup_teardown(a_device_that_is_not_there_is_no_error, reset, silence),
        cmocka_unit_test_setup_teardown(a_head_that_no_shader_reads_leaves_all_to_the_cpu, reset,
                                        silence),
        cmocka_unit_test_setup_teardown(a_device_that_fails_at_the_start_is_not_taken, reset,
                                        silence),
        cmocka_unit_test_setup_teardown(a_device_that_computes_wrong_is_not_taken, reset, silence),
        cmocka_unit_test_setup_teardown(a_device_that_fails_once_is_opened_anew_and_goes_on, reset,
                                        silence),
        cmocka_unit_test_setup_teardown(a_device_that_is_lost_twice_is_given_up, reset, silence),
        cmocka_unit_test_setup_teardown(a_device_that_comes_back_has_to_prove_itself, reset,
                                        silence),
    };
    write_corpus();
    int failed = cmocka_run_group_tests(tests, pin_driver, NULL);
    unlink(corpus_path);
    return failed;
}

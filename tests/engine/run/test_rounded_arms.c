/*
 * Arms whose activations are rounded: what they share with others, and what never moves their
 * numbers.
 */
#include "tests/testing.h"

#include "tests/engine/run/plans.h"

#define MATRICES "attn_|ffn_(up|gate)|^output\\."

static void add_rounded(struct ks_plan *plan, const char *name, const char *regex, const char *type)
{
    add_arm(plan, name, regex, type);
    plan->arms[plan->n_arms - 1].activations = KS_ACTIVATIONS_Q8;
}

/* A few windows: the scalar path takes its time. */
static struct ks_plan *short_plan(int threads)
{
    struct ks_plan *plan = make_plan(threads, 64);
    for (size_t i = 0; i < plan->n_corpora; i++)
        plan->corpora[i].max_tokens = 100;
    return plan;
}

static struct ks_plan *plan_with_rounded(int threads)
{
    struct ks_plan *plan = short_plan(threads);
    add_rounded(plan, "q8_0", MATRICES, "Q8_0");
    add_rounded(plan, "q4_1", MATRICES, "Q4_1");
    add_rounded(plan, "f16", MATRICES, "F16");
    add_arm(plan, "plain", MATRICES, "Q8_0");
    return plan;
}

static void threads_never_move_a_bit_of_rounded_arms(void **state)
{
    (void)state;
    const struct ks_snapshot *one = run_to_end(plan_with_rounded(1));
    const struct ks_snapshot *three = run_to_end(plan_with_rounded(3));
    assert_same_results(one, three);
    ks_snapshot_release(one);
    ks_snapshot_release(three);
}

static void the_isa_never_moves_a_bit_of_rounded_arms(void **state)
{
    (void)state;
    const struct ks_snapshot *best = run_to_end(plan_with_rounded(2));
    setenv("KLDSCOPE_ISA", "scalar", 1);
    const struct ks_snapshot *scalar = run_to_end(plan_with_rounded(2));
    unsetenv("KLDSCOPE_ISA");
    assert_same_results(best, scalar);
    ks_snapshot_release(best);
    ks_snapshot_release(scalar);
}

static void company_never_moves_a_bit_of_a_rounded_arm(void **state)
{
    (void)state;
    const struct ks_snapshot *together = run_to_end(plan_with_rounded(2));
    struct ks_plan *plan = short_plan(2);
    add_rounded(plan, "q4_1", MATRICES, "Q4_1");
    const struct ks_snapshot *alone = run_to_end(plan);
    assert_same_numbers(&together->arms[1].numbers, &alone->arms[0].numbers);
    ks_snapshot_release(together);
    ks_snapshot_release(alone);
}

/* Each has an effect of its own, and 8 bits lose more than halves do. */
static void rounding_is_a_loss_of_its_own(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_with_rounded(2));
    const struct ks_arm_snapshot *q8 = &s->arms[0], *f16 = &s->arms[2], *plain = &s->arms[3];
    assert_true(q8->numbers.kld_mean > plain->numbers.kld_mean);
    assert_true(f16->numbers.kld_mean > 0);
    assert_true(f16->numbers.kld_mean < q8->numbers.kld_mean / 10);
    assert_string_equal(s->facts->arms[0].recipe, "reference + " MATRICES "=Q8_0 + activations q8");
    assert_string_equal(s->facts->arms[3].recipe, "reference + " MATRICES "=Q8_0");
    assert_string_not_equal(s->facts->arms[0].hash, s->facts->arms[3].hash);
    assert_true(s->facts->arms[0].bytes == s->facts->arms[3].bytes);
    ks_snapshot_release(s);
}

/* The model's matrices are F32, before which the kernels that are followed round nothing. */
static void before_f32_weights_nothing_is_lost(void **state)
{
    (void)state;
    struct ks_plan *plan = short_plan(2);
    add_rounded(plan, "same", NULL, NULL);
    const struct ks_snapshot *s = run_to_end(plan);
    assert_true(s->arms[0].numbers.kld_mean == 0 && s->arms[0].numbers.kld_max == 0);
    assert_string_equal(s->facts->arms[0].recipe, "reference + activations q8");
    ks_snapshot_release(s);
}

/* Of two layers: the two that are alike have both in common, and with the plain one neither. */
static void arms_that_round_alike_share_all_and_others_the_embedding(void **state)
{
    (void)state;
    struct ks_plan *plan = short_plan(2);
    add_arm(plan, "plain", "^output\\.", "Q8_0");
    add_rounded(plan, "rounded", "^output\\.", "Q8_0");
    add_rounded(plan, "again", "^output\\.", "Q8_0");
    const struct ks_snapshot *s = run_to_end(plan);
    assert_true(log_has(s, "4 layers a window instead of 8, 3 heads instead of 4"));
    assert_string_equal(s->facts->arms[1].hash, s->facts->arms[2].hash);
    assert_same_numbers(&s->arms[1].numbers, &s->arms[2].numbers);
    ks_snapshot_release(s);
}

static void experts_multiply_rounded_rows_too(void **state)
{
    (void)state;
    struct ks_error err;
    const struct ks_snapshot *all[2];
    for (int i = 0; i < 2; i++) {
        struct ks_plan *plan = short_plan(i ? 3 : 1);
        ks_model_unref(plan->reference);
        plan->reference = ks_model_open(test_data("model/qwen3moe.gguf"), NULL, NULL, &err);
        assert_non_null(plan->reference);
        add_rounded(plan, "experts", "ffn_(up|down|gate)_exps", "Q8_0");
        add_arm(plan, "plain", "ffn_(up|down|gate)_exps", "Q8_0");
        all[i] = run_to_end(plan);
    }
    assert_same_results(all[0], all[1]);
    assert_true(all[0]->arms[0].numbers.kld_mean > all[0]->arms[1].numbers.kld_mean);
    ks_snapshot_release(all[0]);
    ks_snapshot_release(all[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_never_move_a_bit_of_rounded_arms),
        cmocka_unit_test(the_isa_never_moves_a_bit_of_rounded_arms),
        cmocka_unit_test(company_never_moves_a_bit_of_a_rounded_arm),
        cmocka_unit_test(rounding_is_a_loss_of_its_own),
        cmocka_unit_test(before_f32_weights_nothing_is_lost),
        cmocka_unit_test(arms_that_round_alike_share_all_and_others_the_embedding),
        cmocka_unit_test(experts_multiply_rounded_rows_too),
    };
    write_corpus();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(corpus_path);
    return failed;
}

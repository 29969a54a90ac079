/*
 * Arms by what keys and values are kept in: what they share, what they are called, what is refused.
 */
#include "tests/testing.h"

#include "engine/model/model.h"
#include "engine/quant/round.h"
#include "tests/engine/model/edit.h"
#include "tests/engine/run/plans.h"

static void add_kv_arm(struct ks_plan *plan, const char *name, const char *keys, const char *values)
{
    struct ks_error err;
    struct ks_arm_spec *a = ks_plan_add_arm(plan, &err);
    set(&a->name, name);
    if (keys)
        set(&a->kv_keys, keys);
    if (values)
        set(&a->kv_values, values);
}

/* A plan over one of the sample models. */
static struct ks_plan *plan_of(const char *model, int threads)
{
    struct ks_error err;
    char file[64];
    struct ks_plan *plan = make_plan(threads, 64);
    snprintf(file, sizeof file, "model/%s.gguf", model);
    plan->corpora[0].max_tokens = 300;
    plan->corpora[1].max_tokens = 100;
    ks_model_unref(plan->reference);
    plan->reference = ks_model_open(test_data(file), model, NULL, &err);
    if (!plan->reference)
        fail_msg("%s", err.text);
    return plan;
}

static struct ks_plan *plan_of_many(int threads)
{
    struct ks_plan *plan = plan_of("qwen3", threads);
    add_kv_arm(plan, "f32", "F32", "F32");
    for (size_t i = 1; ks_kv_type_name(i); i++)
        add_kv_arm(plan, ks_kv_type_name(i), ks_kv_type_name(i), ks_kv_type_name(i));
    add_kv_arm(plan, "keys", "Q4_0", NULL);
    add_kv_arm(plan, "values", NULL, "Q4_0");
    add_arm(plan, "weights too", "attn_", "Q8_0");
    set(&plan->arms[plan->n_arms - 1].kv_keys, "Q8_0");
    set(&plan->arms[plan->n_arms - 1].kv_values, "Q4_0");
    return plan;
}

/* Fewer of them, of all kinds. */
static struct ks_plan *plan_of_some(int threads)
{
    struct ks_plan *plan = plan_of("qwen3", threads);
    add_kv_arm(plan, "halves", "F16", "BF16");
    add_kv_arm(plan, "eights", "Q8_0", "Q5_0");
    add_kv_arm(plan, "fours", "Q4_0", "Q4_1");
    return plan;
}

static const struct ks_arm_snapshot *arm_named(const struct ks_snapshot *s, const char *name)
{
    for (size_t i = 0; i < s->facts->n_arms; i++)
        if (strcmp(s->facts->arms[i].name, name) == 0)
            return &s->arms[i];
    fail_msg("no arm %s", name);
    return NULL;
}

static const struct ks_arm_facts *facts_of(const struct ks_snapshot *s, const char *name)
{
    return &s->facts->arms[arm_named(s, name) - s->arms];
}

static double kld_of(const struct ks_snapshot *s, const char *name)
{
    return arm_named(s, name)->numbers.kld_mean;
}

/* Keeping more bits loses less, and keeping f32 nothing at all. */
static void each_type_costs_more_than_the_one_above_it(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_of_many(2));
    const struct ks_numbers *same = &arm_named(s, "f32")->numbers;
    assert_true(same->kld_mean == 0 && same->kld_max == 0 && same->hist_zero == s->facts->n);
    assert_true(kld_of(s, "F16") > 0);
    assert_true(kld_of(s, "BF16") > kld_of(s, "F16"));
    assert_true(kld_of(s, "Q8_0") > kld_of(s, "F16"));
    assert_true(kld_of(s, "Q5_1") > kld_of(s, "Q8_0"));
    assert_true(kld_of(s, "Q4_1") > kld_of(s, "Q5_1"));
    assert_true(kld_of(s, "Q4_0") > kld_of(s, "Q5_0"));
    assert_true(kld_of(s, "keys") > 0 && kld_of(s, "values") > 0);
    assert_true(kld_of(s, "keys") < kld_of(s, "Q4_0"));
    ks_snapshot_release(s);
}

static void threads_and_the_isa_never_move_a_bit(void **state)
{
    (void)state;
    struct ks_machine machine;
    struct ks_error err;
    assert_int_equal(ks_machine_probe(&machine, &err), 0);
    const struct ks_snapshot *first = run_to_end(plan_of_some(1));
    const int threads[] = {2, 7};
    for (int i = 0; i < 2; i++) {
        const struct ks_snapshot *s = run_to_end(plan_of_some(threads[i]));
        assert_same_results(first, s);
        ks_snapshot_release(s);
    }
    for (int i = 0; i < 8 && machine.isas[i]; i++) {
        setenv("KLDSCOPE_ISA", machine.isas[i], 1);
        const struct ks_snapshot *s = run_to_end(plan_of_some(2));
        unsetenv("KLDSCOPE_ISA");
        assert_string_equal(s->facts->isa, machine.isas[i]);
        assert_same_results(first, s);
        ks_snapshot_release(s);
    }
    ks_snapshot_release(first);
}

static void company_never_moves_a_bit(void **state)
{
    (void)state;
    const struct ks_snapshot *together = run_to_end(plan_of_some(2));
    struct ks_plan *plan = plan_of("qwen3", 2);
    add_kv_arm(plan, "eights", "Q8_0", "Q5_0");
    const struct ks_snapshot *alone = run_to_end(plan);
    assert_same_numbers(&arm_named(together, "eights")->numbers, &alone->arms[0].numbers);
    assert_string_equal(facts_of(together, "eights")->hash, alone->facts->arms[0].hash);
    ks_snapshot_release(together);
    ks_snapshot_release(alone);
}

/* Of lfm2's three layers the second attends: the first is everybody's, and arms of the same types
 * have all in common: 1 and the 2 each of the reference and one pair of arms. */
static void arms_share_all_before_the_first_attention(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_of("lfm2", 2);
    add_kv_arm(plan, "a", "BF16", "F16");
    add_kv_arm(plan, "b", "bf16", "f16");
    const struct ks_snapshot *s = run_to_end(plan);
    assert_true(log_has(s, "5 layers a window instead of 9, 2 heads instead of 3"));
    assert_same_numbers(&s->arms[0].numbers, &s->arms[1].numbers);
    assert_string_equal(s->facts->arms[0].hash, s->facts->arms[1].hash);
    assert_true(s->arms[0].numbers.kld_mean > 0);
    ks_snapshot_release(s);
}

static void recipes_and_hashes_tell_arms_apart(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_of_many(2));
    assert_string_equal(facts_of(s, "f32")->recipe, "reference + kv F32");
    assert_string_equal(facts_of(s, "Q8_0")->recipe, "reference + kv Q8_0");
    assert_string_equal(facts_of(s, "keys")->recipe, "reference + kv Q4_0/F32");
    assert_string_equal(facts_of(s, "values")->recipe, "reference + kv F32/Q4_0");
    assert_string_equal(facts_of(s, "weights too")->recipe,
                        "reference + attn_=Q8_0 + kv Q8_0/Q4_0");
    assert_string_equal(facts_of(s, "f32")->hash, s->facts->reference_hash);
    for (size_t i = 0; i < s->facts->n_arms; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(s->facts->arms[i].hash, s->facts->arms[j].hash);
    assert_true(facts_of(s, "Q8_0")->bytes == s->facts->reference_bytes);
    assert_true(facts_of(s, "Q8_0")->bits_per_weight == s->facts->reference_bits);
    ks_snapshot_release(s);
}

/* Keys of a million: a half has no such number, and a cache of halves holds infinities. */
static void keys_beyond_a_type_are_seen(void **state)
{
    (void)state;
    struct edit edits[] = {{.kind = EDIT_FILL, .name = "blk.1.attn_k_norm.weight", .f = 1e6f},
                           {.kind = EDIT_END}};
    struct ks_error err;
    struct ks_plan *plan = plan_of("qwen3", 2);
    ks_model_unref(plan->reference);
    plan->reference = ks_model_open(edited(test_data("model/qwen3.gguf"), edits), NULL, NULL, &err);
    if (!plan->reference)
        fail_msg("%s", err.text);
    add_kv_arm(plan, "halves", "F16", NULL);
    add_kv_arm(plan, "eights", "Q8_0", NULL);
    const struct ks_snapshot *s = run_to_end(plan);
    assert_int_equal(arm_named(s, "halves")->numbers.nonfinite, s->facts->n);
    assert_int_equal(arm_named(s, "halves")->numbers.n, 0);
    assert_int_equal(arm_named(s, "eights")->numbers.nonfinite, 0);
    assert_true(kld_of(s, "eights") > 0);
    ks_snapshot_release(s);
    edit_finish();
}

/* ------------------------------------------------------------------ run files */

static void stop_after_two(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    (void)ctx;
    if (now->windows == 2)
        ks_run_stop(run, "long enough");
}

/* A plan into the run file at path, which goes on where the file is there. */
static struct ks_plan *plan_into(const char *path, const char *keys)
{
    struct ks_plan *plan = plan_of("qwen3", 2);
    add_kv_arm(plan, "mine", keys, "Q8_0");
    set(&plan->out, path);
    plan->resume = true;
    return plan;
}

static void a_run_goes_on_with_the_types_it_began_with(void **state)
{
    (void)state;
    char path[] = "/tmp/kldscope-kv-XXXXXX.kld";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    struct ks_plan *plan = plan_into(path, "Q5_0");
    plan->hooks.on_window = stop_after_two;
    ks_snapshot_release(run_to_end(plan));
    struct ks_error err = {0};
    struct ks_run *run = ks_run_create(plan_into(path, "Q5_1"), &err);
    assert_non_null(run);
    assert_int_equal(ks_run_start(run, &err), 0);
    assert_int_equal(ks_run_join(run, &err), -1);
    assert_non_null(strstr(err.text, "kv Q5_1/Q8_0"));
    ks_run_destroy(run);
    const struct ks_snapshot *went_on = run_to_end(plan_into(path, "Q5_0"));
    unlink(path);
    plan = plan_of("qwen3", 2);
    add_kv_arm(plan, "mine", "Q5_0", "Q8_0");
    const struct ks_snapshot *whole = run_to_end(plan);
    assert_same_results(whole, went_on);
    ks_snapshot_release(whole);
    ks_snapshot_release(went_on);
}

/* ------------------------------------------------------------------ refusals */

static void assert_refused(struct ks_plan *plan, const char *const *words)
{
    struct ks_error err = {0};
    assert_null(ks_run_create(plan, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    for (; *words; words++)
        if (!strstr(err.text, *words))
            fail_msg("\"%s\" is not in \"%s\"", *words, err.text);
}

static void a_head_that_is_no_whole_number_of_blocks_is_refused(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_of("llama-untied", 1);
    add_kv_arm(plan, "mine", NULL, "Q5_1");
    set(&plan->arms[0].where, "file.lua:7");
    assert_refused(plan, (const char *const[]){"file.lua:7: arm \"mine\"", "values", "Q5_1",
                                               "blocks of 32", "a head of 16", "layer 0", NULL});
    plan = plan_of("gemma4", 1);
    add_kv_arm(plan, "mine", "Q8_0", NULL);
    assert_refused(plan,
                   (const char *const[]){"arm \"mine\"", "keys", "Q8_0", "a head of 16", NULL});
}

static void a_type_that_keeps_no_keys_is_refused(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_of("qwen3", 1);
    add_kv_arm(plan, "mine", "Q9_0", NULL);
    assert_refused(plan, (const char *const[]){"arm \"mine\"", "keys", "\"Q9_0\"",
                                               "did you mean Q8_0?", "Q5_1", NULL});
    plan = plan_of("qwen3", 1);
    add_kv_arm(plan, "mine", NULL, "Q4_K");
    assert_refused(plan, (const char *const[]){"values", "\"Q4_K\"", "F16 BF16 Q8_0", NULL});
}

/* qwen3.5 cut down to its first layer, a delta net. */
static void a_model_without_attention_keeps_none(void **state)
{
    (void)state;
    struct edit edits[80] = {{.kind = EDIT_SET_U32, .name = "qwen35.block_count", .u = 1}};
    size_t n = 1;
    struct ks_error err;
    struct ks_plan *plan = plan_of("qwen35", 1);
    struct ks_model *whole = plan->reference;
    for (size_t i = 0; i < ks_model_n_tensors(whole); i++) {
        const char *name = ks_model_tensor_name(whole, i);
        if (strncmp(name, "blk.", 4) != 0 || name[4] == '0')
            continue;
        assert_true(n < sizeof edits / sizeof *edits - 1);
        edits[n++] = (struct edit){.kind = EDIT_DROP_TENSOR, .name = name};
    }
    plan->reference =
        ks_model_open(edited(test_data("model/qwen35.gguf"), edits), "cut.gguf", NULL, &err);
    ks_model_unref(whole);
    if (!plan->reference)
        fail_msg("%s", err.text);
    add_kv_arm(plan, "mine", "F16", NULL);
    assert_refused(plan, (const char *const[]){"arm \"mine\"", "cut.gguf (qwen35)",
                                               "no layer with attention", NULL});
    edit_finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_costs_more_than_the_one_above_it),
        cmocka_unit_test(threads_and_the_isa_never_move_a_bit),
        cmocka_unit_test(company_never_moves_a_bit),
        cmocka_unit_test(arms_share_all_before_the_first_attention),
        cmocka_unit_test(recipes_and_hashes_tell_arms_apart),
        cmocka_unit_test(keys_beyond_a_type_are_seen),
        cmocka_unit_test(a_run_goes_on_with_the_types_it_began_with),
        cmocka_unit_test(a_head_that_is_no_whole_number_of_blocks_is_refused),
        cmocka_unit_test(a_model_without_attention_keeps_none),
        cmocka_unit_test(a_type_that_keeps_no_keys_is_refused),
    };
    write_corpus();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(corpus_path);
    return failed;
}

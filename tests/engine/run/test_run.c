/*
 * Whole runs over a tiny model: what never may move a number (threads, ISA, sharing, batches), and
 * what steers a run.
 */
#include "tests/testing.h"

#include "engine/model/model.h"
#include "engine/text/corpus.h"
#include "tests/engine/run/plans.h"

static void threads_never_move_a_bit(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 7};
    const struct ks_snapshot *all[3];
    for (int i = 0; i < 3; i++) {
        struct ks_plan *plan = make_plan(threads[i], 64);
        add_usual_arms(plan);
        all[i] = run_to_end(plan);
    }
    assert_same_results(all[0], all[1]);
    assert_same_results(all[0], all[2]);
    for (int i = 0; i < 3; i++)
        ks_snapshot_release(all[i]);
}

static void the_isa_never_moves_a_bit(void **state)
{
    (void)state;
    const char *const isas[] = {"scalar", "avx2", "avx512"};
    struct ks_machine machine;
    struct ks_error err;
    assert_int_equal(ks_machine_probe(&machine, &err), 0);
    const struct ks_snapshot *first = NULL;
    for (int i = 0; i < 3; i++) {
        bool runs = false;
        for (int j = 0; j < 8 && machine.isas[j]; j++)
            runs |= strcmp(machine.isas[j], isas[i]) == 0;
        if (!runs)
            continue;
        setenv("KLDSCOPE_ISA", isas[i], 1);
        struct ks_plan *plan = make_plan(2, 64);
        add_usual_arms(plan);
        const struct ks_snapshot *s = run_to_end(plan);
        unsetenv("KLDSCOPE_ISA");
        assert_string_equal(s->facts->isa, isas[i]);
        if (first)
            assert_same_results(first, s);
        else
            first = s;
        if (first != s)
            ks_snapshot_release(s);
    }
    ks_snapshot_release(first);
}

/* An arm among others, sharing what it can, has the numbers it has by itself. */
static void company_never_moves_a_bit(void **state)
{
    (void)state;
    struct ks_plan *plan = make_plan(2, 64);
    add_usual_arms(plan);
    const struct ks_snapshot *together = run_to_end(plan);
    plan = make_plan(2, 64);
    add_arm(plan, "layer", "blk\\.1\\.attn_", "Q4_0");
    const struct ks_snapshot *alone = run_to_end(plan);
    assert_same_numbers(&together->reference, &alone->reference);
    assert_same_numbers(&together->arms[2].numbers, &alone->arms[0].numbers);
    ks_snapshot_release(together);
    ks_snapshot_release(alone);
}

/* Of two layers the reference, "same" and "head" have both in common with each other, and "layer"
 * the first: 2 and 1 and the 2 of "all". */
static void the_log_tells_how_much_arms_share(void **state)
{
    (void)state;
    struct ks_plan *plan = make_plan(2, 64);
    add_usual_arms(plan);
    const struct ks_snapshot *s = run_to_end(plan);
    assert_true(log_has(s, "share 50 % of the layers' work: 5 layers a window instead of 10, "
                           "4 heads instead of 5"));
    ks_snapshot_release(s);
    plan = make_plan(2, 64);
    add_arm(plan, "all", "attn_|ffn_(up|gate)", "Q8_0");
    s = run_to_end(plan);
    assert_false(log_has(s, "share"));
    ks_snapshot_release(s);
}

static void an_arm_without_a_change_is_exactly_zero(void **state)
{
    (void)state;
    struct ks_plan *plan = make_plan(2, 64);
    add_usual_arms(plan);
    const struct ks_snapshot *s = run_to_end(plan);
    const struct ks_numbers *same = &s->arms[0].numbers, *lossy = &s->arms[1].numbers;
    assert_int_equal(same->n, s->facts->n);
    assert_true(same->kld_mean == 0 && same->kld_max == 0 && same->kld_reverse_mean == 0);
    assert_true(same->top1_agreement == 1 && same->topk_overlap == 1);
    assert_true(same->ppl_arm == same->ppl_ref && same->ln_ppl_ratio == 0);
    assert_int_equal(same->hist_zero, same->n);
    assert_string_equal(s->facts->arms[0].hash, s->facts->reference_hash);
    assert_true(lossy->kld_mean > 0 && lossy->kld_max > lossy->kld_p99);
    ks_snapshot_release(s);
}

static struct ks_plan *plan_with_experts(int threads)
{
    struct ks_error err;
    struct ks_plan *plan = make_plan(threads, 64);
    ks_model_unref(plan->reference);
    plan->reference = ks_model_open(test_data("model/qwen3moe.gguf"), NULL, NULL, &err);
    if (!plan->reference)
        fail_msg("%s", err.text);
    add_arm(plan, "experts", "ffn_(up|down|gate)_exps", "Q4_0");
    add_arm(plan, "last", "blk\\.1\\.ffn_down_exps", "Q8_0");
    add_arm(plan, "preset", NULL, NULL);
    set(&plan->arms[2].preset, "Q4_0");
    return plan;
}

/* The stacks of experts are what such a preset is for; the router stays as it is. */
static void arms_of_a_mixture_quantize_its_experts(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(plan_with_experts(1));
    const struct ks_snapshot *more = run_to_end(plan_with_experts(7));
    assert_same_results(s, more);
    for (size_t i = 0; i < 3; i++)
        assert_true(s->arms[i].numbers.kld_mean > 0);
    assert_true(s->arms[0].numbers.kld_mean > s->arms[1].numbers.kld_mean);
    struct ks_error err;
    struct ks_model *m = ks_model_open(test_data("model/qwen3moe.gguf"), NULL, NULL, &err);
    for (size_t i = 0; i < ks_model_n_tensors(m); i++) {
        const char *name = ks_model_tensor_name(m, i), *type = s->facts->arms[2].types[i];
        if (strstr(name, "_exps."))
            assert_string_equal(type, "Q4_0");
        if (strstr(name, "gate_inp"))
            assert_string_equal(type, "F32");
    }
    ks_model_unref(m);
    ks_snapshot_release(s);
    ks_snapshot_release(more);
}

static void counts_are_the_corpus_tokens_minus_one_a_document(void **state)
{
    (void)state;
    const struct ks_snapshot *s = run_to_end(make_plan(1, 32));
    assert_int_equal(s->facts->documents, 2);
    assert_int_equal(s->facts->n, s->facts->tokens - 2);
    assert_int_equal(s->positions, s->facts->n);
    assert_int_equal(s->tokens, s->facts->to_compute);
    assert_int_equal(s->windows, s->facts->windows);
    assert_int_equal(s->facts->corpora[0].n, s->facts->corpora[1].n);
    assert_true(s->reference.ppl_ref > 1);
    ks_snapshot_release(s);
}

/* A chat whose assistant alone is scored: as many positions as the corpus marks, in the run and in
 * every arm, and the same ones whatever the window. */
static void what_the_assistant_says_can_be_scored_alone(void **state)
{
    (void)state;
    struct ks_error err;
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        struct ks_plan *plan = ks_plan_create(&err);
        plan->reference =
            ks_model_open(test_data("../../scenarios/models/scope-6m.f16.gguf"), NULL, NULL, &err);
        assert_non_null(plan->reference);
        plan->window = i ? 512 : 64;
        struct ks_corpus_spec *c = ks_plan_add_corpus(plan, &err);
        c->kind = KS_CORPUS_CHAT;
        c->assistant_only = true;
        c->max_documents = 1;
        set(&c->name, "chat");
        c->paths = calloc(1, sizeof *c->paths);
        c->shown = calloc(1, sizeof *c->shown);
        c->n_paths = 1;
        set(&c->paths[0], test_data("../../scenarios/corpora/chat.jsonl"));
        set(&c->shown[0], "chat.jsonl");
        struct ks_corpus corpus;
        const struct ks_tokenizer *t = ks_model_tokenizer(plan->reference, &err);
        assert_int_equal(ks_corpus_load(c, 1, t, "chatml", NULL, NULL, &corpus, &err), 0);
        n[i] = 0;
        for (size_t k = 1; k < corpus.documents[0].n; k++)
            n[i] += corpus.documents[0].scored[k];
        assert_true(n[i] > 0 && n[i] < corpus.documents[0].n - 1);
        ks_corpus_finish(&corpus);
        const struct ks_snapshot *s = run_to_end(plan);
        assert_int_equal(s->facts->n, n[i]);
        assert_int_equal(s->reference.n, n[i]);
        assert_int_equal(s->tokens, s->facts->to_compute);
        ks_snapshot_release(s);
    }
    assert_int_equal(n[0], n[1]);
}

/* ------------------------------------------------------------------ steering */

struct steering {
    size_t windows_seen, drop_at, stop_at;
    bool in_order;
};

static void steer(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    struct steering *s = ctx;
    s->in_order &= now->windows == ++s->windows_seen;
    if (now->windows == s->drop_at)
        ks_run_drop(run, 0, "hopeless");
    if (now->windows == s->stop_at)
        ks_run_stop(run, "enough");
}

static void a_hook_sees_each_window_in_order_and_drops_at_one(void **state)
{
    (void)state;
    struct steering steering = {.drop_at = 3, .in_order = true};
    struct ks_plan *plan = make_plan(2, 64);
    add_usual_arms(plan);
    plan->hooks = (struct ks_hooks){.ctx = &steering, .on_window = steer};
    const struct ks_snapshot *s = run_to_end(plan);
    assert_true(steering.in_order);
    assert_int_equal(steering.windows_seen, s->facts->windows);
    assert_int_equal(s->arms[0].state, KS_ARM_DROPPED);
    assert_string_equal(s->arms[0].why, "hopeless");
    assert_int_equal(s->arms[0].numbers.n_trend, 3);
    assert_int_equal(s->arms[1].state, KS_ARM_DONE);
    assert_int_equal(s->arms[1].numbers.n, s->facts->n);
    ks_snapshot_release(s);
}

static void a_stop_keeps_what_was_measured(void **state)
{
    (void)state;
    struct steering steering = {.stop_at = 2, .in_order = true};
    struct ks_plan *plan = make_plan(2, 64);
    add_usual_arms(plan);
    plan->hooks = (struct ks_hooks){.ctx = &steering, .on_window = steer};
    const struct ks_snapshot *s = run_to_end(plan);
    assert_int_equal(s->state, KS_RUN_STOPPED);
    assert_int_equal(s->windows, 2);
    assert_true(s->positions > 0 && s->positions < s->facts->n);
    assert_int_equal(s->arms[1].numbers.n, s->positions);
    assert_int_equal(s->arms[1].state, KS_ARM_STOPPED);
    ks_snapshot_release(s);
}

static void a_paused_run_waits_and_goes_on(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_plan *plan = make_plan(1, 32);
    add_usual_arms(plan);
    struct ks_run *run = ks_run_create(plan, &err);
    assert_non_null(run);
    ks_run_pause(run, true);
    assert_int_equal(ks_run_start(run, &err), 0);
    const struct ks_snapshot *s = ks_run_snapshot(run);
    for (int i = 0; i < 6000 && s->state != KS_RUN_PAUSED; i++) {
        ks_snapshot_release(s);
        usleep(10000);
        s = ks_run_snapshot(run);
    }
    assert_int_equal(s->state, KS_RUN_PAUSED);
    assert_int_equal(s->windows, 0);
    ks_snapshot_release(s);
    ks_run_pause(run, false);
    assert_int_equal(ks_run_join(run, &err), 0);
    s = ks_run_snapshot(run);
    assert_int_equal(s->state, KS_RUN_DONE);
    ks_snapshot_release(s);
    ks_run_destroy(run);
}

/* ------------------------------------------------------------------ refusals */

static void assert_refused(struct ks_plan *plan, const char *words)
{
    struct ks_error err = {0};
    struct ks_run *run = ks_run_create(plan, &err);
    assert_null(run);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, err.text);
}

static void what_cannot_be_measured_is_refused(void **state)
{
    (void)state;
    struct ks_plan *plan = make_plan(1, 1);
    assert_refused(plan, "window = 1");
    plan = make_plan(1, 100000);
    assert_refused(plan, "beyond the context");
    plan = make_plan(1, 64);
    plan->context_min = 64;
    assert_refused(plan, "context_min = 64");
    plan = make_plan(1, 64);
    plan->top_k = 33;
    assert_refused(plan, "top_k = 33");
    plan = make_plan(1, 64);
    add_arm(plan, "twice", NULL, NULL);
    add_arm(plan, "twice", NULL, NULL);
    assert_refused(plan, "two arms are named \"twice\"");
    plan = make_plan(1, 64);
    add_arm(plan, "odd", "no_such_tensor", "Q8_0");
    assert_refused(plan, "no_such_tensor");
}

static void another_vocabulary_is_refused(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_plan *plan = make_plan(1, 64);
    add_arm(plan, "other", NULL, NULL);
    const char *path = test_data("../../scenarios/models/scope-6m.f16.gguf");
    plan->arms[0].model = ks_model_open(path, "other.gguf", NULL, &err);
    assert_non_null(plan->arms[0].model);
    assert_refused(plan, "its head has 4096 rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_never_move_a_bit),
        cmocka_unit_test(the_isa_never_moves_a_bit),
        cmocka_unit_test(company_never_moves_a_bit),
        cmocka_unit_test(the_log_tells_how_much_arms_share),
        cmocka_unit_test(an_arm_without_a_change_is_exactly_zero),
        cmocka_unit_test(arms_of_a_mixture_quantize_its_experts),
        cmocka_unit_test(counts_are_the_corpus_tokens_minus_one_a_document),
        cmocka_unit_test(what_the_assistant_says_can_be_scored_alone),
        cmocka_unit_test(a_hook_sees_each_window_in_order_and_drops_at_one),
        cmocka_unit_test(a_stop_keeps_what_was_measured),
        cmocka_unit_test(a_paused_run_waits_and_goes_on),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
        cmocka_unit_test(another_vocabulary_is_refused),
    };
    write_corpus();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(corpus_path);
    return failed;
}

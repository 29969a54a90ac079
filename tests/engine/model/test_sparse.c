/*
 * Mixtures of experts and mixers with a state: logits against other programs', and against
 * themselves however the work is cut; which experts a token takes; what is refused.
 */
#include "tests/engine/model/runner.h"

#include "tests/engine/model/edit.h"

/* The other program's delta rule takes its positions in chunks. */
#define DELTA_TOLERANCE 5e-4

static void mixtures_of_experts_agree(void **state)
{
    (void)state;
    check_sample_to("qwen3moe", SAMPLE_TOLERANCE);
}

static void sinks_windows_and_biased_experts_agree(void **state)
{
    (void)state;
    check_sample_to("gpt-oss", SAMPLE_TOLERANCE);
}

static void experts_of_four_bits_agree(void **state)
{
    (void)state;
    check_sample_to("gpt-oss-mxfp4", SAMPLE_TOLERANCE);
}

static void short_convolutions_agree(void **state)
{
    (void)state;
    check_sample_to("lfm2", SAMPLE_TOLERANCE);
}

static void gated_delta_nets_agree(void **state)
{
    (void)state;
    check_sample_to("qwen35", DELTA_TOLERANCE);
}

static void llamas_of_experts_agree(void **state)
{
    (void)state;
    check_sample_to("mixtral", SAMPLE_TOLERANCE);
}

static void an_expert_that_every_token_takes_agrees(void **state)
{
    (void)state;
    check_sample_to("qwen2moe", SAMPLE_TOLERANCE);
}

static void sigmoid_gates_with_a_preference_behind_a_dense_layer_agree(void **state)
{
    (void)state;
    check_sample_to("lfm2moe", SAMPLE_TOLERANCE);
}

static void weights_that_are_not_divided_by_their_sum_agree(void **state)
{
    (void)state;
    check_sample_to("olmoe", SAMPLE_TOLERANCE);
}

static void multipliers_around_experts_agree(void **state)
{
    (void)state;
    check_sample_to("granitemoe", SAMPLE_TOLERANCE);
}

static void heads_of_two_widths_and_keys_as_values_agree(void **state)
{
    (void)state;
    check_sample_to("gemma4", SAMPLE_TOLERANCE);
}

static void experts_beside_a_dense_mlp_agree(void **state)
{
    (void)state;
    check_sample_to("gemma4-experts", SAMPLE_TOLERANCE);
}

static void delta_nets_with_experts_agree(void **state)
{
    (void)state;
    check_sample_to("qwen35moe", DELTA_TOLERANCE);
}

/* ------------------------------------------------------------------ cuts */

static const char *const samples[] = {"qwen2moe", "gpt-oss-mxfp4", "lfm2moe", "qwen35moe",
                                      "gemma4-experts"};
#define N_SAMPLES (sizeof samples / sizeof *samples)

static enum ks_isa best_isa(void)
{
    enum ks_isa isa;
    struct ks_error err = {0};
    must(ks_isa_choose(&isa, &err), &err);
    return isa;
}

static void threads_do_not_move_a_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct ks_model *m = open_sample(samples[i]);
        float *one = run_sample(m, samples[i], best_isa(), 1);
        for (int threads = 2; threads <= 7; threads += 5) {
            float *more = run_sample(m, samples[i], best_isa(), threads);
            assert_memory_equal(more, one, SAMPLE_IDS * SAMPLE_VOCAB * sizeof *one);
            free(more);
        }
        free(one);
        ks_model_unref(m);
    }
}

/* A sequence has what it has alone, whatever stands beside it and however the batch is cut. */
static void sequences_of_a_batch_do_not_see_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct ks_model *m = open_sample(samples[i]);
        int32_t *ids = sample_ids(samples[i]);
        check_sequences_apart(m, ids, best_isa());
        free(ids);
        ks_model_unref(m);
    }
}

static void the_rows_wanted_of_the_last_layer_are_those_of_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct ks_model *m = open_sample(samples[i]);
        int32_t *ids = sample_ids(samples[i]);
        check_wanted_rows(m, ids, best_isa());
        free(ids);
        ks_model_unref(m);
    }
}

/* More tokens than go through the experts at once: two thousand and some. */
static void experts_taken_in_several_turns_give_the_bits_of_one(void **state)
{
    (void)state;
    enum { copies = 22, n = copies * SAMPLE_IDS };
    struct ks_model *m = open_sample("qwen3moe");
    int32_t *ids = sample_ids("qwen3moe"), *many = calloc(n, sizeof *many);
    size_t starts[copies + 1] = {0};
    for (size_t c = 0; c < copies; c++) {
        memcpy(many + c * SAMPLE_IDS, ids, SAMPLE_IDS * sizeof *ids);
        starts[c + 1] = starts[c] + SAMPLE_IDS;
    }
    struct runner r;
    start(&r, m, best_isa(), 2, n);
    float *all = run(&r, many, starts, copies), *one = run(&r, ids, starts, 1);
    for (size_t c = 0; c < copies; c++)
        assert_memory_equal(all + starts[c] * SAMPLE_VOCAB, one,
                            SAMPLE_IDS * SAMPLE_VOCAB * sizeof *one);
    free(all);
    free(one);
    stop(&r);
    free(ids);
    free(many);
    ks_model_unref(m);
}

/* ------------------------------------------------------------------ which experts */

static float *run_edited(const struct edit *edits)
{
    struct ks_model *m = open_model(edited(sample_path("qwen3moe", "gguf"), edits), NULL);
    float *logits = run_sample(m, "qwen3moe", best_isa(), 1);
    ks_model_unref(m);
    edit_finish();
    return logits;
}

/* A router of zeros ties all experts: the first two are taken. */
static void ties_fall_to_the_first_experts(void **state)
{
    (void)state;
    const size_t rows = 32 * 64; /* of one expert's up matrix */
    struct edit edits[] = {{EDIT_FILL, .name = "blk.0.ffn_gate_inp.weight", .f = 0},
                           {EDIT_FILL, .name = "blk.1.ffn_gate_inp.weight", .f = 0},
                           {EDIT_END},
                           {EDIT_END}};
    float *plain = run_edited(edits);
    for (uint32_t e = 0; e < 4; e++) {
        edits[2] = (struct edit){EDIT_POKE, .name = "blk.0.ffn_up_exps.weight",
                                 .u = (uint32_t)(e * rows + 7), .f = 3};
        float *other = run_edited(edits);
        bool same = memcmp(other, plain, SAMPLE_IDS * SAMPLE_VOCAB * sizeof *plain) == 0;
        assert_int_equal(same, e >= 2);
        free(other);
    }
    free(plain);
}

/* ------------------------------------------------------------------ what is equal, what it costs
 */

static void an_experts_bytes_are_its_layers(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("gpt-oss");
    size_t n = ks_model_n_tensors(m);
    struct ks_matrix *tensors = calloc(n, sizeof *tensors);
    struct ks_net a, b;
    struct ks_error err = {0};
    memcpy(tensors, ks_model_tensor(m, 0), n * sizeof *tensors);
    must(ks_net_bind(&a, m, tensors, 1, &err), &err);
    static const char *const changed[] = {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight",
                                          "blk.0.ffn_down_exps.weight", "blk.0.ffn_gate_inp.weight",
                                          "blk.0.ffn_up_exps.bias",     "blk.0.attn_sinks.weight"};
    static const float other[64 * 64 * 4];
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        struct ks_matrix *t = &tensors[tensor_index(m, changed[i])], kept = *t;
        t->data = (const uint8_t *)other;
        must(ks_net_bind(&b, m, tensors, 1, &err), &err);
        assert_false(ks_net_stage_equal(&a, &b, 0));
        assert_true(ks_net_stage_equal(&a, &b, 1));
        ks_net_finish(&b);
        *t = kept;
    }
    ks_net_finish(&a);
    free(tensors);
    ks_model_unref(m);
}

/* Two of four experts of three matrices, a router, and attention over n (n + 1) / 2 pairs. */
static void only_the_experts_that_a_token_takes_are_counted(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("qwen3moe");
    struct ks_net net;
    struct ks_error err = {0};
    must(ks_net_bind(&net, m, ks_model_tensor(m, 0), 10, &err), &err);
    const double n = 10, attention = 64 * 64 + 2 * 64 * 32 + 64 * 64;
    double want = 2 * n * (attention + 64 * 4 + 2 * 3 * 64 * 32) + 2 * 55 * 4 * (16 + 16);
    assert_true(fabs(ks_net_layer_flops(&net, 0, 10, 0) - want) < 0.5);
    ks_net_finish(&net);
    ks_model_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixtures_of_experts_agree),
        cmocka_unit_test(sinks_windows_and_biased_experts_agree),
        cmocka_unit_test(experts_of_four_bits_agree),
        cmocka_unit_test(short_convolutions_agree),
        cmocka_unit_test(gated_delta_nets_agree),
        cmocka_unit_test(llamas_of_experts_agree),
        cmocka_unit_test(an_expert_that_every_token_takes_agrees),
        cmocka_unit_test(sigmoid_gates_with_a_preference_behind_a_dense_layer_agree),
        cmocka_unit_test(weights_that_are_not_divided_by_their_sum_agree),
        cmocka_unit_test(multipliers_around_experts_agree),
        cmocka_unit_test(heads_of_two_widths_and_keys_as_values_agree),
        cmocka_unit_test(experts_beside_a_dense_mlp_agree),
        cmocka_unit_test(delta_nets_with_experts_agree),
        cmocka_unit_test(threads_do_not_move_a_bit),
        cmocka_unit_test(sequences_of_a_batch_do_not_see_each_other),
        cmocka_unit_test(the_rows_wanted_of_the_last_layer_are_those_of_the_whole),
        cmocka_unit_test(experts_taken_in_several_turns_give_the_bits_of_one),
        cmocka_unit_test(ties_fall_to_the_first_experts),
        cmocka_unit_test(an_experts_bytes_are_its_layers),
        cmocka_unit_test(only_the_experts_that_a_token_takes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

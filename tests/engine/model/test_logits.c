/*
 * Logits against other programs' for the same models, and against themselves however the work is
 * cut: stages, batches, threads, instruction sets.
 */
#include "tests/engine/model/runner.h"

#include "engine/model/arch/arch.h"
#include "tests/engine/model/edit.h"

static void check_sample(const char *name)
{
    check_sample_to(name, SAMPLE_TOLERANCE);
}

static void a_tied_llama_agrees(void **state)
{
    (void)state;
    check_sample("llama-tied");
}

static void an_untied_llama_agrees(void **state)
{
    (void)state;
    check_sample("llama-untied");
}

static void llama3s_rope_factors_agree(void **state)
{
    (void)state;
    check_sample("llama-rope-llama3");
}

static void linear_rope_scaling_agrees(void **state)
{
    (void)state;
    check_sample("llama-rope-linear");
}

static void attention_biases_agree(void **state)
{
    (void)state;
    check_sample("llama-biases");
}

static void yarn_agrees(void **state)
{
    (void)state;
    check_sample("llama-yarn");
}

static void qwen2s_biases_agree(void **state)
{
    (void)state;
    check_sample("qwen2");
}

static void qwen3s_norms_of_q_and_k_agree(void **state)
{
    (void)state;
    check_sample("qwen3");
}

static void smollm3s_layers_without_rope_agree(void **state)
{
    (void)state;
    check_sample("smollm3");
}

static void gemma2s_soft_caps_and_windows_agree(void **state)
{
    (void)state;
    check_sample("gemma2");
}

static void gemma3s_pattern_of_windows_and_bases_agrees(void **state)
{
    (void)state;
    check_sample("gemma3");
}

static void phi3s_fused_tensors_agree(void **state)
{
    (void)state;
    check_sample("phi3");
}

static void olmo2s_norms_behind_the_blocks_agree(void **state)
{
    (void)state;
    check_sample("olmo2");
}

static void granites_multipliers_agree(void **state)
{
    (void)state;
    check_sample("granite");
}

static void mistral3s_query_scale_agrees(void **state)
{
    (void)state;
    check_sample("mistral3");
}

/* Made by tests/data/model/make.py. */
static void the_other_families_agree(void **state)
{
    (void)state;
    static const char *const samples[] = {"arcee",
                                          "chatglm",
                                          "cohere2",
                                          "command-r",
                                          "command-r-qk-norm",
                                          "ernie4_5",
                                          "exaone4",
                                          "gemma",
                                          "gemma3-linear",
                                          "glm4",
                                          "nemotron",
                                          "olmo",
                                          "phi2",
                                          "seed_oss",
                                          "stablelm",
                                          "starcoder2",
                                          "stablelm-parallel",
                                          "olmo2-window",
                                          "phi3-long",
                                          "phi3-short"};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        check_sample(samples[i]);
}

/* A row of the table without a sample proves nothing. */
static void every_known_architecture_has_a_sample(void **state)
{
    (void)state;
    char known[1024];
    ks_arch_list(known, sizeof known);
    assert_true(strlen(known) < sizeof known - 1);
    for (char *name = strtok(known, ", "); name; name = strtok(NULL, ", ")) {
        const char *sample = strcmp(name, "llama") == 0 ? "llama-tied" : name;
        struct ks_model *m = open_sample(sample);
        assert_string_equal(ks_model_info(m)->architecture, name);
        ks_model_unref(m);
    }
}

/* 23 matrices in 21 types. */
static void a_matrix_of_every_type_agrees(void **state)
{
    (void)state;
    check_sample("llama-mixed-types");
}

static void threads_do_not_move_a_bit(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-rope-llama3");
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!ks_isa_runs(isas[i]))
            continue;
        float *one = run_sample(m, "llama-rope-llama3", isas[i], 1);
        for (int threads = 2; threads <= 7; threads += 5) {
            float *more = run_sample(m, "llama-rope-llama3", isas[i], threads);
            assert_memory_equal(more, one, SAMPLE_IDS * SAMPLE_VOCAB * sizeof *one);
            free(more);
        }
        free(one);
    }
    ks_model_unref(m);
}

/* One of each kind of layer. */
static const char *const kinds[] = {"llama-biases", "gemma3",  "mistral3", "olmo2",
                                    "phi2",         "cohere2", "gemma2",   "phi3"};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static void sequences_of_a_batch_do_not_see_each_other(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_KINDS; k++) {
        struct ks_model *m = open_sample(kinds[k]);
        int32_t *ids = sample_ids(kinds[k]);
        for (size_t i = 0; i < N_ISAS; i++) {
            if (ks_isa_runs(isas[i]))
                check_sequences_apart(m, ids, isas[i]);
        }
        free(ids);
        ks_model_unref(m);
    }
}

static void the_rows_wanted_of_the_last_layer_are_those_of_the_whole(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_KINDS; k++) {
        struct ks_model *m = open_sample(kinds[k]);
        int32_t *ids = sample_ids(kinds[k]);
        for (size_t i = 0; i < N_ISAS; i++) {
            if (ks_isa_runs(isas[i]))
                check_wanted_rows(m, ids, isas[i]);
        }
        free(ids);
        ks_model_unref(m);
    }
}

static void a_prefix_has_the_rows_of_the_whole(void **state)
{
    (void)state;
    const size_t whole[2] = {0, 96}, prefix[2] = {0, 33};
    struct ks_model *m = open_sample("llama-untied");
    int32_t *ids = sample_ids("llama-untied");
    enum ks_isa isa;
    struct ks_error err = {0};
    must(ks_isa_choose(&isa, &err), &err);
    struct runner r;
    start(&r, m, isa, 1, 96);
    float *a = run(&r, ids, whole, 1), *b = run(&r, ids, prefix, 1);
    assert_memory_equal(a, b, 33 * SAMPLE_VOCAB * sizeof *a);
    free(a);
    free(b);
    stop(&r);
    free(ids);
    ks_model_unref(m);
}

/* What a caller who keeps residuals does: layer 0 in one body, the rest in another, the head by
 * rows. */
static void stages_run_apart_equal_the_run_in_one(void **state)
{
    (void)state;
    const size_t starts[2] = {0, 40};
    struct ks_model *m = open_sample("llama-tied");
    int32_t *ids = sample_ids("llama-tied");
    const struct ks_batch batch = {.ids = ids, .starts = starts, .n_sequences = 1};
    struct ks_error err = {0};
    enum ks_isa isa;
    must(ks_isa_choose(&isa, &err), &err);
    struct runner a, b;
    start(&a, m, isa, 1, 40);
    start(&b, m, isa, 2, 64);
    float *whole = run(&a, ids, starts, 1);
    float *x = calloc(40 * 64, sizeof *x), *kept = calloc(40 * 64, sizeof *kept);
    must(ks_body_embed(a.body, &a.net, &batch, x, &err), &err);
    must(ks_body_layer(a.body, &a.net, &batch, 0, x, &err), &err);
    memcpy(kept, x, 40 * 64 * sizeof *x);
    must(ks_body_layer(b.body, &b.net, &batch, 1, kept, &err), &err);
    for (size_t i = 0; i < 40; i++) {
        float normed[64], logits[SAMPLE_VOCAB];
        must(ks_body_norm(b.body, &b.net, kept + i * 64, 1, normed, &err), &err);
        must(ks_body_head(b.body, &b.net, normed, 1, logits, &err), &err);
        assert_memory_equal(logits, whole + i * SAMPLE_VOCAB, sizeof logits);
    }
    free(whole);
    free(x);
    free(kept);
    stop(&a);
    stop(&b);
    free(ids);
    ks_model_unref(m);
}

/*
 * A bias behind a matrix of zeros adds a constant to the residual; so does the same constant in
 * every row of the embedding (untied, so the head stays).
 */
static void assert_bias_is_added(const char *matrix, const char *bias)
{
    const struct edit with_bias[] = {{EDIT_FILL, .name = matrix, .f = 0},
                                     {EDIT_ADD_VECTOR, .name = bias, .u = 64, .f = 0.25f},
                                     {EDIT_END}};
    struct ks_model *m = open_model(edited(sample_path("llama-untied", "gguf"), with_bias), NULL);
    struct runner r;
    struct ks_error err = {0};
    const int32_t ids[3] = {5, 6, 7};
    const size_t starts[2] = {0, 3};
    const struct ks_batch batch = {.ids = ids, .starts = starts, .n_sequences = 1};
    float biased[3 * 64], plain[3 * 64], embedded[3 * 64];
    start(&r, m, KS_ISA_SCALAR, 1, 3);
    must(ks_body_embed(r.body, &r.net, &batch, embedded, &err), &err);
    memcpy(biased, embedded, sizeof biased);
    must(ks_body_layer(r.body, &r.net, &batch, 0, biased, &err), &err);
    bool ffn = strstr(bias, "ffn") != NULL;
    for (size_t i = 0; i < 3 * 64; i++)
        plain[i] = embedded[i] + (ffn ? 0 : 0.25f);
    r.net.layers[0].bias_o = r.net.layers[0].bias_down = NULL;
    must(ks_body_layer(r.body, &r.net, &batch, 0, plain, &err), &err);
    for (size_t i = 0; i < 3 * 64; i++)
        assert_true(biased[i] == plain[i] + (ffn ? 0.25f : 0));
    stop(&r);
    ks_model_unref(m);
    edit_finish();
}

static void output_and_down_biases_are_added(void **state)
{
    (void)state;
    assert_bias_is_added("blk.0.attn_output.weight", "blk.0.attn_output.bias");
    assert_bias_is_added("blk.0.ffn_down.weight", "blk.0.ffn_down.bias");
}

/* With gate and up all bias, the FFN multiplies silu(g) * u, a constant, by down: closed form. */
static void gate_and_up_biases_are_added(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_FILL, .name = "blk.0.ffn_gate.weight", .f = 0},
                                 {EDIT_FILL, .name = "blk.0.ffn_up.weight", .f = 0},
                                 {EDIT_FILL, .name = "blk.0.ffn_down.weight", .f = 0.5f},
                                 {EDIT_FILL, .name = "blk.0.attn_output.weight", .f = 0},
                                 {EDIT_ADD_VECTOR, .name = "blk.0.ffn_gate.bias", .u = 80, .f = 1},
                                 {EDIT_ADD_VECTOR, .name = "blk.0.ffn_up.bias", .u = 80, .f = 3},
                                 {EDIT_END}};
    struct ks_model *m = open_model(edited(sample_path("llama-untied", "gguf"), edits), NULL);
    struct runner r;
    struct ks_error err = {0};
    const int32_t id = 9;
    const size_t starts[2] = {0, 1};
    const struct ks_batch batch = {.ids = &id, .starts = starts, .n_sequences = 1};
    float before[64], x[64];
    start(&r, m, KS_ISA_SCALAR, 1, 1);
    must(ks_body_embed(r.body, &r.net, &batch, x, &err), &err);
    memcpy(before, x, sizeof x);
    must(ks_body_layer(r.body, &r.net, &batch, 0, x, &err), &err);
    double added = 80 * 0.5 * 3 / (1 + exp(-1.0));
    for (size_t i = 0; i < 64; i++)
        assert_true(fabs((double)x[i] - (double)before[i] - added) < 1e-4);
    stop(&r);
    ks_model_unref(m);
    edit_finish();
}

struct rows {
    float *logits;
    size_t n, stop_at;
};

static int take_row(void *ctx, size_t position, const float *logits, size_t vocab,
                    struct ks_error *err)
{
    struct rows *r = ctx;
    if (position == r->stop_at)
        return ks_fail(err, KS_CANCELLED, "enough");
    assert_int_equal(position, r->n);
    assert_int_equal(vocab, SAMPLE_VOCAB);
    memcpy(r->logits + position * vocab, logits, vocab * sizeof *logits);
    r->n++;
    return 0;
}

static void model_logits_gives_every_position_in_order(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-rope-llama3");
    int32_t *ids = sample_ids("llama-rope-llama3");
    struct rows rows = {.logits = calloc(SAMPLE_IDS, SAMPLE_VOCAB * 4), .stop_at = SIZE_MAX};
    struct ks_error err = {0};
    enum ks_isa isa;
    must(ks_isa_choose(&isa, &err), &err);
    must(ks_model_logits(m, ids, SAMPLE_IDS, 0, take_row, &rows, &err), &err);
    assert_int_equal(rows.n, SAMPLE_IDS);
    float *direct = run_sample(m, "llama-rope-llama3", isa, 1);
    assert_memory_equal(rows.logits, direct, SAMPLE_IDS * SAMPLE_VOCAB * sizeof *direct);
    free(direct);
    free(rows.logits);
    free(ids);
    ks_model_unref(m);
}

static void a_row_that_fails_ends_model_logits(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    int32_t *ids = sample_ids("llama-tied");
    struct rows rows = {.logits = calloc(SAMPLE_IDS, SAMPLE_VOCAB * 4), .stop_at = 70};
    struct ks_error err = {0};
    assert_int_equal(ks_model_logits(m, ids, SAMPLE_IDS, 1, take_row, &rows, &err), -1);
    assert_int_equal(err.code, KS_CANCELLED);
    assert_string_equal(err.text, "enough");
    assert_int_equal(rows.n, 70);
    free(rows.logits);
    free(ids);
    ks_model_unref(m);
}

static void ids_that_cannot_be_computed_are_refused(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    int32_t ids[257] = {0};
    struct rows rows = {0};
    struct ks_error err = {0};
    assert_int_equal(ks_model_logits(m, ids, 257, 1, take_row, &rows, &err), -1);
    assert_says(&err,
                (const char *const[]){"llama-tied.gguf", "257 tokens", "context of 256", NULL});
    assert_int_equal(ks_model_logits(m, ids, 0, 1, take_row, &rows, &err), -1);
    assert_says(&err, (const char *const[]){"llama-tied.gguf", "no token ids", NULL});
    ids[2] = 320;
    assert_int_equal(ks_model_logits(m, ids, 3, 1, take_row, &rows, &err), -1);
    assert_says(&err,
                (const char *const[]){"llama-tied.gguf", "320", "position 2", "0..319", NULL});
    ids[2] = -1;
    assert_int_equal(ks_model_logits(m, ids, 3, 1, take_row, &rows, &err), -1);
    assert_says(&err, (const char *const[]){"-1", "position 2", NULL});
    assert_int_equal(rows.n, 0);
    ks_model_unref(m);
}

static void weights_that_are_not_finite_show_in_the_rows(void **state)
{
    (void)state;
    const struct edit edits[] = {{EDIT_POKE, .name = "blk.0.ffn_down.weight", .u = 5, .f = NAN},
                                 {EDIT_END}};
    struct ks_model *m = open_model(edited(sample_path("llama-untied", "gguf"), edits), NULL);
    struct rows rows = {.logits = calloc(1, SAMPLE_VOCAB * 4), .stop_at = SIZE_MAX};
    struct ks_error err = {0};
    const int32_t id = 3;
    must(ks_model_logits(m, &id, 1, 1, take_row, &rows, &err), &err);
    for (size_t i = 0; i < SAMPLE_VOCAB; i++)
        assert_true(isnan(rows.logits[i]));
    free(rows.logits);
    ks_model_unref(m);
    edit_finish();
}

static void a_batch_that_does_not_fit_its_body_is_an_error(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied"), *other = open_sample("llama-yarn");
    struct runner r, o;
    start(&r, m, KS_ISA_SCALAR, 1, 16);
    start(&o, other, KS_ISA_SCALAR, 1, 16);
    int32_t ids[200] = {0};
    float x[200] = {0};
    struct ks_error err = {0};
    const size_t rows[2] = {0, 17}, one[2] = {0, 1};
    const struct ks_batch many = {.ids = ids, .starts = rows, .n_sequences = 1};
    const struct ks_batch few = {.ids = ids, .starts = one, .n_sequences = 1};
    assert_int_equal(ks_body_layer(r.body, &r.net, &many, 0, x, &err), -1);
    assert_says(&err, (const char *const[]){"17 rows", "16", NULL});
    assert_int_equal(ks_body_layer(r.body, &o.net, &few, 0, x, &err), -1);
    assert_int_equal(err.code, KS_INTERNAL);
    stop(&r);
    stop(&o);
    ks_model_unref(m);
    ks_model_unref(other);
}

static void a_body_takes_the_bytes_it_announces(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    const struct ks_hparams *h = ks_model_hparams(m);
    /* 64 for the norm, and the wider of q + k + v + output (192) and gate + up (160), and a
     * position, and where a sequence's kept rows start */
    assert_int_equal(ks_body_bytes(h, 32), 32 * (4 * (64 + 192) + 4 + 8));
    assert_int_equal(ks_body_bytes(h, 33), ks_body_bytes(h, 48));
    assert_true(ks_body_bytes(h, SIZE_MAX / 8) == UINT64_MAX);
    ks_model_unref(m);
    m = open_sample("phi2"); /* the mixer's result beside it: 2 x 32, and q + k + v + output */
    assert_int_equal(ks_body_bytes(ks_model_hparams(m), 16), 16 * (4 * (2 * 32 + 4 * 32) + 4 + 8));
    ks_model_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tied_llama_agrees),
        cmocka_unit_test(an_untied_llama_agrees),
        cmocka_unit_test(llama3s_rope_factors_agree),
        cmocka_unit_test(linear_rope_scaling_agrees),
        cmocka_unit_test(attention_biases_agree),
        cmocka_unit_test(yarn_agrees),
        cmocka_unit_test(qwen2s_biases_agree),
        cmocka_unit_test(qwen3s_norms_of_q_and_k_agree),
        cmocka_unit_test(smollm3s_layers_without_rope_agree),
        cmocka_unit_test(gemma2s_soft_caps_and_windows_agree),
        cmocka_unit_test(gemma3s_pattern_of_windows_and_bases_agrees),
        cmocka_unit_test(phi3s_fused_tensors_agree),
        cmocka_unit_test(olmo2s_norms_behind_the_blocks_agree),
        cmocka_unit_test(granites_multipliers_agree),
        cmocka_unit_test(mistral3s_query_scale_agrees),
        cmocka_unit_test(the_other_families_agree),
        cmocka_unit_test(every_known_architecture_has_a_sample),
        cmocka_unit_test(a_matrix_of_every_type_agrees),
        cmocka_unit_test(threads_do_not_move_a_bit),
        cmocka_unit_test(sequences_of_a_batch_do_not_see_each_other),
        cmocka_unit_test(the_rows_wanted_of_the_last_layer_are_those_of_the_whole),
        cmocka_unit_test(a_prefix_has_the_rows_of_the_whole),
        cmocka_unit_test(stages_run_apart_equal_the_run_in_one),
        cmocka_unit_test(output_and_down_biases_are_added),
        cmocka_unit_test(gate_and_up_biases_are_added),
        cmocka_unit_test(model_logits_gives_every_position_in_order),
        cmocka_unit_test(a_row_that_fails_ends_model_logits),
        cmocka_unit_test(ids_that_cannot_be_computed_are_refused),
        cmocka_unit_test(weights_that_are_not_finite_show_in_the_rows),
        cmocka_unit_test(a_batch_that_does_not_fit_its_body_is_an_error),
        cmocka_unit_test(a_body_takes_the_bytes_it_announces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

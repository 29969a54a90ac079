/*
 * Keys and values that are kept as a type: against another program's logits, and what must hold
 * however the work is cut.
 */
#include "tests/engine/model/runner.h"

#include "tests/engine/model/edit.h"

#define KV_IDS ((size_t)40)

static const struct sample {
    const char *model;
    enum ks_type keys, values;
} samples[] = {
    {"qwen3", KS_F16, KS_BF16},  {"qwen3", KS_Q8_0, KS_Q8_0},  {"qwen3", KS_Q4_0, KS_Q5_1},
    {"qwen3", KS_F32, KS_Q4_1},  {"qwen3", KS_Q5_1, KS_F32},   {"gemma3", KS_Q8_0, KS_Q5_0},
    {"gemma3", KS_Q4_1, KS_F16}, {"gemma3", KS_Q5_0, KS_Q4_0},
};
#define N_SAMPLES (sizeof samples / sizeof *samples)

static const char *name_of(enum ks_type type)
{
    return ks_type_info((uint32_t)type)->name;
}

/* A file of the sample; malloc'ed. */
static void *read_sample(const struct sample *s, const char *extension, size_t bytes)
{
    char file[128];
    size_t len;
    snprintf(file, sizeof file, "kv/%s-%s-%s.%s", s->model, name_of(s->keys), name_of(s->values),
             extension);
    char *content = test_read_file(test_data(file), &len);
    assert_int_equal(len, bytes);
    return content;
}

/* Logits of n ids as one sequence, malloc'ed. */
static float *run_rounded(struct ks_model *m, const struct ks_rounding *rounding, enum ks_isa isa,
                          int threads, const int32_t *ids, size_t n)
{
    struct runner r;
    const size_t starts[2] = {0, n};
    start(&r, m, isa, threads, n);
    r.net.rounding = *rounding;
    float *logits = run(&r, ids, starts, 1);
    stop(&r);
    return logits;
}

static double largest_difference(const float *a, const float *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

/* On every path, with the same bits on all. */
static void check_sample(const struct sample *s)
{
    const size_t n = KV_IDS * SAMPLE_VOCAB;
    const struct ks_rounding rounding = {.keys = s->keys, .values = s->values}, none = {0};
    struct ks_model *m = open_sample(s->model);
    int32_t *ids = read_sample(s, "ids.i32", KV_IDS * sizeof *ids);
    float *want = read_sample(s, "logits.f32", n * sizeof *want);
    float *first = run_rounded(m, &rounding, KS_ISA_SCALAR, 2, ids, KV_IDS);
    float *plain = run_rounded(m, &none, KS_ISA_SCALAR, 2, ids, KV_IDS);
    double off = largest_difference(first, want, n);
    print_message("# %s, %s/%s: off by %.3g, rounding moves by %.3g\n", s->model, name_of(s->keys),
                  name_of(s->values), off, largest_difference(first, plain, n));
    assert_true(off <= SAMPLE_TOLERANCE);
    assert_true(largest_difference(first, plain, n) > 100 * SAMPLE_TOLERANCE);
    for (size_t i = 1; i < N_ISAS; i++) {
        if (!ks_isa_runs(isas[i]))
            continue;
        float *logits = run_rounded(m, &rounding, isas[i], 7, ids, KV_IDS);
        assert_memory_equal(logits, first, n * sizeof *logits);
        free(logits);
    }
    free(plain);
    free(first);
    free(want);
    free(ids);
    ks_model_unref(m);
}

static void every_type_agrees_with_another_program(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++)
        check_sample(&samples[i]);
}

/* Alone, a token attends to itself with a weight of exactly 1: its own value is rounded like any
 * other, and what its key is makes no difference. */
static void the_current_tokens_own_row_is_rounded_too(void **state)
{
    (void)state;
    const struct ks_rounding none = {0}, keys = {.keys = KS_Q4_0}, values = {.values = KS_Q4_0};
    struct ks_model *m = open_sample("qwen3");
    const int32_t id = 7;
    float *plain = run_rounded(m, &none, KS_ISA_SCALAR, 1, &id, 1);
    float *with_keys = run_rounded(m, &keys, KS_ISA_SCALAR, 1, &id, 1);
    float *with_values = run_rounded(m, &values, KS_ISA_SCALAR, 1, &id, 1);
    assert_memory_equal(with_keys, plain, SAMPLE_VOCAB * sizeof *plain);
    assert_true(largest_difference(with_values, plain, SAMPLE_VOCAB) > 0.01);
    free(plain);
    free(with_keys);
    free(with_values);
    ks_model_unref(m);
}

/* Keys that are their bias, 0 where the rope turns them, and values likewise: halves hold them. */
static void what_halves_hold_exactly_is_not_moved(void **state)
{
    (void)state;
    struct edit edits[64] = {{0}};
    static char names[8][32];
    size_t n = 0, named = 0;
    for (uint32_t layer = 0; layer < 2; layer++)
        for (int part = 0; part < 2; part++) {
            char *weight = names[named++], *bias = names[named++];
            snprintf(weight, sizeof *names, "blk.%u.attn_%c.weight", layer, "kv"[part]);
            snprintf(bias, sizeof *names, "blk.%u.attn_%c.bias", layer, "kv"[part]);
            edits[n++] = (struct edit){.kind = EDIT_FILL, .name = weight};
            edits[n++] = (struct edit){.kind = EDIT_FILL, .name = bias};
            for (uint32_t head = 0; head < 4; head++) /* of 8, of which 4 turn */
                edits[n++] = (struct edit){.kind = EDIT_POKE,
                                           .name = bias,
                                           .u = head * 8 + 4 + head,
                                           .f = 0.375f - (float)head};
        }
    edits[n] = (struct edit){.kind = EDIT_END};
    struct ks_model *m = open_model(edited(sample_path("phi2", "gguf"), edits), NULL);
    const struct ks_rounding none = {0}, halves = {.keys = KS_F16, .values = KS_BF16};
    int32_t *ids = sample_ids("phi2");
    float *plain = run_rounded(m, &none, KS_ISA_SCALAR, 1, ids, SAMPLE_IDS);
    float *rounded = run_rounded(m, &halves, KS_ISA_SCALAR, 1, ids, SAMPLE_IDS);
    assert_memory_equal(rounded, plain, SAMPLE_IDS * SAMPLE_VOCAB * sizeof *plain);
    free(plain);
    free(rounded);
    free(ids);
    ks_model_unref(m);
    edit_finish();
}

/* Each sequence of a batch has the bits that it has alone. */
static void company_never_moves_a_bit(void **state)
{
    (void)state;
    const size_t starts[] = {0, 1, 18, 18, 50, 96};
    const struct ks_rounding rounding = {.keys = KS_Q5_1, .values = KS_Q4_0};
    struct ks_model *m = open_sample("gemma3");
    int32_t *ids = sample_ids("gemma3");
    struct runner r;
    start(&r, m, KS_ISA_SCALAR, 3, SAMPLE_IDS);
    r.net.rounding = rounding;
    float *all = run(&r, ids, starts, 5);
    stop(&r);
    for (size_t s = 0; s < 5; s++) {
        size_t n = starts[s + 1] - starts[s];
        if (n == 0)
            continue;
        float *one = run_rounded(m, &rounding, KS_ISA_SCALAR, 1, ids + starts[s], n);
        assert_memory_equal(one, all + starts[s] * SAMPLE_VOCAB, n * SAMPLE_VOCAB * sizeof *one);
        free(one);
    }
    free(all);
    free(ids);
    ks_model_unref(m);
}

/* Bit i + 1: stage i differs. */
static unsigned differing(struct ks_model *m, struct ks_rounding rounding)
{
    struct ks_error err = {0};
    struct ks_net a = {0}, b = {0};
    must(ks_net_bind(&a, m, ks_model_tensor(m, 0), 4, &err), &err);
    must(ks_net_bind(&b, m, ks_model_tensor(m, 0), 4, &err), &err);
    b.rounding = rounding;
    unsigned bits = 0;
    for (int stage = -1; stage <= (int)a.hparams->layers; stage++)
        bits |= (unsigned)!ks_net_stage_equal(&a, &b, stage) << (stage + 1);
    ks_net_finish(&a);
    ks_net_finish(&b);
    ks_model_unref(m);
    return bits;
}

static void layers_without_attention_stay_the_same(void **state)
{
    (void)state;
    assert_int_equal(differing(open_sample("qwen3"), (struct ks_rounding){.keys = KS_F16}), 6);
    assert_int_equal(differing(open_sample("qwen3"), (struct ks_rounding){.values = KS_F16}), 6);
    assert_int_equal(differing(open_sample("lfm2"), (struct ks_rounding){.keys = KS_F16}), 4);
    assert_int_equal(differing(open_sample("qwen35"), (struct ks_rounding){.values = KS_F16}), 16);
    assert_int_equal(differing(open_sample("qwen3"), (struct ks_rounding){0}), 0);
}

/* qwen3.5's delta nets stand before its one attention: their residual has the same bits. */
static void delta_nets_keep_no_keys(void **state)
{
    (void)state;
    struct ks_error err = {0};
    const size_t starts[2] = {0, SAMPLE_IDS};
    struct ks_model *m = open_sample("qwen35");
    int32_t *ids = sample_ids("qwen35");
    float *x[2];
    for (int rounds = 0; rounds < 2; rounds++) {
        struct runner r;
        start(&r, m, KS_ISA_SCALAR, 2, SAMPLE_IDS);
        if (rounds)
            r.net.rounding = (struct ks_rounding){.keys = KS_Q8_0, .values = KS_Q8_0};
        const struct ks_batch batch = {.ids = ids, .starts = starts, .n_sequences = 1};
        x[rounds] = calloc(SAMPLE_IDS, r.net.hparams->hidden * sizeof(float));
        must(ks_body_embed(r.body, &r.net, &batch, x[rounds], &err), &err);
        for (size_t l = 0; l < 3; l++)
            must(ks_body_layer(r.body, &r.net, &batch, l, x[rounds], &err), &err);
        if (rounds)
            assert_memory_equal(x[0], x[1], SAMPLE_IDS * r.net.hparams->hidden * sizeof(float));
        stop(&r);
    }
    free(x[0]);
    free(x[1]);
    free(ids);
    ks_model_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_agrees_with_another_program),
        cmocka_unit_test(the_current_tokens_own_row_is_rounded_too),
        cmocka_unit_test(what_halves_hold_exactly_is_not_moved),
        cmocka_unit_test(company_never_moves_a_bit),
        cmocka_unit_test(layers_without_attention_stay_the_same),
        cmocka_unit_test(delta_nets_keep_no_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

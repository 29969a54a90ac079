#include "tests/engine/kernels/kernels.h"

#include "engine/kernels/experts.h"

#define N       37
#define EXPERTS 11
#define USED    3

/* What a route fills. */
struct sorted {
    uint32_t experts[N * USED], slots[N * USED], tokens[N * USED];
    float weights[N * USED];
    size_t starts[EXPERTS + 1];
};

static struct ks_routes routes_in(struct sorted *s)
{
    return (struct ks_routes){s->experts, s->slots, s->tokens, s->weights, s->starts};
}

static void route(enum ks_isa isa, int threads, const struct ks_router *router, const float *logits,
                  size_t n, struct sorted *out)
{
    float *scores = test_alloc(n * router->experts, sizeof *scores);
    memcpy(scores, logits, n * router->experts * sizeof *scores);
    struct ks_cpu *cpu = test_cpu(threads, isa);
    const struct ks_routes routes = routes_in(out);
    ks_route(cpu, router, scores, n, &routes);
    ks_cpu_destroy(cpu);
    free(scores);
}

static const struct ks_router plain = {
    .experts = EXPERTS, .used = USED, .gating = KS_GATING_SOFTMAX, .scale = 1.0f};

/* Each token's experts are those whose scores fewest others beat, counted for each anew. */
static void the_experts_of_greatest_score_are_taken_in_ascending_order(void **state)
{
    (void)state;
    float *logits = test_floats(N * EXPERTS, 5);
    struct sorted s;
    route(KS_ISA_SCALAR, 1, &plain, logits, N, &s);
    for (size_t t = 0; t < N; t++) {
        const float *row = logits + t * EXPERTS;
        size_t i = 0;
        for (uint32_t e = 0; e < EXPERTS; e++) {
            size_t before = 0;
            for (size_t o = 0; o < EXPERTS; o++)
                before += row[o] > row[e] || (o < e && row[o] >= row[e]);
            if (before < USED)
                assert_int_equal(s.experts[t * USED + i++], e);
        }
        assert_int_equal(i, USED);
    }
    free(logits);
}

static void equal_scores_fall_to_the_lower_index(void **state)
{
    (void)state;
    float logits[EXPERTS] = {0};
    struct sorted s;
    route(KS_ISA_SCALAR, 1, &plain, logits, 1, &s);
    for (uint32_t i = 0; i < USED; i++)
        assert_int_equal(s.experts[i], i);
    logits[9] = logits[4] = logits[7] = logits[2] = 1.0f;
    route(KS_ISA_SCALAR, 1, &plain, logits, 1, &s);
    assert_int_equal(s.experts[0], 2);
    assert_int_equal(s.experts[1], 4);
    assert_int_equal(s.experts[2], 7);
}

static void weights_are_the_gatings_formula(void **state)
{
    (void)state;
    float *logits = test_floats(N * EXPERTS, 6);
    for (size_t i = 0; i < (size_t)N * EXPERTS; i++)
        logits[i] *= 6.0f;
    for (int gating = KS_GATING_SOFTMAX; gating <= KS_GATING_CHOSEN; gating++)
        for (int normalize = 0; normalize < 2; normalize++) {
            struct ks_router router = plain;
            router.gating = (enum ks_gating)gating;
            router.normalize = normalize;
            router.scale = 2.5f;
            struct sorted s;
            route(KS_ISA_SCALAR, 2, &router, logits, N, &s);
            for (size_t t = 0; t < N; t++) {
                double all = 0, chosen = 0, value[USED];
                for (size_t e = 0; e < EXPERTS; e++)
                    all += exp((double)logits[t * EXPERTS + e]);
                for (size_t i = 0; i < USED; i++) {
                    double x = (double)logits[t * EXPERTS + s.experts[t * USED + i]];
                    value[i] = gating == KS_GATING_SIGMOID ? 1 / (1 + exp(-x)) : exp(x);
                    chosen += value[i];
                }
                double divisor = gating == KS_GATING_CHOSEN || normalize ? chosen
                                 : gating == KS_GATING_SOFTMAX           ? all
                                                                         : 1;
                for (size_t i = 0; i < USED; i++)
                    assert_true(fabs((double)s.weights[t * USED + i] - 2.5 * value[i] / divisor) <
                                2e-6);
            }
        }
    free(logits);
}

static void a_preference_moves_the_choice_and_not_the_weights(void **state)
{
    (void)state;
    const float logits[EXPERTS] = {1, 0.5f, 0, -1, -2, -3, -3, -3, -3, -3, -3};
    const float preference[EXPERTS] = {0, 0, 0, 0, 2};
    struct ks_router router = plain;
    router.gating = KS_GATING_SIGMOID;
    router.preference = preference;
    struct sorted s;
    route(KS_ISA_SCALAR, 1, &router, logits, 1, &s);
    assert_int_equal(s.experts[0], 0);
    assert_int_equal(s.experts[1], 1);
    assert_int_equal(s.experts[2], 4);
    assert_true(fabs((double)s.weights[2] - 1 / (1 + exp(2.0))) < 1e-7);
}

static void numbers_are_sorted_by_expert_and_then_by_token(void **state)
{
    (void)state;
    float *logits = test_floats(N * EXPERTS, 7);
    struct sorted s;
    route(KS_ISA_SCALAR, 2, &plain, logits, N, &s);
    assert_int_equal(s.starts[0], 0);
    assert_int_equal(s.starts[EXPERTS], N * USED);
    for (size_t t = 0; t < N; t++)
        for (size_t i = t * USED; i < (t + 1) * USED; i++) {
            assert_int_equal(s.tokens[s.slots[i]], t);
            assert_in_range(s.slots[i], s.starts[s.experts[i]], s.starts[s.experts[i] + 1] - 1);
        }
    for (size_t e = 0; e < EXPERTS; e++)
        for (size_t i = s.starts[e] + 1; i < s.starts[e + 1]; i++)
            assert_true(s.tokens[i - 1] < s.tokens[i]);
    free(logits);
}

static void every_path_and_thread_count_routes_alike(void **state)
{
    (void)state;
    float *logits = test_floats(N * EXPERTS, 8);
    test_sprinkle(logits + EXPERTS, EXPERTS, 4, NAN);
    test_sprinkle(logits + 2 * EXPERTS, EXPERTS, 1, NAN);
    test_sprinkle(logits + 3 * EXPERTS, EXPERTS, 3, INFINITY);
    for (int gating = KS_GATING_SOFTMAX; gating <= KS_GATING_CHOSEN; gating++) {
        struct ks_router router = plain;
        router.gating = (enum ks_gating)gating;
        router.normalize = true;
        struct sorted want, got;
        route(KS_ISA_SCALAR, 1, &router, logits, N, &want);
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                route(all_isas[i], test_threads[t], &router, logits, N, &got);
                assert_memory_equal(got.experts, want.experts, sizeof want.experts);
                assert_memory_equal(got.slots, want.slots, sizeof want.slots);
                assert_same_bits(got.weights, want.weights, N * USED, "weights");
            }
    }
    free(logits);
}

/* A token alone has what it has among others. */
static void a_route_depends_on_its_token_alone(void **state)
{
    (void)state;
    float *logits = test_floats(N * EXPERTS, 9);
    struct sorted all, one;
    route(KS_ISA_SCALAR, 1, &plain, logits, N, &all);
    for (size_t t = 0; t < N; t++) {
        route(KS_ISA_SCALAR, 1, &plain, logits + t * EXPERTS, 1, &one);
        assert_memory_equal(one.experts, all.experts + t * USED, USED * sizeof *one.experts);
        assert_same_bits(one.weights, all.weights + t * USED, USED, "weights");
    }
    free(logits);
}

#define DIM 21

/* Experts that multiply by a number and add one: what comes out is the sum of weight * (factor * x
 * + bias). */
static void what_is_gathered_biased_and_combined_is_the_weighted_sum(void **state)
{
    (void)state;
    float *logits = test_floats(N * EXPERTS, 10), *x = test_floats(N * DIM, 11);
    float *bias = test_floats(EXPERTS * DIM, 12), *want = test_alloc(N * DIM, sizeof *want);
    float *rows = test_alloc(N * USED * DIM, sizeof *rows), *out = test_alloc(N * DIM, sizeof *out);
    struct sorted s;
    const struct ks_routes routes = routes_in(&s);
    route(KS_ISA_SCALAR, 1, &plain, logits, N, &s);
    for (size_t t = 0; t < N; t++)
        for (size_t d = 0; d < DIM; d++)
            for (size_t i = t * USED; i < (t + 1) * USED; i++) {
                float result = x[t * DIM + d] * (float)s.experts[i];
                result += bias[s.experts[i] * DIM + d];
                want[t * DIM + d] = fmaf(s.weights[i], result, want[t * DIM + d]);
            }
    for (size_t i = 0; i < N_ISAS; i++)
        for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
            struct ks_cpu *cpu = test_cpu(test_threads[t], all_isas[i]);
            ks_gather_rows(cpu, x, DIM, s.tokens, N * USED, rows);
            for (size_t e = 0; e < EXPERTS; e++)
                for (size_t k = s.starts[e] * DIM; k < s.starts[e + 1] * DIM; k++)
                    rows[k] *= (float)e;
            ks_add_expert_bias(cpu, rows, bias, DIM, s.starts, EXPERTS);
            ks_combine(cpu, &routes, USED, rows, DIM, N, out);
            assert_same_bits(out, want, N * DIM, ks_isa_name(all_isas[i]));
            ks_cpu_destroy(cpu);
        }
    free(logits);
    free(x);
    free(bias);
    free(want);
    free(rows);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_experts_of_greatest_score_are_taken_in_ascending_order),
        cmocka_unit_test(equal_scores_fall_to_the_lower_index),
        cmocka_unit_test(weights_are_the_gatings_formula),
        cmocka_unit_test(a_preference_moves_the_choice_and_not_the_weights),
        cmocka_unit_test(numbers_are_sorted_by_expert_and_then_by_token),
        cmocka_unit_test(every_path_and_thread_count_routes_alike),
        cmocka_unit_test(a_route_depends_on_its_token_alone),
        cmocka_unit_test(what_is_gathered_biased_and_combined_is_the_weighted_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

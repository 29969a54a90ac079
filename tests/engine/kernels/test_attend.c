#include "tests/engine/kernels/kernels.h"

struct shape {
    size_t heads, kv_heads, head_dim, head_dim_v, window;
    bool sinks;
    float softcap;
};

/* One far above the scores, one among them, some far below. */
static const float sinks[] = {60.0f, 0.5f, -3.0f, -90.0f, -INFINITY, 7.0f};

#define N_SEQUENCES 6
static const size_t starts[N_SEQUENCES + 1] = {0, 1, 14, 29, 29, 130, 202};
#define N 202

/* q, k, v with padding between rows. */
struct inputs {
    float *q, *k, *v;
    struct ks_attention a;
};

static struct inputs create_inputs(const struct shape *s)
{
    struct ks_attention a = {.heads = s->heads,
                             .kv_heads = s->kv_heads,
                             .head_dim = s->head_dim,
                             .head_dim_v = s->head_dim_v,
                             .window = s->window,
                             .starts = starts,
                             .n_sequences = N_SEQUENCES,
                             .scale = 1.7f,
                             .softcap = s->softcap,
                             .sinks = s->sinks ? sinks : NULL};
    a.ldq = s->heads * s->head_dim + 3;
    a.ldk = s->kv_heads * s->head_dim + 1;
    a.ldv = s->kv_heads * s->head_dim_v;
    struct inputs in = {test_floats(N * a.ldq, 1), test_floats(N * a.ldk, 2),
                        test_floats(N * a.ldv, 3), a};
    in.a.q = in.q, in.a.k = in.k, in.a.v = in.v;
    return in;
}

static void free_inputs(struct inputs *in)
{
    free(in->q);
    free(in->k);
    free(in->v);
}

static float *attend(enum ks_isa isa, int threads, const struct ks_attention *a)
{
    struct ks_cpu *cpu = test_cpu(threads, isa);
    size_t ld = a->heads * a->head_dim_v + 5;
    float *out = test_floats(N * ld, 4);
    struct ks_error err;
    assert_int_equal(ks_attend(cpu, a, out, ld, &err), 0);
    ks_cpu_destroy(cpu);
    return out;
}

/* One output in f64, straight from the formula. */
static double formula(const struct ks_attention *a, size_t start, size_t i, size_t head, size_t d)
{
    size_t kv = head / (a->heads / a->kv_heads);
    size_t first = a->window > 0 && i + 1 > a->window ? i + 1 - a->window : 0;
    double sum = 0.0, out = 0.0, max = -INFINITY, score[256];
    for (size_t j = first; j <= i; j++) {
        double dot = 0.0;
        for (size_t e = 0; e < a->head_dim; e++)
            dot += (double)a->q[(start + i) * a->ldq + head * a->head_dim + e] *
                   (double)a->k[(start + j) * a->ldk + kv * a->head_dim + e];
        score[j] = dot * (double)a->scale;
        if (a->softcap > 0)
            score[j] = (double)a->softcap * tanh(score[j] / (double)a->softcap);
        max = fmax(max, score[j]);
    }
    if (a->sinks) {
        max = fmax(max, (double)a->sinks[head]);
        sum = exp((double)a->sinks[head] - max);
    }
    for (size_t j = first; j <= i; j++) {
        double p = exp(score[j] - max);
        sum += p;
        out += p * (double)a->v[(start + j) * a->ldv + kv * a->head_dim_v + d];
    }
    return out / sum;
}

static const struct shape shapes[] = {
    {4, 4, 16, 16, 0, false, 0},  {6, 2, 64, 48, 0, false, 0},   {3, 1, 20, 33, 0, false, 0},
    {2, 1, 8, 7, 1, false, 0},    {2, 2, 64, 64, 5, false, 0},   {2, 1, 32, 16, 16, false, 0},
    {1, 1, 40, 40, 40, false, 0}, {2, 2, 16, 32, 500, false, 0}, {6, 2, 20, 16, 0, true, 0},
    {6, 3, 16, 24, 9, true, 0},   {4, 2, 32, 16, 0, false, 5},   {2, 1, 16, 20, 16, false, 8},
};
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

/* Scores reach 20, where an f32 ulp is 2e-6; a chain of 64 steps makes a few of those, and exp
 * passes them on as relative errors of values below 1. */
static void the_scalar_path_computes_the_formula(void **state)
{
    (void)state;
    const double tolerance = 1e-5;
    for (size_t n = 0; n < N_SHAPES; n++) {
        struct inputs in = create_inputs(&shapes[n]);
        float *out = attend(KS_ISA_SCALAR, 1, &in.a);
        size_t dim = in.a.heads * in.a.head_dim_v;
        for (size_t s = 0; s < N_SEQUENCES; s++)
            for (size_t i = starts[s]; i < starts[s + 1]; i++)
                for (size_t c = 0; c < dim; c++) {
                    double want = formula(&in.a, starts[s], i - starts[s], c / in.a.head_dim_v,
                                          c % in.a.head_dim_v);
                    double got = (double)out[i * (dim + 5) + c];
                    if (!(fabs(got - want) < tolerance))
                        fail_msg("shape %zu, row %zu, output %zu: %g, not %g", n, i, c, got, want);
                }
        free(out);
        free_inputs(&in);
    }
}

static void every_path_and_thread_count_gives_the_scalar_bits(void **state)
{
    (void)state;
    for (size_t n = 0; n < N_SHAPES; n++) {
        struct inputs in = create_inputs(&shapes[n]);
        float *want = attend(KS_ISA_SCALAR, 1, &in.a);
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                float *got = attend(all_isas[i], test_threads[t], &in.a);
                char what[64];
                snprintf(what, sizeof what, "%s shape %zu", ks_isa_name(all_isas[i]), n);
                assert_same_bits(got, want, N * (in.a.heads * in.a.head_dim_v + 5), what);
                free(got);
            }
        free(want);
        free_inputs(&in);
    }
}

/* 0 * inf is NaN, so a masked key must not be multiplied by anything. */
static void what_a_query_does_not_see_cannot_touch_it(void **state)
{
    (void)state;
    const size_t start = starts[4], bad = start + 60;
    for (size_t n = 0; n < N_SHAPES; n++) {
        struct inputs in = create_inputs(&shapes[n]);
        size_t ld = in.a.heads * in.a.head_dim_v + 5;
        for (size_t i = 0; i < N_ISAS; i++) {
            if (!test_runs(all_isas[i]))
                continue;
            float *clean = attend(all_isas[i], 2, &in.a);
            float k = in.k[bad * in.a.ldk], v = in.v[bad * in.a.ldv];
            in.k[bad * in.a.ldk] = NAN;
            in.v[bad * in.a.ldv] = INFINITY;
            float *dirty = attend(all_isas[i], 2, &in.a);
            in.k[bad * in.a.ldk] = k;
            in.v[bad * in.a.ldv] = v;
            size_t seen_until = shapes[n].window ? bad + shapes[n].window : starts[5];
            seen_until = seen_until > starts[5] ? starts[5] : seen_until;
            assert_same_bits(dirty, clean, bad * ld, "before it");
            for (size_t row = bad; row < seen_until; row++)
                assert_true(isnan(dirty[row * ld]));
            assert_same_bits(dirty + seen_until * ld, clean + seen_until * ld,
                             (N - seen_until) * ld, "after it");
            free(clean);
            free(dirty);
        }
        free_inputs(&in);
    }
}

/* The last positions alone, as a caller asks who needs no others. */
static void fewer_queries_give_the_rows_of_all(void **state)
{
    (void)state;
    const size_t counts[N_SEQUENCES] = {1, 5, 15, 0, 64, 0};
    size_t q_starts[N_SEQUENCES + 1] = {0};
    for (size_t n = 0; n < N_SHAPES; n++) {
        struct inputs in = create_inputs(&shapes[n]);
        size_t ld = in.a.heads * in.a.head_dim_v + 5;
        float *all = attend(KS_ISA_SCALAR, 1, &in.a);
        float *q = test_alloc(N * in.a.ldq, sizeof *q), *want = test_floats(N * ld, 4);
        for (size_t s = 0; s < N_SEQUENCES; s++) {
            size_t row = starts[s + 1] - counts[s];
            q_starts[s + 1] = q_starts[s] + counts[s];
            memcpy(q + q_starts[s] * in.a.ldq, in.q + row * in.a.ldq,
                   counts[s] * in.a.ldq * sizeof *q);
            for (size_t c = 0; c < counts[s]; c++) /* without the padding, which stays */
                memcpy(want + (q_starts[s] + c) * ld, all + (row + c) * ld, (ld - 5) * sizeof *q);
        }
        in.a.q = q;
        in.a.q_starts = q_starts;
        for (size_t i = 0; i < N_ISAS; i++)
            for (size_t t = 0; t < N_TEST_THREADS && test_runs(all_isas[i]); t++) {
                float *got = attend(all_isas[i], test_threads[t], &in.a);
                assert_same_bits(got, want, N * ld, ks_isa_name(all_isas[i]));
                free(got);
            }
        free(all);
        free(q);
        free(want);
        free_inputs(&in);
    }
}

static void no_sequences_are_no_work(void **state)
{
    (void)state;
    struct ks_cpu *cpu = test_cpu(1, KS_ISA_SCALAR);
    const size_t none[] = {0};
    struct ks_attention a = {
        .heads = 1, .kv_heads = 1, .head_dim = 4, .head_dim_v = 4, .starts = none, .scale = 1.0f};
    struct ks_error err;
    float out = 42.0f;
    assert_int_equal(ks_attend(cpu, &a, &out, 4, &err), 0);
    assert_true(out == 42.0f);
    ks_cpu_destroy(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scalar_path_computes_the_formula),
        cmocka_unit_test(every_path_and_thread_count_gives_the_scalar_bits),
        cmocka_unit_test(what_a_query_does_not_see_cannot_touch_it),
        cmocka_unit_test(fewer_queries_give_the_rows_of_all),
        cmocka_unit_test(no_sequences_are_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

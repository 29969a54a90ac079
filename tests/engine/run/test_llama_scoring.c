/*
 * llama-perplexity's way of scoring, against what it and its library measured: windows, positions,
 * and with rounded activations also its arithmetic.
 */
#include "tests/testing.h"

#include <jansson.h>
#include <math.h>

#include "tests/engine/run/plans.h"

enum { WINDOWS = 13, SCORED = 31 }; /* of 64 tokens */

static const char *const vocabularies[] = {"even", "odd"};

/* Blocks of what it prints. */
#define PERPLEXITIES  "Perplexity statistics"
#define DIVERGENCES   "KL divergence statistics"
#define PROBABILITIES "Token probability statistics"

struct expected {
    json_t *all, *exact, *rounded;
};

static struct expected load_expected(const char *vocabulary)
{
    json_error_t why;
    struct expected e = {.all = json_load_file(test_data("perplexity/expected.json"), 0, &why)};
    json_t *one = json_object_get(e.all, vocabulary);
    e.exact = json_object_get(one, "exact_f32_arm");
    e.rounded =
        json_object_get(json_object_get(json_object_get(one, "arms"), "q4_0"), "statistics");
    assert_true(json_is_object(e.exact) && json_is_object(e.rounded));
    return e;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* A printed line's number. */
static double printed(const struct expected *e, const char *block, const char *name)
{
    size_t i;
    json_t *line;
    json_array_foreach(json_object_get(e->rounded, block), i, line)
    {
        if (strcmp(json_string_value(json_object_get(line, "name")), name) == 0)
            return number(line, "value");
    }
    fail_msg("no line %s", name);
    return 0;
}

static struct ks_model *open_model(const char *kind, const char *vocabulary, const char *type)
{
    char name[64];
    struct ks_error err;
    snprintf(name, sizeof name, "model/%s-%s%s.gguf", kind, vocabulary, type);
    struct ks_model *m = ks_model_open(test_data(name), NULL, NULL, &err);
    if (!m)
        fail_msg("%s", err.text);
    return m;
}

static struct ks_plan *plan_for(const char *vocabulary)
{
    struct ks_error err;
    struct ks_plan *plan = ks_plan_create(&err);
    plan->reference = open_model("model", vocabulary, "");
    plan->window = 64;
    plan->threads = 2;
    plan->scoring = KS_SCORING_LLAMA;
    add_corpus(plan, "corpus", test_data("perplexity/corpus.txt"), "corpus.txt");
    add_arm(plan, "f32", NULL, NULL);
    plan->arms[0].model = open_model("arm", vocabulary, "-q4_0");
    return plan;
}

static void assert_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-5 * fabs(wanted)))
        fail_msg("%.10g is not near %.10g", found, wanted);
}

static void assert_within(double found, double wanted, double room)
{
    if (!(fabs(found - wanted) <= room))
        fail_msg("%.10g is not within %g of %.10g", found, room, wanted);
}

/* What the hook saw of the first arm behind each window. */
struct seen {
    double sum[WINDOWS]; /* of KLDs so far */
    size_t n;
};

static void look(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    (void)run;
    struct seen *seen = ctx;
    const struct ks_numbers *a = &now->arms[0].numbers;
    assert_int_equal(a->n, (seen->n + 1) * SCORED);
    seen->sum[seen->n++] = a->kld_mean * (double)a->n;
}

/* Each window's own sum and largest value. */
static void check_windows(const struct seen *seen, const struct ks_numbers *a, const json_t *klds)
{
    double before = 0;
    for (size_t w = 0; w < WINDOWS; w++) {
        double sum = 0, most = 0;
        for (size_t i = 0; i < SCORED; i++) {
            double kld = json_number_value(json_array_get(klds, w * SCORED + i));
            sum += kld;
            most = fmax(most, kld);
        }
        assert_near(seen->sum[w] - before, sum);
        assert_near((double)a->trend[w], most);
        before = seen->sum[w];
    }
}

static void every_window_has_the_divergence_of_its_library(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct expected e = load_expected(vocabularies[i]);
        struct seen seen = {0};
        struct ks_plan *plan = plan_for(vocabularies[i]);
        plan->hooks = (struct ks_hooks){.ctx = &seen, .on_window = look};
        const struct ks_snapshot *s = run_to_end(plan);
        const struct ks_numbers *a = &s->arms[0].numbers;
        assert_int_equal(seen.n, WINDOWS);
        assert_int_equal(a->n, (size_t)number(e.exact, "n"));
        assert_near(a->kld_mean, number(e.exact, "kld_mean"));
        assert_near(a->kld_median, number(e.exact, "kld_median"));
        assert_near(a->kld_p99, number(e.exact, "kld_p99"));
        assert_near(a->kld_max, number(e.exact, "kld_max"));
        assert_near(a->top1_agreement, number(e.exact, "top1_agreement"));
        assert_near(a->ppl_ref, number(e.exact, "ppl_ref"));
        assert_near(a->ppl_arm, number(e.exact, "ppl_arm"));
        check_windows(&seen, a, json_object_get(e.exact, "kld"));
        ks_snapshot_release(s);
        json_decref(e.all);
    }
}

/*
 * Its kernels sum whole numbers within blocks where we go on with f32, and its numbers have been
 * through a file of 16 bits: 2e-5 nats. The same arm with f32 activations is 4.5e-4 away.
 */
static void rounded_activations_have_what_it_prints(void **state)
{
    (void)state;
    struct expected e = load_expected("odd");
    struct ks_plan *plan = plan_for("odd");
    plan->arms[0].activations = KS_ACTIVATIONS_Q8;
    const struct ks_snapshot *s = run_to_end(plan);
    const struct ks_numbers *a = &s->arms[0].numbers;
    assert_within(a->kld_mean, printed(&e, DIVERGENCES, "Mean    KLD"), 2e-5);
    assert_within(a->kld_median, printed(&e, DIVERGENCES, "Median  KLD"), 2e-5);
    assert_within(a->kld_max, printed(&e, DIVERGENCES, "Maximum KLD"), 2e-5);
    assert_within(a->ln_ppl_ratio, printed(&e, PERPLEXITIES, "Mean ln(PPL(Q)/PPL(base))"), 4e-5);
    assert_within(100 * a->top1_agreement, printed(&e, PROBABILITIES, "Same top p"), 5e-4);
    assert_within(100 * a->delta_p_rms, printed(&e, PROBABILITIES, "RMS \u0394p"), 1e-3);
    ks_snapshot_release(s);
    json_decref(e.all);
}

static void the_facts_tell_of_one_text(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_for("even");
    add_corpus(plan, "again", test_data("perplexity/corpus.txt"), "corpus.txt");
    const struct ks_snapshot *s = run_to_end(plan);
    const struct ks_facts *f = s->facts;
    assert_string_equal(f->scoring, "llama");
    assert_string_equal(f->order, "file");
    assert_int_equal(f->context_min, 32);
    assert_int_equal(f->documents, 1);
    assert_int_equal(f->n_corpora, 1);
    assert_string_equal(f->corpora[0].name, "corpus + again");
    assert_int_equal(f->windows, f->tokens / 64);
    assert_int_equal(f->n, f->windows * SCORED);
    assert_int_equal(f->to_compute, f->windows * 63);
    ks_snapshot_release(s);
}

static void fail_with(struct ks_plan *plan, const char *words)
{
    struct ks_error err = {0};
    struct ks_run *run = ks_run_create(plan, &err);
    if (run && ks_run_start(run, &err) == 0)
        assert_int_equal(ks_run_join(run, &err), -1);
    ks_run_destroy(run);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, err.text);
}

static void what_it_has_no_say_in_is_refused(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_for("even");
    plan->context_min = 8;
    fail_with(plan, "context_min = 8: scoring = \"llama\" always scores the second half");
    plan = plan_for("even");
    plan->window = 2;
    fail_with(plan, "window = 2: scoring = \"llama\" scores something from 3");
    plan = plan_for("even");
    plan->corpora[0].max_tokens = 63;
    fail_with(plan, "come to 63 tokens, which fill no window of 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window_has_the_divergence_of_its_library),
        cmocka_unit_test(rounded_activations_have_what_it_prints),
        cmocka_unit_test(the_facts_tell_of_one_text),
        cmocka_unit_test(what_it_has_no_say_in_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

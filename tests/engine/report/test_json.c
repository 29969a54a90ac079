#include "tests/testing.h"

#include <jansson.h>

#include "tests/engine/report/golden.h"
#include "tests/engine/report/sample.h"

static json_t *parsed(const struct ks_snapshot *s, bool timing)
{
    struct ks_error err;
    char *text = ks_report_json(s, timing, &err);
    if (!text)
        fail_msg("%s", err.text);
    json_error_t where;
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!o)
        fail_msg("line %d: %s", where.line, where.text);
    free(text);
    return o;
}

static void assert_keys(json_t *o, const char *wanted)
{
    char found[1024] = "";
    size_t at = 0;
    const char *key;
    json_t *value;
    json_object_foreach(o, key, value) at +=
        (size_t)snprintf(found + at, sizeof found - at, "%s%s", at ? " " : "", key);
    assert_string_equal(found, wanted);
}

static double number(json_t *o, const char *key)
{
    assert_true(json_is_real(json_object_get(o, key)));
    return json_real_value(json_object_get(o, key));
}

#define ARM_KEYS                                                                                   \
    "name recipe file bytes bits_per_weight backend n kld_mean kld_sem kld_median kld_p90 "        \
    "kld_p95 kld_p99 kld_p999 kld_max kld_reverse_mean top1_agreement topk_overlap ppl_ref "       \
    "ppl_arm ppl_arm_sem ln_ppl_ratio delta_p_mean delta_p_rms nonfinite infinite corpora"
#define SUMMARY_KEYS                                                                               \
    "program scenario reference window scoring top_k backend documents tokens n ppl_ref corpora "  \
    "manifest arms"

static void keys_stand_in_the_documented_order(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    json_t *o = parsed(&s.snapshot, false), *arms = json_object_get(o, "arms");
    assert_keys(o, SUMMARY_KEYS);
    assert_keys(json_object_get(o, "program"), "name version");
    assert_keys(json_object_get(o, "reference"), "file architecture bytes hash");
    assert_keys(json_object_get(o, "backend"), "head body");
    assert_keys(json_array_get(json_object_get(o, "corpora"), 1), "name documents tokens n");
    assert_int_equal(json_array_size(arms), N_ARMS);
    assert_keys(json_array_get(arms, Q8), ARM_KEYS);
    assert_keys(json_array_get(json_object_get(json_array_get(arms, Q8), "corpora"), 0),
                "name n kld_mean kld_p99 ppl_arm");
    json_decref(o);
}

static void numbers_survive_the_text_to_the_last_bit(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.arms[Q8].numbers.kld_p90 = 0.1;
    s.arms[Q8].numbers.kld_max = nextafter(1.0 / 3, 1);
    s.arms[Q8].numbers.kld_median = 4.9406564584124654e-324;
    json_t *o = parsed(&s.snapshot, false);
    json_t *arm = json_array_get(json_object_get(o, "arms"), Q8);
    assert_true(number(arm, "kld_mean") == s.arms[Q8].numbers.kld_mean);
    assert_true(number(arm, "kld_p90") == 0.1);
    assert_true(number(arm, "kld_max") == nextafter(1.0 / 3, 1));
    assert_true(number(arm, "kld_median") == 4.9406564584124654e-324);
    assert_true(number(o, "ppl_ref") == 6.055997579512933);
    json_decref(o);
}

static void what_does_not_exist_is_null(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.facts.scenario = NULL;
    struct ks_error err;
    char *text = ks_report_json(&s.snapshot, false, &err);
    assert_non_null(text);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf,"));
    free(text);
    json_t *o = parsed(&s.snapshot, false), *arms = json_object_get(o, "arms");
    json_t *broken = json_array_get(arms, BROKEN), *failed = json_array_get(arms, FAILED);
    assert_true(json_is_null(json_object_get(o, "scenario")));
    assert_true(json_is_null(json_object_get(broken, "kld_mean")));
    assert_true(json_is_null(json_object_get(broken, "kld_sem")));
    assert_int_equal(json_integer_value(json_object_get(broken, "infinite")), 1);
    assert_true(json_is_null(json_object_get(failed, "kld_p99")));
    assert_int_equal(json_integer_value(json_object_get(failed, "n")), 0);
    assert_true(json_is_null(json_object_get(json_array_get(arms, Q4), "file")));
    json_decref(o);
}

static void llama_scoring_tells_what_it_left_over(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.facts.scoring = "llama";
    s.facts.tokens = 7 * 512 + 55;
    json_t *o = parsed(&s.snapshot, false);
    assert_int_equal(json_integer_value(json_object_get(o, "left_over")), 55);
    json_decref(o);
}

static void the_manifest_names_an_importance_matrix_by_its_hash(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.arm_facts[Q4].imatrix_hash = "0123456789abcdef0123456789abcdef";
    json_t *o = parsed(&s.snapshot, false);
    json_t *arms = json_object_get(json_object_get(o, "manifest"), "arms");
    assert_string_equal(json_string_value(json_object_get(json_array_get(arms, Q4), "imatrix")),
                        "0123456789abcdef0123456789abcdef");
    assert_null(json_object_get(json_array_get(arms, Q8), "imatrix"));
    json_decref(o);
}

static void only_trouble_adds_keys(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    json_t *o = parsed(&s.snapshot, false), *arms = json_object_get(o, "arms");
    assert_keys(json_array_get(arms, BROKEN), ARM_KEYS " first_nonfinite");
    json_t *first = json_object_get(json_array_get(arms, BROKEN), "first_nonfinite");
    assert_string_equal(json_string_value(json_object_get(first, "file")), "corpora/chat.jsonl");
    assert_int_equal(json_integer_value(json_object_get(first, "line")), 3);
    assert_int_equal(json_integer_value(json_object_get(first, "offset")), 395);
    assert_keys(json_array_get(arms, FAILED), ARM_KEYS " error");
    assert_keys(json_array_get(arms, DROPPED), ARM_KEYS " dropped");
    json_decref(o);
    s.snapshot.state = KS_RUN_STOPPED;
    s.snapshot.windows = 12;
    o = parsed(&s.snapshot, false);
    assert_keys(o, SUMMARY_KEYS " unfinished");
    assert_keys(json_object_get(o, "unfinished"), "state windows of");
    json_decref(o);
}

static void the_machine_and_the_moment_show_only_when_asked(void **state)
{
    (void)state;
    struct sample a, b;
    struct ks_error err;
    sample_init(&a);
    sample_init(&b);
    b.facts.threads = 64;
    b.facts.isa = "scalar";
    b.snapshot.elapsed_ns = 1;
    b.snapshot.tokens = 5;
    b.snapshot.flops = 1;
    b.snapshot.serial = 1000;
    char *one = ks_report_json(&a.snapshot, false, &err);
    char *other = ks_report_json(&b.snapshot, false, &err);
    assert_string_equal(one, other);
    free(one);
    free(other);
    json_t *o = parsed(&a.snapshot, true);
    assert_keys(o, SUMMARY_KEYS " timing");
    assert_keys(json_object_get(o, "timing"),
                "prepare_s elapsed_s cpu_s tokens tokens_per_s gflops peak_gflops threads isa "
                "head_gain head_note");
    assert_true(number(json_object_get(o, "timing"), "tokens_per_s") == 7150);
    json_decref(o);
}

static void names_that_are_no_utf8_are_repaired(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.arm_facts[Q8].name = "bad \xFF\xC3( \xE2\x82\xAC";
    s.facts.seed = UINT64_MAX;
    json_t *o = parsed(&s.snapshot, false);
    json_t *arm = json_array_get(json_object_get(o, "arms"), Q8);
    assert_string_equal(json_string_value(json_object_get(arm, "name")),
                        "bad \xEF\xBF\xBD\xEF\xBF\xBD( \xE2\x82\xAC");
    json_t *seed = json_object_get(json_object_get(o, "manifest"), "seed");
    assert_string_equal(json_string_value(seed), "18446744073709551615");
    json_decref(o);
}

static void two_backends_in_one_row_are_named(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.facts.backend_head = "vulkan NVIDIA H200";
    json_t *o = parsed(&s.snapshot, false);
    json_t *arm = json_array_get(json_object_get(o, "arms"), Q8);
    assert_string_equal(json_string_value(json_object_get(arm, "backend")),
                        "head vulkan NVIDIA H200, body cpu");
    json_decref(o);
}

static void an_empty_run_has_no_summary(void **state)
{
    (void)state;
    struct sample s;
    struct ks_error err;
    sample_init(&s);
    s.snapshot.positions = 0;
    assert_null(ks_report_json(&s.snapshot, false, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "no positions"));
    assert_null(ks_report_table(&s.snapshot, 0, &err));
    s.snapshot.facts = NULL;
    s.snapshot.doing = "quantizing q4_k_m";
    assert_null(ks_report_json(&s.snapshot, false, &err));
    assert_non_null(strstr(err.text, "still at quantizing q4_k_m"));
    s.snapshot.state = KS_RUN_FAILED;
    s.snapshot.failure = "ref.gguf: cannot be read";
    s.snapshot.failure_code = KS_SYSTEM;
    assert_null(ks_report_json(&s.snapshot, false, &err));
    assert_int_equal(err.code, KS_SYSTEM);
    assert_string_equal(err.text, "ref.gguf: cannot be read");
}

static void the_whole_summary_reads_as_it_did(void **state)
{
    (void)state;
    struct sample s;
    struct ks_error err;
    sample_init(&s);
    char *text = ks_report_json(&s.snapshot, false, &err);
    assert_golden(text, "report/summary.json");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_stand_in_the_documented_order),
        cmocka_unit_test(numbers_survive_the_text_to_the_last_bit),
        cmocka_unit_test(what_does_not_exist_is_null),
        cmocka_unit_test(llama_scoring_tells_what_it_left_over),
        cmocka_unit_test(the_manifest_names_an_importance_matrix_by_its_hash),
        cmocka_unit_test(only_trouble_adds_keys),
        cmocka_unit_test(the_machine_and_the_moment_show_only_when_asked),
        cmocka_unit_test(names_that_are_no_utf8_are_repaired),
        cmocka_unit_test(two_backends_in_one_row_are_named),
        cmocka_unit_test(an_empty_run_has_no_summary),
        cmocka_unit_test(the_whole_summary_reads_as_it_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

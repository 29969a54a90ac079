#include "tests/testing.h"

#include "tests/engine/run/plans.h"

/* Arms of a model with 256 columns, quantized by importance matrices in the older form. */

enum { COLS = 256 };

static struct ks_plan *plan_of_256_columns(void)
{
    struct ks_error err;
    struct ks_plan *plan = make_plan(2, 32);
    ks_model_unref(plan->reference);
    plan->reference = ks_model_open(test_data("model/llama-mixed-types.gguf"), NULL, NULL, &err);
    if (!plan->reference)
        fail_msg("%s", err.text);
    return plan;
}

static void put(FILE *f, int32_t v)
{
    assert_int_equal(fwrite(&v, sizeof v, 1, f), 1);
}

/* Columns weigh 1, or every eighth `heavy`. */
static struct ks_imatrix *make_importance(const char *const *tensors, int n, int32_t cols,
                                          float heavy)
{
    char path[] = "/tmp/kldscope-test-XXXXXX.dat";
    struct ks_error err;
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    put(f, n);
    for (int i = 0; i < n; i++) {
        put(f, (int32_t)strlen(tensors[i]));
        fputs(tensors[i], f);
        put(f, 1);
        put(f, cols);
        for (int c = 0; c < cols; c++) {
            float w = c % 8 == 0 ? heavy : 1;
            assert_int_equal(fwrite(&w, sizeof w, 1, f), 1);
        }
    }
    fclose(f);
    struct ks_imatrix *m = ks_imatrix_open(path, "words.dat", &err);
    if (!m)
        fail_msg("%s", err.text);
    unlink(path);
    return m;
}

static const char *const two[] = {"blk.2.attn_q.weight", "blk.2.attn_v.weight"};

static void add_weighed_arm(struct ks_plan *plan, const char *name, const char *type,
                            struct ks_imatrix *m)
{
    add_arm(plan, name, "blk\\.2\\.attn_[qv]\\.", type);
    plan->arms[plan->n_arms - 1].imatrix = m;
}

static void importance_makes_another_arm_and_is_named_with_its_hash(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_of_256_columns();
    add_weighed_arm(plan, "even", "IQ2_XXS", make_importance(two, 2, COLS, 1));
    add_weighed_arm(plan, "heavy", "IQ2_XXS", make_importance(two, 2, COLS, 100));
    add_weighed_arm(plan, "again", "IQ2_XXS", make_importance(two, 2, COLS, 100));
    add_weighed_arm(plan, "unheeded", "Q8_0", make_importance(two, 2, COLS, 100));
    add_arm(plan, "plain", "blk\\.2\\.attn_[qv]\\.", "Q8_0");
    const struct ks_snapshot *s = run_to_end(plan);
    const struct ks_arm_facts *arms = s->facts->arms;
    assert_string_equal(arms[0].recipe,
                        "reference (imatrix words.dat) + blk\\.2\\.attn_[qv]\\.=IQ2_XXS");
    assert_int_equal(strlen(arms[0].imatrix_hash), 32);
    assert_string_not_equal(arms[0].imatrix_hash, arms[1].imatrix_hash);
    assert_string_equal(arms[1].imatrix_hash, arms[2].imatrix_hash);
    assert_null(arms[4].imatrix_hash);
    assert_string_not_equal(arms[0].hash, arms[1].hash);
    assert_string_equal(arms[1].hash, arms[2].hash);
    assert_string_equal(arms[3].hash, arms[4].hash);
    assert_same_numbers(&s->arms[1].numbers, &s->arms[2].numbers);
    assert_true(s->arms[0].numbers.kld_mean > s->arms[3].numbers.kld_mean);
    ks_snapshot_release(s);
}

static void what_has_no_weights_is_told_of(void **state)
{
    (void)state;
    struct ks_plan *plan = plan_of_256_columns();
    add_weighed_arm(plan, "half", "Q4_K", make_importance(two, 1, COLS, 100));
    const struct ks_snapshot *s = run_to_end(plan);
    assert_true(log_has(s, "words.dat has no weights for 1 of the tensors, as "
                           "blk.2.attn_v.weight; they are quantized without"));
    ks_snapshot_release(s);
}

static void assert_refused(struct ks_plan *plan, const char *words)
{
    struct ks_error err = {0};
    assert_null(ks_run_create(plan, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, err.text);
}

static void what_importance_cannot_serve_is_refused(void **state)
{
    (void)state;
    static const char *const foreign[] = {"blk.99.attn_q.weight"};
    struct ks_plan *plan = plan_of_256_columns();
    add_weighed_arm(plan, "a", "IQ2_XXS", NULL);
    assert_refused(plan, "blk.2.attn_q.weight would be IQ2_XXS, which needs an importance matrix; "
                         "give one");
    plan = plan_of_256_columns();
    add_weighed_arm(plan, "a", "IQ2_XXS", make_importance(two, 1, COLS, 1));
    assert_refused(plan, "blk.2.attn_v.weight would be IQ2_XXS, which needs an importance matrix, "
                         "and the one given has no weights for it");
    plan = plan_of_256_columns();
    add_weighed_arm(plan, "a", "IQ2_XXS", make_importance(two, 2, 128, 1));
    assert_refused(plan, "words.dat: tensor blk.2.attn_q.weight has 128 weights where the model's "
                         "has 256 columns");
    plan = plan_of_256_columns();
    add_weighed_arm(plan, "a", "Q4_K", make_importance(foreign, 1, COLS, 1));
    assert_refused(plan, "words.dat: has weights for no tensor of the model");
    plan = plan_of_256_columns();
    add_arm(plan, "a", NULL, NULL);
    plan->arms[0].imatrix = make_importance(two, 2, COLS, 1);
    assert_refused(plan, "an importance matrix is for quantizing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(importance_makes_another_arm_and_is_named_with_its_hash),
        cmocka_unit_test(what_has_no_weights_is_told_of),
        cmocka_unit_test(what_importance_cannot_serve_is_refused),
    };
    write_corpus();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(corpus_path);
    return failed;
}

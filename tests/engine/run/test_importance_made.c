#include "tests/testing.h"

#include <math.h>

#include "engine/gguf/gguf.h"
#include "engine/imatrix/imatrix.h"
#include "engine/model/model.h"
#include "tests/engine/run/plans.h"

/* Importance matrices that are made here. */

enum { TOKENS = 110, WINDOW = 16 };

static char made_path[] = "/tmp/kldscope-made-XXXXXX.gguf";

static bool go_on(void *ctx, size_t done, size_t n)
{
    size_t *told = ctx;
    assert_true(done >= *told && done < n);
    assert_int_equal(n, TOKENS);
    *told = done;
    return true;
}

static bool stop(void *ctx, size_t done, size_t n)
{
    (void)ctx;
    (void)done;
    (void)n;
    return false;
}

static struct ks_plan *plan_over_words(const char *model, int threads)
{
    char path[128];
    struct ks_error err;
    struct ks_plan *plan = ks_plan_create(&err);
    snprintf(path, sizeof path, "model/%s.gguf", model);
    plan->reference = ks_model_open(test_data(path), NULL, NULL, &err);
    if (!plan->reference)
        fail_msg("%s", err.text);
    plan->threads = threads;
    plan->window = WINDOW;
    add_corpus(plan, "words", test_data("imatrix/words.txt"), "words.txt");
    return plan;
}

static void make(const char *model, int threads)
{
    size_t told = 0;
    const struct ks_making_hooks hooks = {.ctx = &told, .progress = go_on};
    struct ks_error err;
    struct ks_plan *plan = plan_over_words(model, threads);
    if (ks_imatrix_make(plan, made_path, &hooks, &err))
        fail_msg("%s", err.text);
    ks_plan_destroy(plan);
}

/* Columns of a matrix, by its name. */
static uint64_t columns_of(const struct ks_gguf *g, const char *tensor)
{
    const struct ks_gguf_tensor *t = ks_gguf_find_tensor(g, tensor);
    assert_non_null(t);
    return t->dims[0];
}

static void sums_are_those_of_an_independent_forward_pass(void **state)
{
    (void)state;
    struct ks_error err;
    size_t len, at = 0;
    float *want = (float *)(void *)test_read_file(test_data("imatrix/sums.f32"), &len);
    struct ks_gguf *g = ks_gguf_open(test_data("model/llama-tied.gguf"), &err);
    make("llama-tied", 2);
    struct ks_imatrix *m = ks_imatrix_open(made_path, NULL, &err);
    if (!m)
        fail_msg("%s", err.text);
    assert_int_equal(ks_imatrix_n(m), 14);
    for (size_t i = 0; i < ks_imatrix_n(m); i++) {
        struct ks_importance found;
        uint64_t cols = columns_of(g, ks_imatrix_name(m, i));
        assert_int_equal(ks_imatrix_find(m, ks_imatrix_name(m, i), cols, 1, &found, &err), 1);
        for (uint64_t c = 0; c < cols; c++, at++)
            assert_true(fabsf(found.weights[c] * TOKENS - want[at]) <= 2e-5f * want[at]);
    }
    assert_int_equal(at * sizeof *want, len);
    ks_imatrix_unref(m);
    ks_gguf_close(g);
    free(want);
}

static void threads_do_not_move_a_bit_of_the_file(void **state)
{
    (void)state;
    size_t one_len, many_len;
    make("llama-tied", 1);
    char *one = test_read_file(made_path, &one_len);
    make("llama-tied", 3);
    char *many = test_read_file(made_path, &many_len);
    assert_int_equal(one_len, many_len);
    assert_memory_equal(one, many, one_len);
    free(one);
    free(many);
}

static float count_of(const struct ks_gguf *g, const char *tensor, size_t *slices)
{
    char name[128];
    float sum = 0;
    snprintf(name, sizeof name, "%s.counts", tensor);
    const struct ks_gguf_tensor *t = ks_gguf_find_tensor(g, name);
    assert_non_null(t);
    *slices = (size_t)t->dims[1];
    for (size_t i = 0; i < *slices; i++)
        sum += ((const float *)(const void *)t->data)[i];
    return sum;
}

/* A tensor of several parts meets every token once; an expert those that take it. */
static void every_token_counts_once_a_matrix_or_once_an_expert_it_takes(void **state)
{
    (void)state;
    struct ks_error err;
    size_t slices;
    make("phi3", 2);
    struct ks_gguf *g = ks_gguf_open(made_path, &err);
    assert_true(count_of(g, "blk.0.attn_qkv.weight", &slices) == TOKENS && slices == 1);
    assert_true(count_of(g, "blk.1.ffn_up.weight", &slices) == TOKENS);
    ks_gguf_close(g);
    make("qwen3moe", 2);
    g = ks_gguf_open(made_path, &err);
    assert_true(count_of(g, "blk.0.ffn_down_exps.weight", &slices) == 2 * TOKENS && slices == 4);
    assert_true(count_of(g, "blk.1.ffn_gate_exps.weight", &slices) == 2 * TOKENS && slices == 4);
    assert_true(count_of(g, "blk.0.ffn_gate_inp.weight", &slices) == TOKENS && slices == 1);
    ks_gguf_close(g);
}

static void what_is_stopped_or_has_no_text_leaves_nothing(void **state)
{
    (void)state;
    const struct ks_making_hooks hooks = {.progress = stop};
    struct ks_error err;
    struct ks_plan *plan = plan_over_words("llama-tied", 1);
    unlink(made_path);
    assert_int_equal(ks_imatrix_make(plan, made_path, &hooks, &err), -1);
    assert_int_equal(err.code, KS_CANCELLED);
    assert_int_equal(access(made_path, F_OK), -1);
    ks_corpus_spec_finish(&plan->corpora[0]);
    plan->n_corpora = 0;
    assert_int_equal(ks_imatrix_make(plan, made_path, &hooks, &err), -1);
    assert_non_null(strstr(err.text, "no corpus"));
    ks_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_an_independent_forward_pass),
        cmocka_unit_test(threads_do_not_move_a_bit_of_the_file),
        cmocka_unit_test(every_token_counts_once_a_matrix_or_once_an_expert_it_takes),
        cmocka_unit_test(what_is_stopped_or_has_no_text_leaves_nothing),
    };
    int fd = mkstemps(made_path, 5);
    assert_true(fd >= 0);
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(made_path);
    return failed;
}

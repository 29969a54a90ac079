/*
 * Every allocation fails once: the answer is an error that says so, never a crash, and nothing
 * leaks (the sanitizer's leak checker looks on).
 */
#include "tests/engine/model/samples.h"
#include "tests/failing_memory.h"

static struct ks_model *open_plain(struct ks_error *err)
{
    return ks_model_open(sample_path("llama-biases", "gguf"), NULL, NULL, err);
}

static struct ks_model *open_converted(struct ks_error *err)
{
    return ks_model_open(test_data("model/model-even.gguf"), NULL, "Q4_0", err);
}

static struct ks_model *peek(struct ks_error *err)
{
    return ks_model_peek(sample_path("llama-tied", "gguf"), NULL, err);
}

static void assert_every_allocation_may_fail(struct ks_model *(*open)(struct ks_error *err))
{
    struct ks_model *m = NULL;
    long tries = 0;
    while (!m) {
        struct ks_error err = {0};
        allocations_left = tries++;
        m = open(&err);
        allocations_left = -1;
        if (!m && err.code != KS_NO_MEMORY)
            fail_msg("allocation %ld: %s", tries - 1, err.text);
    }
    print_message("# %ld allocations\n", tries - 1);
    assert_true(tries > 20);
    assert_int_equal(ks_model_info(m)->vocab, 320); /* nothing went missing in silence */
    ks_model_unref(m);
}

static void opening_survives_every_failing_allocation(void **state)
{
    (void)state;
    assert_every_allocation_may_fail(open_plain);
}

static void converting_survives_every_failing_allocation(void **state)
{
    (void)state;
    assert_every_allocation_may_fail(open_converted);
}

static void peeking_survives_every_failing_allocation(void **state)
{
    (void)state;
    assert_every_allocation_may_fail(peek);
}

static int count_row(void *ctx, size_t position, const float *logits, size_t vocab,
                     struct ks_error *err)
{
    (void)position, (void)logits, (void)vocab, (void)err;
    ++*(size_t *)ctx;
    return 0;
}

static void logits_survive_every_failing_allocation(void **state)
{
    (void)state;
    struct ks_model *m = open_sample("llama-tied");
    const int32_t ids[3] = {1, 2, 3};
    size_t rows = 0;
    int failed = 1;
    long tries = 0;
    while (failed) {
        struct ks_error err = {0};
        allocations_left = tries++;
        failed = ks_model_logits(m, ids, 3, 1, count_row, &rows, &err);
        allocations_left = -1;
        if (failed && err.code != KS_NO_MEMORY)
            fail_msg("allocation %ld: %s", tries - 1, err.text);
        if (failed)
            assert_int_equal(rows, 0);
    }
    print_message("# %ld allocations\n", tries - 1);
    assert_true(tries > 8);
    assert_int_equal(rows, 3);
    ks_model_unref(m);
}

static int count_difference(void *ctx, const struct ks_difference *d, struct ks_error *err)
{
    (void)d, (void)err;
    ++*(size_t *)ctx;
    return 0;
}

/* Two models whose vocabularies agree and whose tensors do not. Fresh ones each time: they keep
 * their tokenizers. */
static void comparing_survives_every_failing_allocation(void **state)
{
    (void)state;
    int failed = 1;
    long tries = 0;
    while (failed) {
        struct ks_model *a = open_sample("llama-tied"), *b = open_sample("llama-biases");
        struct ks_error err = {0};
        size_t n = 0, told = 0;
        allocations_left = tries++;
        failed = ks_model_diff(a, b, count_difference, &told, &n, &err);
        allocations_left = -1;
        if (failed && err.code != KS_NO_MEMORY)
            fail_msg("allocation %ld: %s", tries - 1, err.text);
        if (!failed)
            assert_true(n == told && n > 20);
        ks_model_unref(a);
        ks_model_unref(b);
    }
    print_message("# %ld allocations\n", tries - 1);
    assert_true(tries > 20);
}

int main(void)
{
    memory_comes_back = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_survives_every_failing_allocation),
        cmocka_unit_test(converting_survives_every_failing_allocation),
        cmocka_unit_test(peeking_survives_every_failing_allocation),
        cmocka_unit_test(logits_survive_every_failing_allocation),
        cmocka_unit_test(comparing_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Every allocation of reading, preparing and making fails once: the answer is an error, never a
 * crash, nothing leaks (the leak checker looks on) and no file is left.
 */
#include "tests/testing.h"

#include <string.h>
#include <unistd.h>

#include "engine/imatrix/imatrix.h"
#include "engine/quant/encode/encode.h"
#include "tests/failing_memory.h"

static char made[] = "/tmp/kldscope-none-XXXXXX.gguf";
static struct ks_model *model;
static struct ks_plan plan;

/* 0 or -1 with *err; what is made is let go of. */
typedef int attempt_fn(struct ks_error *err);

static int read_gguf(struct ks_error *err)
{
    struct ks_imatrix *m = ks_imatrix_open(test_data("imatrix/small.gguf"), NULL, err);
    ks_imatrix_unref(m);
    return m ? 0 : -1;
}

static int read_old(struct ks_error *err)
{
    struct ks_imatrix *m = ks_imatrix_open(test_data("imatrix/small.dat"), NULL, err);
    ks_imatrix_unref(m);
    return m ? 0 : -1;
}

static int prepare_codebooks(struct ks_error *err)
{
    struct ks_encoders *e = ks_encoders_create(err);
    int failed =
        e && ks_encoders_get(e, KS_IQ3_XXS, err) && ks_encoders_get(e, KS_IQ2_XXS, err) ? 0 : -1;
    ks_encoders_destroy(e);
    return failed;
}

static bool go_on(void *ctx, size_t done, size_t n)
{
    (void)ctx;
    return done <= n;
}

static const struct ks_making_hooks hooks = {.progress = go_on};

static int make_imatrix(struct ks_error *err)
{
    return ks_imatrix_make(&plan, made, &hooks, err);
}

static int quantize(struct ks_error *err)
{
    const struct ks_arm_spec arm = {.name = (char *)(uintptr_t) "x",
                                    .preset = (char *)(uintptr_t) "BF16"};
    struct ks_quantized q;
    return ks_quantize(model, &arm, made, 1, &hooks, &q, err);
}

static void fails_at_every_allocation(attempt_fn *attempt, long at_least)
{
    long tries = 0;
    int failed = -1;
    while (failed) {
        struct ks_error err = {0};
        unlink(made);
        allocations_left = tries++;
        failed = attempt(&err);
        allocations_left = -1;
        if (failed && err.code != KS_NO_MEMORY)
            fail_msg("allocation %ld: %s", tries, err.text);
        if (failed && access(made, F_OK) == 0)
            fail_msg("allocation %ld: a file is left", tries);
    }
    assert_true(tries > at_least);
}

static void reading_may_run_out_of_memory(void **state)
{
    (void)state;
    fails_at_every_allocation(read_gguf, 20);
    fails_at_every_allocation(read_old, 8);
}

static void codebooks_may_run_out_of_memory(void **state)
{
    (void)state;
    fails_at_every_allocation(prepare_codebooks, 10);
}

static void making_files_may_run_out_of_memory(void **state)
{
    (void)state;
    struct ks_error err;
    static char *paths[1], *shown[1] = {(char *)(uintptr_t) "words.txt"};
    static char text[256];
    snprintf(text, sizeof text, "%s", test_data("imatrix/words.txt"));
    paths[0] = text;
    static struct ks_corpus_spec corpus = {
        .name = (char *)(uintptr_t) "words", .paths = paths, .shown = shown, .n_paths = 1};
    model = ks_model_open(test_data("model/llama-tied.gguf"), NULL, NULL, &err);
    assert_non_null(model);
    plan = (struct ks_plan){
        .reference = model, .corpora = &corpus, .n_corpora = 1, .window = 16, .threads = 1};
    fails_at_every_allocation(make_imatrix, 50);
    fails_at_every_allocation(quantize, 30);
    ks_model_unref(model);
}

int main(void)
{
    memory_comes_back = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_may_run_out_of_memory),
        cmocka_unit_test(codebooks_may_run_out_of_memory),
        cmocka_unit_test(making_files_may_run_out_of_memory),
    };
    int fd = mkstemps(made, 5);
    assert_true(fd >= 0);
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(made);
    return failed;
}

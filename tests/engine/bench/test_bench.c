#include "tests/testing.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "engine/bench/made_model.h"
#include "engine/engine.h"

struct seen {
    size_t n;
    char group[16];
};

static void see(void *ctx, const struct ks_bench_row *row)
{
    struct seen *s = ctx;
    assert_string_equal(row->group, s->group);
    assert_true(row->name[0] && row->unit[0]);
    assert_true(isfinite(row->value) && row->value > 0.0);
    assert_true(isnan(row->limit) == !row->limit_name);
    s->n++;
}

static void a_group_asked_for_is_measured_alone(void **state)
{
    (void)state;
    struct seen s = {0, "limits"};
    struct ks_error err;
    assert_int_equal(
        ks_bench(&(struct ks_bench_wishes){.only = "limits", .threads = 2}, see, &s, &err), 0);
    assert_true(s.n >= 4);
}

static void a_group_that_needs_a_model_is_left_out_without_one(void **state)
{
    (void)state;
    struct seen s = {0, "tokenizer"};
    struct ks_error err;
    struct ks_bench_wishes wishes = {.only = "tokenizer", .threads = 1};
    assert_int_equal(ks_bench(&wishes, see, &s, &err), 0);
    assert_int_equal(s.n, 0);
    wishes.model = test_data("model/llama-tied.gguf");
    wishes.corpus = test_data("../../scenarios/corpora/code.jsonl");
    assert_int_equal(ks_bench(&wishes, see, &s, &err), 0);
    assert_int_equal(s.n, 3);
}

static void a_made_up_model_is_one_that_opens_and_tokenizes(void **state)
{
    (void)state;
    struct ks_error err;
    struct made_model made = {.vocab = 300,
                              .layers = 2,
                              .hidden = 64,
                              .ffn = 96,
                              .heads = 2,
                              .kv_heads = 1,
                              .context = 32};
    char path[] = "/tmp/kldscope-made-XXXXXX.gguf";
    int32_t *ids;
    size_t n;
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(made_model_write(&made, fd, &err), 0);
    close(fd);
    struct ks_model *m = ks_model_open(path, NULL, NULL, &err);
    unlink(path);
    if (!m)
        fail_msg("%s", err.text);
    const struct ks_model_info *info = ks_model_info(m);
    assert_true(info->vocab == 300 && info->layers == 2 && info->hidden == 64 && info->ffn == 96);
    assert_true(info->tied && info->context == 32 && info->kv_heads == 1);
    assert_int_equal(ks_model_tokenize(m, NULL, "abz", 3, 0, &ids, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_true(ids[0] == 0 && ids[1] == 1 && ids[2] == 25);
    free(ids);
    ks_model_unref(m);
}

static void a_made_up_model_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    struct ks_error err;
    struct made_model made = {.vocab = 300,
                              .layers = 1,
                              .hidden = 32,
                              .ffn = 32,
                              .heads = 1,
                              .kv_heads = 1,
                              .context = 8};
    int fd = open("/dev/null", O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(made_model_write(&made, fd, &err), -1);
    assert_int_equal(err.code, KS_SYSTEM);
    close(fd);
}

static void an_unknown_group_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    struct seen s = {0};
    struct ks_error err;
    assert_int_equal(
        ks_bench(&(struct ks_bench_wishes){.only = "matmull", .threads = 1}, see, &s, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "matmull"));
    assert_non_null(strstr(err.text, "attention"));
    assert_int_equal(s.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_asked_for_is_measured_alone),
        cmocka_unit_test(a_group_that_needs_a_model_is_left_out_without_one),
        cmocka_unit_test(a_made_up_model_is_one_that_opens_and_tokenizes),
        cmocka_unit_test(a_made_up_model_that_cannot_be_written_is_an_error),
        cmocka_unit_test(an_unknown_group_is_refused_with_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A model's logits through a head on a device are the CPU's, within f32 sums.
 */
#include "tests/testing.h"

#include <math.h>

#include "engine/engine.h"
#include "tests/gpu/listening.h"

#define IDS 150

static struct listening listening;

struct ks_gpu *__wrap_ks_gpu_open(const char *which, struct ks_error *err);

struct ks_gpu *__wrap_ks_gpu_open(const char *which, struct ks_error *err)
{
    struct ks_gpu_testing testing = {.cache_folder = "", .ctx = &listening};
    testing.message = getenv("KS_TEST_GPU_DEAF") ? NULL : heard;
    listening.gpu = ks_gpu_open_testing(which, &testing, err);
    pin_libraries();
    return listening.gpu;
}

struct rows {
    float *logits; /* (IDS, vocab) */
    size_t n;
};

static int keep_row(void *ctx, size_t position, const float *logits, size_t vocab,
                    struct ks_error *err)
{
    (void)err;
    struct rows *r = ctx;
    assert_int_equal(position, r->n++);
    memcpy(r->logits + position * vocab, logits, vocab * sizeof *logits);
    return 0;
}

static int refuse_row(void *ctx, size_t position, const float *logits, size_t vocab,
                      struct ks_error *err)
{
    (void)ctx, (void)logits, (void)vocab;
    return position < 70 ? 0 : ks_fail(err, KS_CANCELLED, "enough");
}

static struct ks_model *open_model(const char *name, int32_t ids[IDS])
{
    struct ks_error err;
    struct ks_model *m = ks_model_open(test_data(name), NULL, NULL, &err);
    if (!m)
        fail_msg("%s", err.text);
    for (int i = 0; i < IDS; i++)
        ids[i] = i * 7 % (int32_t)ks_model_info(m)->vocab;
    return m;
}

static void compare(const char *name, enum ks_head_path path)
{
    struct ks_error err;
    int32_t ids[IDS];
    struct ks_model *m = open_model(name, ids);
    size_t n = IDS * (size_t)ks_model_info(m)->vocab;
    struct rows cpu = {.logits = calloc(n, sizeof(float))};
    struct rows gpu = {.logits = calloc(n, sizeof(float))};
    assert_int_equal(ks_model_logits(m, ids, IDS, 1, keep_row, &cpu, &err), 0);
    if (ks_model_logits_on_device(m, ids, IDS, 1, test_device(), path, keep_row, &gpu, &err))
        fail_msg("%s", err.text);
    assert_int_equal(gpu.n, IDS);
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(cpu.logits[i] - gpu.logits[i]) <= 2e-5f))
            fail_msg("%s: logit %zu is %g on the device and %g on the cpu", name, i,
                     (double)gpu.logits[i], (double)cpu.logits[i]);
    free(cpu.logits);
    free(gpu.logits);
    ks_model_unref(m);
    check_silence(&listening);
}

static void a_device_makes_the_logits_that_the_cpu_makes(void **state)
{
    (void)state;
    static const char *const models[] = {"model/llama-tied.gguf", "model/llama-untied.gguf"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        compare(models[i], KS_HEAD_PATH_AUTO);
        compare(models[i], KS_HEAD_PATH_FEW);
        compare(models[i], KS_HEAD_PATH_MANY);
    }
}

static void what_a_device_cannot_do_is_an_error(void **state)
{
    (void)state;
    struct ks_error err;
    int32_t ids[IDS];
    struct ks_model *m = open_model("model/llama-tied.gguf", ids);
    assert_int_equal(ks_model_logits_on_device(m, ids, IDS, 1, "no such device", KS_HEAD_PATH_AUTO,
                                               keep_row, NULL, &err),
                     -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no such device"));
    ids[3] = -1;
    assert_int_equal(ks_model_logits_on_device(m, ids, IDS, 1, test_device(), KS_HEAD_PATH_AUTO,
                                               keep_row, NULL, &err),
                     -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    ids[3] = 3;
    assert_int_equal(ks_model_logits_on_device(m, ids, IDS, 1, test_device(), KS_HEAD_PATH_AUTO,
                                               refuse_row, NULL, &err),
                     -1);
    assert_int_equal(err.code, KS_CANCELLED);
    ks_model_unref(m);
    check_silence(&listening);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_makes_the_logits_that_the_cpu_makes),
        cmocka_unit_test(what_a_device_cannot_do_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

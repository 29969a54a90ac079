/*
 * A good model with one to four bytes of its head (metadata and tensor list) changed at random:
 * opened and computed or refused with a text, never a crash. The sanitizers look on.
 */
#include "tests/engine/model/samples.h"

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/bytes.h"

#define ROUNDS 1500

static int count_row(void *ctx, size_t position, const float *logits, size_t vocab,
                     struct ks_error *err)
{
    (void)position, (void)logits, (void)vocab, (void)err;
    ++*(size_t *)ctx;
    return 0;
}

static bool opens_and_computes(const char *path)
{
    struct ks_error err = {0};
    struct ks_model *peeked = ks_model_peek(path, NULL, &err);
    ks_model_unref(peeked);
    struct ks_model *m = ks_model_open(path, NULL, NULL, &err);
    if (!m) {
        assert_true(err.code == KS_BAD_INPUT || err.code == KS_UNSUPPORTED);
        assert_true(strlen(err.text) > strlen(path));
        return false;
    }
    const int32_t ids[2] = {0, 1};
    size_t rows = 0, n = ks_model_info(m)->context < 2 ? 1 : 2;
    int failed = ks_model_logits(m, ids, n, 1, count_row, &rows, &err);
    assert_true(failed ? err.text[0] != '\0' : rows == n);
    assert_non_null(peeked);
    ks_model_unref(m);
    return true;
}

static void a_model_with_changed_bytes_never_crashes(void **state)
{
    (void)state;
    size_t len, opened = 0;
    char *good = test_read_file(sample_path("llama-rope-linear", "gguf"), &len);
    size_t head = len - 4 * (2 * 320 * 64 + 64 + 2 * (3 * 64 * 80 + 96 * 128 + 128));
    char path[] = "/tmp/ks_sweep_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, good, len), len);
    uint64_t seed = 20;
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = 1 + (size_t)ks_random_below(&seed, 4), at[4];
        for (size_t i = 0; i < n; i++) {
            at[i] = (size_t)ks_random_below(&seed, head);
            uint8_t byte = (uint8_t)ks_random_below(&seed, 256);
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)at[i]), 1);
        }
        opened += opens_and_computes(path);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(pwrite(fd, good + at[i], 1, (off_t)at[i]), 1);
    }
    close(fd);
    unlink(path);
    free(good);
    print_message("# %zu of %d opened\n", opened, ROUNDS);
    assert_true(opened > 0 && opened < ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_with_changed_bytes_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

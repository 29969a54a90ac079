/*
 * Every allocation fails once: the answer is an error, never a crash, and nothing leaks (the leak
 * checker of the sanitizer looks on).
 */
#include "tests/testing.h"

#include <string.h>

#include "engine/text/corpus.h"
#include "tests/engine/text/files.h"
#include "tests/failing_memory.h"

static void assert_no_memory(const struct ks_error *err, long tries)
{
    if (err->code != KS_NO_MEMORY || !strstr(err->text, "out of memory"))
        fail_msg("allocation %ld: %s", tries, err->text);
}

static struct ks_tokenizer *create_until_it_works(const char *name, const char *pre)
{
    struct ks_gguf *g = open_file(name);
    struct ks_tokenizer *t = NULL;
    for (long tries = 0; !t; tries++) {
        struct ks_error err = {0};
        allocations_left = tries;
        t = ks_tokenizer_create(g, pre, &err);
        allocations_left = -1;
        if (!t)
            assert_no_memory(&err, tries);
    }
    ks_gguf_close(g);
    return t;
}

static void tokenize_until_it_works(const struct ks_tokenizer *t)
{
    static const char text[] = "<|im_start|>user\n caf\xC3\xA9 <tool_call> 12 qzx \xFF<|im_end|>";
    struct ks_tokens out = {0};
    int rc = -1;
    for (long tries = 0; rc; tries++) {
        struct ks_error err = {0};
        allocations_left = tries;
        rc = ks_tokenize(t, text, sizeof text - 1, KS_TOKENIZE_SPECIAL, &out, &err);
        allocations_left = -1;
        if (rc) {
            assert_no_memory(&err, tries);
            assert_int_equal(out.n, 0);
        }
    }
    ks_tokens_finish(&out);
}

static void tokenizers_survive_it(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"text/bpe-2048.gguf", "youtu"},
                                           {"text/bpe-2048.gguf", "gemma4"},
                                           {"text/spm-gemma-like-1000.gguf", NULL}};
    for (int i = 0; i < 3; i++) {
        struct ks_tokenizer *t = create_until_it_works(cases[i][0], cases[i][1]);
        tokenize_until_it_works(t);
        ks_tokenizer_destroy(t);
    }
}

static void corpora_survive_it(void **state)
{
    (void)state;
    char path[] = "/tmp/ks_no_memory_XXXXXX.jsonl";
    int fd = mkstemps(path, 6);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    for (int i = 0; i < 3; i++)
        fputs("{\"messages\": [{\"role\": \"user\", \"content\": \"Hi there\"}, "
              "{\"role\": \"assistant\", \"content\": \"Hello.\"}]}\n",
              f);
    fclose(f);
    struct ks_tokenizer *t = create_until_it_works("text/bpe-2048.gguf", "smollm");
    char *paths[] = {path};
    struct ks_corpus_spec s = {
        .kind = KS_CORPUS_CHAT, .paths = paths, .n_paths = 1, .assistant_only = true};
    struct ks_corpus c = {0};
    int rc = -1;
    for (long tries = 0; rc; tries++) {
        struct ks_error err = {0};
        allocations_left = tries;
        rc = ks_corpus_load(&s, 1, t, "chatml", NULL, NULL, &c, &err);
        allocations_left = -1;
        if (rc)
            assert_no_memory(&err, tries);
    }
    assert_int_equal(c.n_documents, 3);
    ks_corpus_finish(&c);
    ks_tokenizer_destroy(t);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokenizers_survive_it),
        cmocka_unit_test(corpora_survive_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

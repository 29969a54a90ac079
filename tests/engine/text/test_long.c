/* Long texts, and many threads: nothing runs out of limits, nothing is lost, nothing depends on who
 * asks. */
#include "tests/testing.h"

#include <pthread.h>
#include <string.h>

#include "engine/text/split/pre.h"
#include "engine/text/tokenizer.h"

static struct ks_gguf *scope;

static int open_scope(void **state)
{
    (void)state;
    char path[1024];
    struct ks_error err;
    snprintf(path, sizeof path, "%s/scenarios/models/scope-6m.f16.gguf", getenv("KS_SOURCE_ROOT"));
    scope = ks_gguf_open(path, &err);
    if (!scope)
        fail_msg("%s", err.text);
    return 0;
}

static int close_scope(void **state)
{
    (void)state;
    ks_gguf_close(scope);
    return 0;
}

static struct ks_tokenizer *create(const char *pre)
{
    struct ks_error err;
    struct ks_tokenizer *t = ks_tokenizer_create(scope, pre, &err);
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

/* Tokens of valid UTF-8 spell it, whatever the split: the vocabulary has every byte. */
static void assert_spelled(const struct ks_tokenizer *t, const char *text, size_t len)
{
    struct ks_tokens got = {0};
    struct ks_error err;
    size_t at = 0;
    if (ks_tokenize(t, text, len, 0, &got, &err))
        fail_msg("%s: %s", ks_tokenizer_kind(t), err.text);
    for (size_t i = 0; i < got.n; i++) {
        struct ks_str s = ks_token_bytes(t, got.ids[i]);
        if (s.len > len - at || memcmp(text + at, s.bytes, s.len) != 0)
            fail_msg("%s: token %zu does not spell byte %zu", ks_tokenizer_kind(t), i, at);
        at += s.len;
    }
    assert_int_equal(at, len);
    ks_tokens_finish(&got);
}

/* unit over and over; *len is a multiple of its length. */
static char *repeat(const char *unit, size_t *len)
{
    size_t n = strlen(unit);
    *len -= *len % n;
    char *text = malloc(*len);
    assert_non_null(text);
    for (size_t i = 0; i < *len; i++)
        text[i] = unit[i % n];
    return text;
}

static void two_megabytes_are_one_text(void **state)
{
    (void)state;
    static const char unit[] =
        "The kettle (2.048 kg!) boiled over\r\n\r\n  before we'LL see\t\tcaf\xC3\xA9s, "
        "\xE4\xBB\x8A\xE5\xA4\xA9 \xE2\x80\x99 12345678 iPhoneXR; \xF0\x9F\x91\xA9\xE2\x80\x8D\n";
    static const char *const pres[] = {"smollm", "llama3", "deepseek-llm"};
    size_t len = 2 << 20;
    char *text = repeat(unit, &len);
    for (int i = 0; i < 3; i++) {
        struct ks_tokenizer *t = create(pres[i]);
        assert_spelled(t, text, len);
        ks_tokenizer_destroy(t);
    }
    free(text);
}

/* Long runs are where patterns run out of stack or time. */
static void runs_of_anything_go_through_every_split(void **state)
{
    (void)state;
    static const char *const units[] = {
        "a",   " ",        "\n",           "7",     "A",
        "!",   "a b ",     "\xC3\xA9",     "'S",    " \t",
        "!\n", "\xCC\x81", "\xE4\xBD\xA0", "<|im_", "\xD9\xA3",
    };
    for (size_t p = 0; ks_pre_at(p); p++) {
        const struct ks_pre *pre = ks_pre_at(p);
        bool seen = pre->flags & (KS_PRE_RAW | KS_PRE_ESCAPES);
        for (size_t q = 0; q < p; q++)
            seen |= ks_pre_at(q)->steps == pre->steps;
        if (seen)
            continue;
        struct ks_tokenizer *t = create(pre->name);
        for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
            size_t len = 20000;
            char *text = repeat(units[u], &len);
            assert_spelled(t, text, len);
            free(text);
        }
        ks_tokenizer_destroy(t);
    }
}

/* A chain of words with single blanks is one word to this split. */
static void a_million_words_in_one_match_need_no_stack(void **state)
{
    (void)state;
    size_t len = 2 << 20;
    char *text = repeat("ab ", &len);
    struct ks_tokenizer *t = create("exaone-moe");
    assert_spelled(t, text, len);
    ks_tokenizer_destroy(t);
    free(text);
}

struct asking {
    const struct ks_tokenizer *t;
    const char *text;
    size_t len;
    struct ks_tokens got;
    int rc;
};

static void *ask(void *arg)
{
    struct asking *a = arg;
    struct ks_error err;
    a->rc = ks_tokenize(a->t, a->text, a->len, KS_TOKENIZE_ADD, &a->got, &err);
    return NULL;
}

static void threads_share_a_tokenizer(void **state)
{
    (void)state;
    size_t len = 200000;
    char *text = repeat("Words that are tokens, wurds thet aernt: 1 2 3.\n", &len);
    struct ks_tokenizer *t = create(NULL);
    struct asking a[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        a[i] = (struct asking){.t = t, .text = text, .len = len};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &a[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(a[i].rc, 0);
        assert_int_equal(a[i].got.n, a[0].got.n);
        assert_memory_equal(a[i].got.ids, a[0].got.ids, a[0].got.n * sizeof(int32_t));
    }
    for (int i = 0; i < 4; i++)
        ks_tokens_finish(&a[i].got);
    ks_tokenizer_destroy(t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_megabytes_are_one_text),
        cmocka_unit_test(runs_of_anything_go_through_every_split),
        cmocka_unit_test(a_million_words_in_one_match_need_no_stack),
        cmocka_unit_test(threads_share_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, open_scope, close_scope);
}

/* Splits have shortcuts; what they give must be what the patterns alone give. */
#include "tests/testing.h"

#include <string.h>

#include "engine/base/bytes.h"
#include "engine/text/split/split.h"

enum { TEXTS = 400, PARTS = 24, STEPS = 8 };

static const char *const parts[] = {
    "a",
    "b",
    "Q",
    "Z",
    "word",
    "Word",
    "WORD",
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "'",
    "'s",
    "'LL",
    "'x",
    "1",
    "23",
    "-",
    ".",
    "(",
    "$",
    "\xC3\xA9",
    "\xC3\x89",
    "_",
    "/",
    "`",
    "\xC2\xA0",
    "\xCC\x81",
    "\xD9\xA3",
    "\xE4\xBD\xA0",
    "\xE3\x80\x81",
    "\xE2\x80\x99",
    "\xF0\x9F\x98\x80",
    "\xFF",
    "\x7F",
    "[",
    "{",
};

static void write_text(uint64_t *seed, char *text)
{
    size_t n = ks_random_next(seed) % PARTS;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        strcat(text, parts[ks_random_next(seed) % (sizeof parts / sizeof parts[0])]);
}

static void assert_same_words(const struct ks_splitter *a, const struct ks_splitter *b,
                              const char *name)
{
    struct ks_split x = {0}, y = {0};
    struct ks_error err;
    uint64_t seed = 1;
    char text[PARTS * 4 + 1];
    for (int i = 0; i < TEXTS; i++) {
        write_text(&seed, text);
        if (ks_split_run(a, &x, text, strlen(text), &err) ||
            ks_split_run(b, &y, text, strlen(text), &err))
            fail_msg("%s: %s", name, err.text);
        bool same = x.words->n == y.words->n;
        for (size_t k = 0; same && k < x.words->n; k++)
            same = x.words->at[k] == y.words->at[k];
        if (!same)
            fail_msg("%s cuts \"%s\" in another way", name, text);
    }
    ks_split_finish(&x);
    ks_split_finish(&y);
}

static void assert_same_splits(const struct ks_pre *a, const struct ks_pre *b)
{
    struct ks_error err;
    struct ks_splitter *x = ks_splitter_create(a, &err), *y = ks_splitter_create(b, &err);
    assert_true(x && y);
    assert_same_words(x, y, a->name);
    ks_splitter_destroy(x);
    ks_splitter_destroy(y);
}

static void plain_words_are_what_the_patterns_match(void **state)
{
    (void)state;
    size_t n_shortcuts = 0;
    for (size_t p = 0; ks_pre_at(p); p++) {
        struct ks_step steps[STEPS] = {0};
        const struct ks_pre *pre = ks_pre_at(p);
        size_t known = 0;
        for (size_t i = 0; pre->steps[i].kind != KS_STEP_END; i++) {
            steps[i] = pre->steps[i];
            known += steps[i].plain != KS_PLAIN_NONE;
            steps[i].plain = KS_PLAIN_NONE;
        }
        for (size_t q = 0; q < p; q++)
            known = ks_pre_at(q)->steps == pre->steps ? 0 : known;
        if (known)
            assert_same_splits(pre, &(struct ks_pre){pre->name, steps, pre->flags});
        n_shortcuts += known;
    }
    assert_true(n_shortcuts >= 20);
}

/* As its vocabularies' own files say it: first every number by itself, then GPT-2's words. */
static void starcoder_is_digits_and_then_gpt_2(void **state)
{
    (void)state;
    const struct ks_step steps[] = {
        {.kind = KS_STEP_PATTERN, .pattern = "[0-9\\xD1]"},
        {.kind = KS_STEP_PATTERN, .pattern = ks_pre_find("gpt-2", 5)->steps[0].pattern},
        {.kind = KS_STEP_END},
    };
    assert_same_splits(ks_pre_find("starcoder", 9), &(struct ks_pre){"two steps", steps, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words_are_what_the_patterns_match),
        cmocka_unit_test(starcoder_is_digits_and_then_gpt_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

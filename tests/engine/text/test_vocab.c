/* Vocabularies: what is refused and with which words, what tokens stand for, which are special. */
#include "tests/engine/text/small.h"

#include <math.h>

/* ------------------------------------------------------------------ refusals */

static const struct small good_bpe = {
    .model = "gpt2",
    .pre = "gpt-2",
    .tokens = {"a", "b", "c", "ab", "bc", "\xC4\xA0", "<s>"},
    .types = {1, 1, 1, 1, 1, 1, 3},
    .n_types = 7,
    .merges = {"b c", "a b"},
};

static const struct small good_spm = {
    .model = "llama",
    .tokens = {"<unk>", "<s>", "</s>", "\xE2\x96\x81", "a", "b", "ab",
               "\xE2\x96\x81"
               "a"},
    .types = {2, 3, 3, 1, 1, 1, 1, 1},
    .n_types = 8,
    .scores = {0, 0, 0, -9, -9, -9, -1, -2},
    .n_scores = 8,
};

static void assert_refused(const struct small *s, const char *pre, enum ks_code code,
                           const char *start, const char *part)
{
    struct ks_error err = {0};
    struct ks_gguf *g = small_open(s);
    assert_null(ks_tokenizer_create(g, pre, &err));
    assert_int_equal(err.code, code);
    if (strncmp(err.text, start, strlen(start)) != 0 || !strstr(err.text, part))
        fail_msg("\"%s\" does not start with \"%s\" or lacks \"%s\"", err.text, start, part);
    ks_gguf_close(g);
}

static void assert_bad(const struct small *s, const char *start, const char *part)
{
    assert_refused(s, NULL, KS_BAD_INPUT, start, part);
}

static void a_missing_or_foreign_model_is_refused(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.model = NULL;
    assert_bad(&s, "tokenizer.ggml.model ", "missing");
    s.model = "rwkv";
    assert_refused(&s, NULL, KS_UNSUPPORTED, "tokenizer.ggml.model is \"rwkv\", ", "gemma4");
}

static void word_pieces_and_unigrams_are_refused_by_name(void **state)
{
    (void)state;
    struct small s = good_spm;
    s.model = "bert";
    assert_refused(&s, NULL, KS_UNSUPPORTED, "tokenizer.ggml.model is \"bert\" (WordPiece)",
                   "take a model with gpt2, llama or gemma4 there");
    s.model = "t5";
    assert_refused(&s, NULL, KS_UNSUPPORTED, "tokenizer.ggml.model is \"t5\" (unigram)",
                   "take a model with gpt2, llama or gemma4 there");
}

static void an_unknown_pre_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.pre = "nobody\n";
    assert_refused(&s, NULL, KS_UNSUPPORTED, "tokenizer.ggml.pre is \"nobody\\x0A\"", "smollm");
    assert_refused(&good_bpe, "gpt2", KS_UNSUPPORTED, "the pre asked for is \"gpt2\"", "youtu");
    assert_refused(&good_spm, "gpt-2", KS_BAD_INPUT, "a pre (\"gpt-2\")", "gpt2");
}

static void a_missing_pre_is_default(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.pre = NULL;
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_string_equal(ks_tokenizer_kind(t), "bpe default");
    ks_tokenizer_destroy(t);
}

static void broken_token_lists_are_refused(void **state)
{
    (void)state;
    struct small s = {.model = "gpt2"};
    assert_bad(&s, "tokenizer.ggml.tokens is missing", "");
    s.empty_tokens = true;
    assert_bad(&s, "tokenizer.ggml.tokens has 0 items", "");
    s = good_bpe;
    s.tokens[4] = "b";
    assert_bad(&s, "tokenizer.ggml.tokens: tokens 1 and 4 are both \"b\"", "");
    s = good_bpe;
    s.tokens[5] = s.tokens[6] = "not in the alphabet";
    assert_bad(&s, "tokenizer.ggml.tokens: tokens 5 and 6 are both", "not in the alphabet");
}

static void lists_of_the_wrong_length_are_refused(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.n_types = 6;
    assert_bad(&s, "tokenizer.ggml.token_type has 6 items for 7 tokens", "");
    s.n_types = 8;
    assert_bad(&s, "tokenizer.ggml.token_type has 8 items for 7 tokens", "");
    s = good_bpe;
    s.n_scores = 3;
    assert_bad(&s, "tokenizer.ggml.scores has 3 items for 7 tokens", "");
}

static void sentencepiece_needs_scores_that_are_numbers(void **state)
{
    (void)state;
    struct small s = good_spm;
    s.n_scores = 0;
    assert_bad(&s, "tokenizer.ggml.scores is missing", "");
    s = good_spm;
    s.scores[4] = NAN;
    assert_bad(&s, "tokenizer.ggml.scores: item 4 is not a number", "");
}

static void broken_merges_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *merge, *part;
    } cases[] = {
        {"ab", "not two parts"},
        {"a ", "not two parts"},
        {" ", "not two parts"},
        {"x b", "its left part is not a token"},
        {"a x", "its right part is not a token"},
        {"b a", "the result is not a token"},
        {"a b c", "its right part is not a token"},
        {"\xFF b", "\\xFF"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct small s = good_bpe;
        s.merges[1] = cases[i].merge;
        assert_bad(&s, "tokenizer.ggml.merges: item 1, ", cases[i].part);
    }
    struct small s = good_bpe;
    s.no_merges = true;
    assert_bad(&s, "tokenizer.ggml.merges is missing", "");
}

static void ids_outside_the_vocabulary_are_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                       "tokenizer.ggml.unknown_token_id"};
    for (int i = 0; i < 3; i++) {
        struct small s = good_bpe;
        s.more[0].key = keys[i];
        s.more[0].value = 7;
        s.more[0].type = KS_GGUF_U32;
        assert_bad(&s, keys[i], " is 7, but there are 7 tokens");
        s.more[0].type = KS_GGUF_BOOL;
        s.more[0].value = 1;
        assert_bad(&s, keys[i], "not a whole number");
    }
}

static void a_bos_that_is_wanted_but_not_there_is_refused(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.pre = "llama3"; /* its default is to add one; the default id, 11, is no token here */
    assert_bad(&s, "the vocabulary wants a BOS", "tokenizer.ggml.bos_token_id");
    s = good_bpe;
    s.more[0].key = "tokenizer.ggml.add_eos_token";
    s.more[0].value = 1;
    s.more[0].type = KS_GGUF_BOOL;
    assert_bad(&s, "the vocabulary wants an EOS", "tokenizer.ggml.eos_token_id");
    s.more[0].type = KS_GGUF_U32;
    assert_bad(&s, "tokenizer.ggml.add_eos_token", "true or false");
}

/* ------------------------------------------------------------------ merging */

static void merges_go_by_rank_then_from_the_left(void **state)
{
    (void)state;
    struct ks_tokenizer *t = small_tokenizer(&good_bpe);
    assert_tokens(t, "abc", 0, "0 4"); /* b c before a b */
    assert_tokens(t, "abab", 0, "3 3");
    assert_tokens(t, "", 0, "");
    ks_tokenizer_destroy(t);
    struct small s = {
        .model = "gpt2", .pre = "gpt-2", .tokens = {"a", "aa", "aaa"}, .merges = {"a a", "aa a"}};
    t = small_tokenizer(&s);
    assert_tokens(t, "aaa", 0, "2");
    assert_tokens(t, "aaaa", 0, "1 1");
    assert_tokens(t, "aaaaa", 0, "1 2");
    ks_tokenizer_destroy(t);
}

static void of_equal_merges_the_first_counts(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.merges[0] = "a b";
    s.merges[1] = "b c";
    s.merges[2] = "a b";
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_tokens(t, "abc", 0, "3 2");
    ks_tokenizer_destroy(t);
}

/* As llama.cpp does; a vocabulary that lacks a byte of UTF-8 is not known. */
static void a_byte_without_a_token_is_left_out_of_bpe(void **state)
{
    (void)state;
    struct ks_tokenizer *t = small_tokenizer(&good_bpe);
    assert_tokens(t, "axb", 0, "0 1");
    ks_tokenizer_destroy(t);
}

static void sentencepiece_merges_by_score(void **state)
{
    (void)state;
    struct ks_tokenizer *t = small_tokenizer(&good_spm);
    assert_tokens(t, "ab", 0, "3 6"); /* ab scores above _a */
    assert_tokens(t, "aa", 0, "7 4"); /* a space in front */
    assert_tokens(t, "b a", 0, "3 5 7");
    assert_tokens(t, "ab", KS_TOKENIZE_ADD, "1 3 6");
    ks_tokenizer_destroy(t);
}

static void sentencepiece_without_byte_tokens_has_its_unknown_token(void **state)
{
    (void)state;
    struct ks_tokenizer *t = small_tokenizer(&good_spm);
    assert_tokens(t,
                  "a\xC3\xA9"
                  "b",
                  0, "7 0 5");
    ks_tokenizer_destroy(t);
}

static void a_failed_text_leaves_the_ids_as_they_were(void **state)
{
    (void)state;
    struct ks_tokenizer *t = small_tokenizer(&good_bpe);
    struct ks_tokens out = {0};
    struct ks_error err = {0};
    assert_int_equal(ks_tokens_put(&out, 5, &err), 0);
    assert_int_equal(ks_tokenize(t, "a", SIZE_MAX / 2, 0, &out, &err), -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_int_equal(out.n, 1);
    assert_int_equal(ks_tokenize(t, "a", 1, 0, &out, &err), 0);
    assert_int_equal(out.n, 2);
    assert_int_equal(out.ids[0], 5);
    ks_tokens_finish(&out);
    ks_tokenizer_destroy(t);
}

/* ------------------------------------------------------------------ special tokens */

/* A BPE vocabulary of single letters and the given special texts from id 4 on. */
static struct small specials(const char *const *texts, const int32_t *types, size_t n)
{
    struct small s = {.model = "gpt2",
                      .pre = "gpt-2",
                      .tokens = {"a", "b", "<", ">"},
                      .types = {1, 1, 1, 1},
                      .n_types = 4 + n};
    for (size_t i = 0; i < n; i++) {
        s.tokens[4 + i] = texts[i];
        s.types[4 + i] = types[i];
    }
    return s;
}

static void longer_special_tokens_are_found_first(void **state)
{
    (void)state;
    static const char *const texts[] = {"<a", "ab", "a>b<", "b<"};
    static const int32_t types[] = {4, 4, 4, 3};
    struct small s = specials(texts, types, 4);
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_tokens(t, "<a>b<a", 0, "2 6 0"); /* not "<a" from the left */
    assert_tokens(t, "<ab", 0, "4 1");      /* equal lengths: the lower id first */
    assert_tokens(t, "b<ab<", 0, "1 4 1 2");
    assert_tokens(t, "b<ab<", KS_TOKENIZE_SPECIAL, "1 4 7"); /* b< is control, and after <a */
    ks_tokenizer_destroy(t);
}

static void ends_of_turns_are_control_tokens_whatever_their_type(void **state)
{
    (void)state;
    static const char *const texts[] = {"<|im_end|>", "<eos>"};
    static const int32_t types[] = {1, 4};
    struct small s = specials(texts, types, 2);
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_tokens(t, "a<|im_end|><eos>", KS_TOKENIZE_SPECIAL, "0 4 5");
    assert_tokens(t, "a<|im_end|><eos>", 0, "0 2 3 2 3");
    assert_int_equal(ks_token_type(t, 4), KS_TOKEN_NORMAL);
    ks_tokenizer_destroy(t);
}

static void harmony_keeps_its_marks_in_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"<|channel|>", "<|end|>", "<|call|>", "<|return|>"};
    static const int32_t types[] = {3, 3, 3, 3};
    struct small s = specials(texts, types, 4);
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_tokens(t, "<|channel|>a<|end|>", 0, "4 0 5");
    assert_tokens(t, "<|call|>", 0, "2 0 3"); /* "c", "l" and "|" are no tokens here */
    ks_tokenizer_destroy(t);
    s = specials(texts, types, 3);
    t = small_tokenizer(&s);
    assert_tokens(t, "<|end|>", 0, "2 3");
    ks_tokenizer_destroy(t);
}

static void a_closing_s_beside_tool_responses_is_plain_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"</s>", "<|tool_response>"};
    static const int32_t types[] = {3, 4};
    struct small s = specials(texts, types, 2);
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_tokens(t, "</s>", KS_TOKENIZE_SPECIAL, "2 3");
    ks_tokenizer_destroy(t);
}

static void infill_marks_are_control_tokens_unless_named(void **state)
{
    (void)state;
    static const char *const texts[] = {"<fim_prefix>", "<PRE>"};
    static const int32_t types[] = {1, 1};
    struct small s = specials(texts, types, 2);
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_tokens(t, "<fim_prefix><PRE>", KS_TOKENIZE_SPECIAL, "4 2 3");
    ks_tokenizer_destroy(t);
    s.more[0].key = "tokenizer.ggml.fim_pre_token_id";
    s.more[0].value = 5;
    s.more[0].type = KS_GGUF_U32;
    t = small_tokenizer(&s);
    assert_tokens(t, "<fim_prefix>", KS_TOKENIZE_SPECIAL, "2 3");
    ks_tokenizer_destroy(t);
}

static void special_tokens_of_phi_3_eat_the_space_behind_them(void **state)
{
    (void)state;
    static const char *const texts[] = {"<|user|>", "<s>", "\xC4\xA0", "\xC4\x8A"};
    static const int32_t types[] = {3, 3, 1, 1};
    struct small s = specials(texts, types, 4);
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_tokens(t, "<|user|> \na", KS_TOKENIZE_SPECIAL, "4 6 7 0");
    ks_tokenizer_destroy(t);
    s.name = "My PHI-3 mini";
    t = small_tokenizer(&s);
    assert_tokens(t, "<|user|> \na ", KS_TOKENIZE_SPECIAL, "4 0 6");
    assert_tokens(t, "<|user|>\n<|user|>", KS_TOKENIZE_SPECIAL, "4 4");
    assert_tokens(t, "<s> a", KS_TOKENIZE_SPECIAL, "5 6 0");
    ks_tokenizer_destroy(t);
}

/* ------------------------------------------------------------------ what tokens stand for */

static void assert_stands_for(const struct ks_tokenizer *t, int32_t id, const char *want,
                              size_t len)
{
    struct ks_str s = ks_token_bytes(t, id);
    assert_int_equal(s.len, len);
    assert_memory_equal(s.bytes, want, len);
}

static void tokens_stand_for_bytes(void **state)
{
    (void)state;
    struct small s = {.model = "gpt2",
                      .pre = "gpt-2",
                      .tokens = {"\xC4\xA0"
                                 "a",
                                 "\xC4\x80", "\xC5\x83", "\xC3\xBF", "<\xC4\xA0>", "\xE4\xB8\xAD"},
                      .types = {1, 1, 1, 1, 3, 1},
                      .n_types = 6};
    struct ks_tokenizer *t = small_tokenizer(&s);
    assert_stands_for(t, 0, " a", 2);
    assert_stands_for(t, 1, "\0", 1);
    assert_stands_for(t, 2, "\xAD", 1);
    assert_stands_for(t, 3, "\xFF", 1);
    assert_stands_for(t, 4, "<\xC4\xA0>", 4);   /* control: its own text */
    assert_stands_for(t, 5, "\xE4\xB8\xAD", 3); /* outside the alphabet */
    assert_int_equal(ks_tokenizer_vocab(t), 6);
    ks_tokenizer_destroy(t);
    s = good_spm;
    s.tokens[5] = "<0x0A>";
    s.types[5] = KS_TOKEN_BYTE;
    t = small_tokenizer(&s);
    assert_stands_for(t, 7, " a", 2);
    assert_stands_for(t, 5, "\n", 1);
    assert_int_equal(ks_tokenizer_bos(t), 1);
    assert_int_equal(ks_tokenizer_eos(t), 2);
    assert_true(ks_tokenizer_adds_bos(t));
    assert_false(ks_tokenizer_adds_eos(t));
    ks_tokenizer_destroy(t);
}

static void a_token_without_text_gets_a_name(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.tokens[4] = "";
    s.tokens[5] = "[EMPTY_4]";
    s.merges[0] = "a b";
    s.merges[1] = NULL;
    assert_bad(&s, "tokenizer.ggml.tokens: tokens 4 and 5 are both \"[EMPTY_4]\"", "");
}

/* ------------------------------------------------------------------ comparing */

static struct ks_hash hash_of(const struct small *s)
{
    struct ks_tokenizer *t = small_tokenizer(s);
    struct ks_hash h = ks_tokenizer_hash(t);
    ks_tokenizer_destroy(t);
    return h;
}

static void the_hash_tells_what_makes_other_ids(void **state)
{
    (void)state;
    struct ks_hash h = hash_of(&good_bpe);
    assert_true(ks_hash_equal(h, hash_of(&good_bpe)));
    struct small s = good_bpe;
    s.n_scores = 7;
    assert_true(ks_hash_equal(h, hash_of(&s))); /* BPE never looks at scores */
    s = good_bpe;
    s.pre = "qwen2";
    assert_false(ks_hash_equal(h, hash_of(&s)));
    s = good_bpe;
    s.types[0] = KS_TOKEN_USER_DEFINED;
    assert_false(ks_hash_equal(h, hash_of(&s)));
    s = good_bpe;
    s.merges[0] = "a b";
    s.merges[1] = "b c";
    assert_false(ks_hash_equal(h, hash_of(&s)));
    s = good_bpe;
    s.tokens[6] = "<S>";
    assert_false(ks_hash_equal(h, hash_of(&s)));
    s = good_bpe;
    s.more[0].key = "tokenizer.ggml.bos_token_id";
    s.more[0].value = 6;
    s.more[0].type = KS_GGUF_U32;
    assert_false(ks_hash_equal(h, hash_of(&s)));
    struct ks_hash spm = hash_of(&good_spm);
    s = good_spm;
    s.scores[6] = -3;
    assert_false(ks_hash_equal(spm, hash_of(&s)));
}

static void collect(void *ctx, const char *text)
{
    struct ks_error err;
    assert_int_equal(ks_buf_printf(ctx, &err, "%s\n", text), 0);
}

/* Compares with good_bpe; returns the warnings, free(). NULL where refused with part. */
static char *compare(const struct small *a, const struct small *b, const char *part)
{
    struct ks_tokenizer *x = small_tokenizer(a), *y = small_tokenizer(b);
    struct ks_buf warnings = {0};
    struct ks_error err = {0};
    int rc = ks_tokenizer_compare(x, y, collect, &warnings, &err);
    if (part)
        assert_true(rc && strstr(err.text, part) && !warnings.len);
    else
        assert_int_equal(rc, 0);
    assert_int_equal(ks_tokenizer_compare(x, y, NULL, NULL, &err), rc);
    ks_tokenizer_destroy(x);
    ks_tokenizer_destroy(y);
    return warnings.bytes;
}

static void models_must_share_their_tokens(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.tokens[7] = "more";
    s.n_types = 8;
    s.types[7] = 1;
    assert_null(compare(&good_bpe, &s, "the reference has 7 tokens, the arm 8"));
    s = good_bpe;
    s.tokens[6] = "<S>";
    assert_null(compare(&good_bpe, &s, "token 6 is \"<s>\" in the reference, \"<S>\" in the arm"));
    assert_null(compare(&good_bpe, &good_bpe, NULL));
}

static void what_else_differs_is_a_warning_each(void **state)
{
    (void)state;
    struct small s = good_bpe;
    s.pre = "qwen2";
    s.types[0] = KS_TOKEN_UNUSED;
    s.n_scores = 7;
    s.scores[2] = 1.5f;
    s.merges[1] = NULL;
    s.more[0].key = "tokenizer.ggml.bos_token_id";
    s.more[0].value = 6;
    s.more[0].type = KS_GGUF_U32;
    char *warnings = compare(&good_bpe, &s, NULL);
    assert_string_equal(
        warnings,
        "the tokenizer is \"bpe gpt-2\" in the reference, \"bpe qwen2\" in the arm\n"
        "the types of 1 tokens differ, first that of token 0, \"a\": normal in the reference, "
        "unused in the arm\n"
        "the scores of 1 tokens differ, first that of token 2, \"c\": 0 in the reference, 1.5 in "
        "the arm\n"
        "the reference has 2 merges, the arm 1\n"
        "the BOS token is -1 in the reference, 6 in the arm\n");
    free(warnings);
    s = good_bpe;
    s.merges[0] = "a b";
    s.merges[1] = "b c";
    warnings = compare(&good_bpe, &s, NULL);
    assert_string_equal(warnings, "the merges differ\n");
    free(warnings);
}

/* ------------------------------------------------------------------ chat templates */

static void a_family_is_known_by_its_marks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *family;
    } cases[] = {
        {"{% for m in messages %}{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + "
         "'<|im_end|>' + '\\n'}}{% endfor %}",
         "chatml"},
        {"{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nHi<|im_end|>\\n' }}"
         "{% endif %}",
         "chatml"},
        {"<|im_start|>{{ role }}<|im_sep|>{{ content }}<|im_end|>", "phi4"},
        {"<|start_header_id|>user<|end_header_id|>", NULL},
        {"<|im_start|>", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct small s = good_bpe;
        s.chat_template = cases[i].text;
        struct ks_gguf *g = small_open(&s);
        const char *family = ks_chat_family(g);
        if (cases[i].family)
            assert_string_equal(family, cases[i].family);
        else
            assert_null(family);
        ks_gguf_close(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_or_foreign_model_is_refused),
        cmocka_unit_test(word_pieces_and_unigrams_are_refused_by_name),
        cmocka_unit_test(an_unknown_pre_is_refused_with_the_known_ones),
        cmocka_unit_test(a_missing_pre_is_default),
        cmocka_unit_test(broken_token_lists_are_refused),
        cmocka_unit_test(lists_of_the_wrong_length_are_refused),
        cmocka_unit_test(sentencepiece_needs_scores_that_are_numbers),
        cmocka_unit_test(broken_merges_are_refused),
        cmocka_unit_test(ids_outside_the_vocabulary_are_refused),
        cmocka_unit_test(a_bos_that_is_wanted_but_not_there_is_refused),
        cmocka_unit_test(merges_go_by_rank_then_from_the_left),
        cmocka_unit_test(of_equal_merges_the_first_counts),
        cmocka_unit_test(a_byte_without_a_token_is_left_out_of_bpe),
        cmocka_unit_test(sentencepiece_merges_by_score),
        cmocka_unit_test(sentencepiece_without_byte_tokens_has_its_unknown_token),
        cmocka_unit_test(a_failed_text_leaves_the_ids_as_they_were),
        cmocka_unit_test(longer_special_tokens_are_found_first),
        cmocka_unit_test(ends_of_turns_are_control_tokens_whatever_their_type),
        cmocka_unit_test(harmony_keeps_its_marks_in_text),
        cmocka_unit_test(a_closing_s_beside_tool_responses_is_plain_text),
        cmocka_unit_test(infill_marks_are_control_tokens_unless_named),
        cmocka_unit_test(special_tokens_of_phi_3_eat_the_space_behind_them),
        cmocka_unit_test(tokens_stand_for_bytes),
        cmocka_unit_test(a_token_without_text_gets_a_name),
        cmocka_unit_test(the_hash_tells_what_makes_other_ids),
        cmocka_unit_test(models_must_share_their_tokens),
        cmocka_unit_test(what_else_differs_is_a_warning_each),
        cmocka_unit_test(a_family_is_known_by_its_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

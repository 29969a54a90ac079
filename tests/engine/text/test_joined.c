/* Corpora as one text: what stands between its documents and at its end. */
#include "tests/testing.h"

#include <jansson.h>

#include "tests/engine/text/specs.h"

static struct ks_tokenizer *tokenizer;

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(specs_folder));
    tokenizer = open_tokenizer(test_data("model/model-odd.gguf"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ks_tokenizer_destroy(tokenizer);
    return rmdir(specs_folder);
}

static struct ks_corpus_spec spec(const char *name, const char *text)
{
    return write_spec(KS_CORPUS_TEXT, name, text, strlen(text));
}

static void load(const struct ks_corpus_spec *specs, size_t n, struct ks_corpus *c)
{
    struct ks_error err;
    if (ks_corpus_load_joined(specs, n, tokenizer, NULL, NULL, c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c->n_documents, 1);
    assert_int_equal(c->n_corpora, 1);
    assert_int_equal(c->tallies[0].documents, 1);
    assert_int_equal(c->tallies[0].tokens, c->documents[0].n);
}

static void assert_text_is(const struct ks_corpus_spec *specs, size_t n, const char *text)
{
    struct ks_corpus c;
    struct ks_tokens want = {0};
    struct ks_error err;
    load(specs, n, &c);
    assert_int_equal(ks_tokenize(tokenizer, text, strlen(text), KS_TOKENIZE_ADD, &want, &err), 0);
    assert_int_equal(c.documents[0].n, want.n);
    assert_memory_equal(c.documents[0].ids, want.ids, want.n * sizeof *want.ids);
    ks_tokens_finish(&want);
    ks_corpus_finish(&c);
}

static const char lines[] = "{\"text\": \"The ferry left.\"}\n\n{\"text\": \"\"}\n"
                            "{\"text\": \"Nobody waved.\\n\"}\n";

/* The last blank line is short of the newline that is dropped at the end. */
static void a_blank_line_stands_behind_each_document(void **state)
{
    (void)state;
    struct ks_corpus_spec s = spec("a.jsonl", lines);
    assert_text_is(&s, 1, "The ferry left.\n\n\n\nNobody waved.\n\n");
    remove_spec(&s);
}

static void specs_and_their_files_come_one_behind_the_other(void **state)
{
    (void)state;
    struct ks_corpus_spec s[] = {spec("b.txt", "First.\n"), spec("a.jsonl", lines),
                                 spec("c.txt", "Last.")};
    s[1].max_documents = 1;
    assert_text_is(s, 3, "First.\n\n\nThe ferry left.\n\nLast.\n");
    struct ks_corpus c;
    load(s, 3, &c);
    assert_int_equal(c.n_joined, 3);
    ks_corpus_finish(&c);
    for (size_t i = 0; i < 3; i++)
        remove_spec(&s[i]);
}

static void a_text_file_alone_is_read_as_llama_perplexity_reads_it(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"The ferry.", "The ferry."},
                                           {"The ferry.\n", "The ferry."},
                                           {"The ferry.\n\n", "The ferry.\n"},
                                           {"\n", ""}};
    for (size_t i = 0; i < 4; i++) {
        struct ks_corpus_spec s = spec("a.txt", files[i][0]);
        assert_text_is(&s, 1, files[i][1]);
        remove_spec(&s);
    }
}

/* Its own tokens of the text that comes with the models; the last, which fill no window, are not
 * in the list. */
static void the_tokens_are_those_of_llama_perplexity(void **state)
{
    (void)state;
    static const char *const names[] = {"even", "odd"};
    json_error_t why;
    json_t *all = json_load_file(test_data("perplexity/expected.json"), 0, &why);
    for (int i = 0; i < 2; i++) {
        char model[64];
        snprintf(model, sizeof model, "model/model-%s.gguf", names[i]);
        struct ks_tokenizer *t = open_tokenizer(test_data(model));
        struct ks_corpus_spec s = {.kind = KS_CORPUS_TEXT, .n_paths = 1};
        char *path = strdup(test_data("perplexity/corpus.txt"));
        s.paths = s.shown = &path;
        struct ks_corpus c;
        struct ks_error err;
        assert_int_equal(ks_corpus_load_joined(&s, 1, t, NULL, NULL, &c, &err), 0);
        const json_t *tokens = json_object_get(json_object_get(all, names[i]), "tokens");
        size_t n = json_array_size(tokens);
        assert_int_equal(n, 13 * 64);
        assert_true(c.documents[0].n >= n && c.documents[0].n < n + 64);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(c.documents[0].ids[k], json_integer_value(json_array_get(tokens, k)));
        ks_corpus_finish(&c);
        ks_tokenizer_destroy(t);
        free(path);
    }
    json_decref(all);
}

static void marks_of_special_tokens_are_plain_text(void **state)
{
    (void)state;
    struct ks_corpus_spec s = spec("a.txt", "a <s> b </s> <|im_start|>");
    assert_text_is(&s, 1, "a <s> b </s> <|im_start|>");
    remove_spec(&s);
}

static void max_tokens_cuts_the_whole(void **state)
{
    (void)state;
    struct ks_corpus_spec s = spec("a.jsonl", lines);
    struct ks_corpus all, cut;
    load(&s, 1, &all);
    s.max_tokens = 7;
    load(&s, 1, &cut);
    assert_true(all.documents[0].n > 7 && cut.tallies[0].cut && !all.tallies[0].cut);
    assert_int_equal(cut.documents[0].n, 7);
    assert_memory_equal(cut.documents[0].ids, all.documents[0].ids, 7 * sizeof(int32_t));
    assert_false(ks_hash_equal(cut.hashes[0], all.hashes[0]));
    ks_corpus_finish(&all);
    ks_corpus_finish(&cut);
    remove_spec(&s);
}

static void assert_refused(const struct ks_corpus_spec *specs, size_t n, const char *words)
{
    struct ks_corpus c = {.n_corpora = 77};
    struct ks_error err = {0};
    assert_int_equal(ks_corpus_load_joined(specs, n, tokenizer, NULL, NULL, &c, &err), -1);
    assert_int_equal(c.n_corpora, 77);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, err.text);
}

static void what_has_no_place_in_one_text_is_refused(void **state)
{
    (void)state;
    struct ks_corpus_spec s[] = {spec("a.txt", "one"), spec("b.txt", "two")};
    s[1].max_tokens = 5;
    assert_refused(s, 2,
                   "corpus some: scoring = \"llama\" takes all corpora as one plain text: "
                   "max_tokens would cut");
    s[1].max_tokens = 0;
    s[1].parse_special = true;
    assert_refused(s, 2, "parse_special");
    s[1].parse_special = false;
    s[1].kind = KS_CORPUS_CHAT;
    assert_refused(s, 2, "chats have marks");
    remove_spec(&s[0]);
    remove_spec(&s[1]);
    s[0] = spec("empty.jsonl", "\n");
    assert_refused(s, 1, "empty.jsonl: holds no documents");
    remove_spec(&s[0]);
}

static bool until_two(void *ctx, size_t documents)
{
    *(size_t *)ctx = documents;
    return documents < 2;
}

static void joining_stops_when_told_to(void **state)
{
    (void)state;
    struct ks_corpus_spec s = spec("a.jsonl", lines);
    struct ks_corpus c;
    struct ks_error err;
    size_t seen = 0;
    assert_int_equal(ks_corpus_load_joined(&s, 1, tokenizer, until_two, &seen, &c, &err), -1);
    assert_int_equal(err.code, KS_CANCELLED);
    assert_int_equal(seen, 2);
    remove_spec(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blank_line_stands_behind_each_document),
        cmocka_unit_test(specs_and_their_files_come_one_behind_the_other),
        cmocka_unit_test(a_text_file_alone_is_read_as_llama_perplexity_reads_it),
        cmocka_unit_test(the_tokens_are_those_of_llama_perplexity),
        cmocka_unit_test(marks_of_special_tokens_are_plain_text),
        cmocka_unit_test(max_tokens_cuts_the_whole),
        cmocka_unit_test(what_has_no_place_in_one_text_is_refused),
        cmocka_unit_test(joining_stops_when_told_to),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

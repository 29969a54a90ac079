#include "tests/testing.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/text/corpus.h"
#include "engine/text/document/record.h"
#include "engine/text/document/source.h"
#include "tests/engine/text/specs.h"

/* ------------------------------------------------------------------ helpers */

static struct ks_tokenizer *scope, *sentencepiece, *gemma;

static const char *scenario_file(const char *name)
{
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/scenarios/%s", getenv("KS_SOURCE_ROOT"), name);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(specs_folder));
    scope = open_tokenizer(scenario_file("models/scope-6m.f16.gguf"));
    sentencepiece = open_tokenizer(test_data("text/spm-1000.gguf"));
    gemma = open_tokenizer(test_data("text/spm-gemma-like-1000.gguf"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ks_tokenizer_destroy(scope);
    ks_tokenizer_destroy(sentencepiece);
    ks_tokenizer_destroy(gemma);
    return rmdir(specs_folder);
}

static void load(const struct ks_corpus_spec *s, size_t n, const struct ks_tokenizer *t,
                 struct ks_corpus *c)
{
    struct ks_error err;
    if (ks_corpus_load(s, n, t, "chatml", NULL, NULL, c, &err))
        fail_msg("%s", err.text);
}

static void assert_refused(const struct ks_corpus_spec *s, const struct ks_tokenizer *t,
                           const char *family, const char *start, const char *part)
{
    struct ks_corpus c = {.n_corpora = 77};
    struct ks_error err = {0};
    assert_int_equal(ks_corpus_load(s, 1, t, family, NULL, NULL, &c, &err), -1);
    if (strncmp(err.text, start, strlen(start)) != 0 || !strstr(err.text, part))
        fail_msg("\"%s\" does not start with \"%s\" or lacks \"%s\"", err.text, start, part);
    assert_int_equal(c.n_corpora, 77);
}

static void assert_text_refused(const char *name, const char *bytes, const char *start,
                                const char *part)
{
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, name, bytes, strlen(bytes));
    assert_refused(&s, scope, "chatml", start, part);
    remove_spec(&s);
}

static void assert_chat_refused(const char *name, const char *bytes, const char *start,
                                const char *part)
{
    struct ks_corpus_spec s = write_spec(KS_CORPUS_CHAT, name, bytes, strlen(bytes));
    assert_refused(&s, scope, "chatml", start, part);
    remove_spec(&s);
}

static void assert_bytes(const struct ks_tokenizer *t, const int32_t *ids, size_t n,
                         const char *want, size_t len)
{
    struct ks_buf b = {0};
    struct ks_error err;
    for (size_t i = 0; i < n; i++) {
        struct ks_str s = ks_token_bytes(t, ids[i]);
        assert_int_equal(ks_buf_put(&b, s.bytes, s.len, &err), 0);
    }
    if (b.len != len || memcmp(b.bytes, want, len) != 0)
        fail_msg("tokens spell \"%s\", not \"%s\"", b.bytes, want);
    ks_buf_finish(&b);
}

/* ------------------------------------------------------------------ what is read */

/* n and documents of the independent pipeline that made the quickstart's numbers. */
static void the_quickstart_has_256_documents_and_71988_tokens(void **state)
{
    (void)state;
    static const char *const names[] = {"stories", "howto", "code", "chat"};
    struct ks_corpus_spec s[4] = {0};
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "corpora/%s.jsonl", names[i]);
        s[i].kind = i == 3 ? KS_CORPUS_CHAT : KS_CORPUS_TEXT;
        s[i].n_paths = 1;
        s[i].paths = calloc(1, sizeof(char *));
        s[i].shown = calloc(1, sizeof(char *));
        s[i].paths[0] = strdup(scenario_file(name));
        s[i].shown[0] = strdup(name);
    }
    struct ks_corpus c;
    load(s, 4, scope, &c);
    size_t tokens = 0;
    for (size_t i = 0; i < c.n_documents; i++) {
        tokens += c.documents[i].n;
        assert_int_equal(c.documents[i].n_bos, 0);
        assert_null(c.documents[i].scored);
    }
    assert_int_equal(c.n_documents, 256);
    assert_int_equal(tokens, 71988);
    assert_int_equal(c.n_corpora, 4);
    assert_int_equal(c.tallies[0].tokens + c.tallies[1].tokens + c.tallies[2].tokens +
                         c.tallies[3].tokens,
                     71988);
    assert_string_equal(c.documents[255].file, "corpora/chat.jsonl");
    assert_int_equal(c.documents[255].corpus, 3);
    assert_int_equal(c.documents[255].line, c.tallies[3].documents);
    ks_corpus_finish(&c);
    for (int i = 0; i < 4; i++)
        free_spec(&s[i]);
}

static void a_txt_is_one_document_of_its_very_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "two\r\nlines\0and a NUL\n";
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.txt", bytes, sizeof bytes - 1);
    struct ks_corpus c;
    load(&s, 1, scope, &c);
    assert_int_equal(c.n_documents, 1);
    assert_int_equal(c.documents[0].line, 0);
    assert_string_equal(c.documents[0].file, "a.txt");
    assert_bytes(scope, c.documents[0].ids, c.documents[0].n, bytes, sizeof bytes - 1);
    ks_corpus_finish(&c);
    remove_spec(&s);
}

static void invalid_utf_8_in_a_txt_reaches_the_tokenizer(void **state)
{
    (void)state;
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.TXT",
                                         "Zo\xEB"
                                         "bel",
                                         6);
    struct ks_corpus c;
    load(&s, 1, sentencepiece, &c);
    assert_int_equal(c.documents[0].n_bos, 1);
    assert_bytes(sentencepiece, c.documents[0].ids + 1, c.documents[0].n - 1,
                 " Zo\xEB"
                 "bel",
                 7);
    ks_corpus_finish(&c);
    remove_spec(&s);
}

static void a_byte_order_mark_is_not_text(void **state)
{
    (void)state;
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.txt", "\xEF\xBB\xBFhello you", 12);
    struct ks_corpus c;
    load(&s, 1, scope, &c);
    assert_bytes(scope, c.documents[0].ids, c.documents[0].n, "hello you", 9);
    ks_corpus_finish(&c);
    remove_spec(&s);
    assert_text_refused("b.txt", "\xFF\xFEh.e.", "b.txt: ", "UTF-16");
}

static void a_jsonl_has_a_document_a_line_and_blank_lines_count(void **state)
{
    (void)state;
    static const char bytes[] =
        "\xEF\xBB\xBF{\"text\": \"first one\"}\r\n"
        "\n"
        "  \t\r\n"
        "{\"id\": 123456789012345678901234567890, \"text\": \"a\\u0000b\"}\n"
        "{\"text\": \"no newline at the end\"}";
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.jsonl", bytes, sizeof bytes - 1);
    struct ks_corpus c;
    load(&s, 1, scope, &c);
    assert_int_equal(c.n_documents, 3);
    assert_int_equal(c.documents[0].line, 1);
    assert_int_equal(c.documents[1].line, 4);
    assert_int_equal(c.documents[2].line, 5);
    assert_bytes(scope, c.documents[1].ids, c.documents[1].n, "a\0b", 3);
    assert_int_equal(c.tallies[0].documents, 3);
    ks_corpus_finish(&c);
    remove_spec(&s);
}

static void special_tokens_in_text_are_parsed_only_where_asked_for(void **state)
{
    (void)state;
    static const char text[] = "a<|im_end|>b";
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.txt", text, sizeof text - 1);
    struct ks_corpus plain, parsed;
    load(&s, 1, scope, &plain);
    s.parse_special = true;
    load(&s, 1, scope, &parsed);
    assert_int_equal(parsed.documents[0].n, 3);
    assert_int_equal(parsed.documents[0].ids[1], 2);
    assert_true(plain.documents[0].n > 3);
    assert_false(ks_hash_equal(plain.hashes[0], parsed.hashes[0]));
    ks_corpus_finish(&plain);
    ks_corpus_finish(&parsed);
    remove_spec(&s);
}

/* ------------------------------------------------------------------ limits */

static const char three[] = "{\"text\": \"one two three four five\"}\n"
                            "{\"text\": \"six seven eight nine ten\"}\n"
                            "{\"text\": \"eleven twelve\"}\n";

static void max_documents_takes_the_first_of_each_file(void **state)
{
    (void)state;
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.jsonl", three, sizeof three - 1);
    s.max_documents = 2;
    s.paths = realloc(s.paths, 2 * sizeof *s.paths);
    s.shown = realloc(s.shown, 2 * sizeof *s.shown);
    s.paths[1] = strdup(s.paths[0]);
    s.shown[1] = strdup("again.jsonl");
    s.n_paths = 2;
    struct ks_corpus c;
    load(&s, 1, scope, &c);
    assert_int_equal(c.n_documents, 4);
    assert_int_equal(c.documents[2].line, 1);
    assert_string_equal(c.documents[2].file, "again.jsonl");
    ks_corpus_finish(&c);
    remove_spec(&s);
}

static void max_tokens_cuts_the_last_document(void **state)
{
    (void)state;
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.jsonl", three, sizeof three - 1);
    struct ks_corpus all, cut;
    load(&s, 1, scope, &all);
    size_t first = all.documents[0].n, second = all.documents[1].n;
    for (size_t limit = 2; limit <= first + second + 1; limit++) {
        s.max_tokens = limit;
        load(&s, 1, scope, &cut);
        size_t tokens = 0;
        for (size_t i = 0; i < cut.n_documents; i++) {
            assert_true(cut.documents[i].n >= 2);
            assert_memory_equal(cut.documents[i].ids, all.documents[i].ids,
                                cut.documents[i].n * sizeof(int32_t));
            tokens += cut.documents[i].n;
        }
        /* A single token that is left over is no document. */
        bool left_over = limit == first + 1 || limit == first + second + 1;
        assert_int_equal(tokens, left_over ? limit - 1 : limit);
        assert_int_equal(cut.tallies[0].tokens, tokens);
        bool whole = left_over || limit == first || limit == first + second;
        assert_int_equal(cut.tallies[0].cut, !whole);
        ks_corpus_finish(&cut);
    }
    s.max_tokens = 1;
    assert_refused(&s, scope, "chatml", "corpus some: ", "max_tokens = 1");
    ks_corpus_finish(&all);
    remove_spec(&s);
}

static void short_documents_are_refused_with_their_line_or_counted(void **state)
{
    (void)state;
    static const char bytes[] =
        "{\"text\": \"long enough\"}\n{\"text\": \"\"}\n{\"text\": \"a\"}\n";
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.jsonl", bytes, sizeof bytes - 1);
    assert_refused(&s, scope, "chatml", "a.jsonl:2: ", "a document of 0 tokens");
    s.skip_short = true;
    struct ks_corpus c;
    load(&s, 1, scope, &c);
    assert_int_equal(c.n_documents, 1);
    assert_int_equal(c.tallies[0].skipped_short, 2);
    ks_corpus_finish(&c);
    /* A BOS counts as a token. */
    s.skip_short = false;
    assert_refused(&s, sentencepiece, "chatml", "a.jsonl:2: ", "a document of 1 token,");
    remove_spec(&s);
    assert_text_refused("b.txt", "", "b.txt: ", "a document of 0 tokens");
    s = write_spec(KS_CORPUS_TEXT, "c.jsonl", "{\"text\": \"a\"}\n", 14);
    s.skip_short = true;
    assert_refused(&s, scope, "chatml", "corpus some: ", "shorter than two tokens");
    remove_spec(&s);
}

static bool until_two(void *ctx, size_t documents)
{
    *(size_t *)ctx = documents;
    return documents < 2;
}

static void loading_stops_when_told_to(void **state)
{
    (void)state;
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "a.jsonl", three, sizeof three - 1);
    struct ks_corpus c;
    struct ks_error err;
    size_t seen = 0;
    assert_int_equal(ks_corpus_load(&s, 1, scope, NULL, until_two, &seen, &c, &err), -1);
    assert_int_equal(err.code, KS_CANCELLED);
    assert_int_equal(seen, 2);
    remove_spec(&s);
}

/* ------------------------------------------------------------------ chat */

static const char conversation[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, "
    "{\"role\": \"user\", \"content\": \"Name a colour, and say why.\"}, "
    "{\"role\": \"assistant\", \"content\": \"Blue.\\n\\nThe sky is.\"}, "
    "{\"role\": \"user\", \"content\": \"Another\"}, "
    "{\"role\": \"assistant\", \"content\": \"Red caf\\u00e9\"}]}\n";

static const char written[] = "<|im_start|>system\nBe brief.<|im_end|>\n"
                              "<|im_start|>user\nName a colour, and say why.<|im_end|>\n"
                              "<|im_start|>assistant\nBlue.\n\nThe sky is.<|im_end|>\n"
                              "<|im_start|>user\nAnother<|im_end|>\n"
                              "<|im_start|>assistant\nRed caf\xC3\xA9<|im_end|>\n";

static void chatml_writes_every_turn_and_adds_nothing(void **state)
{
    (void)state;
    struct ks_corpus_spec s =
        write_spec(KS_CORPUS_CHAT, "a.jsonl", conversation, sizeof conversation - 1);
    struct ks_corpus c;
    load(&s, 1, scope, &c);
    assert_bytes(scope, c.documents[0].ids, c.documents[0].n, written, sizeof written - 1);
    assert_int_equal(c.documents[0].ids[0], 1);
    ks_corpus_finish(&c);
    remove_spec(&s);
}

/* Puts the bytes of the scored tokens into b. */
static void scored_bytes(const struct ks_tokenizer *t, const struct ks_document *d,
                         struct ks_buf *b)
{
    struct ks_error err;
    assert_non_null(d->scored);
    assert_int_equal(d->scored[0], 0);
    for (size_t i = 0; i < d->n; i++) {
        struct ks_str s = ks_token_bytes(t, d->ids[i]);
        if (d->scored[i])
            assert_int_equal(ks_buf_put(b, s.bytes, s.len, &err), 0);
    }
}

static void assistant_scores_its_content_and_the_end_of_its_turn(void **state)
{
    (void)state;
    struct ks_corpus_spec s =
        write_spec(KS_CORPUS_CHAT, "a.jsonl", conversation, sizeof conversation - 1);
    s.assistant_only = true;
    const struct ks_tokenizer *all[] = {scope, gemma, sentencepiece};
    for (int i = 0; i < 3; i++) {
        struct ks_corpus c;
        struct ks_buf b = {0};
        load(&s, 1, all[i], &c);
        scored_bytes(all[i], &c.documents[0], &b);
        assert_string_equal(b.bytes, "Blue.\n\nThe sky is.<|im_end|>Red caf\xC3\xA9<|im_end|>");
        ks_buf_finish(&b);
        ks_corpus_finish(&c);
    }
    remove_spec(&s);
}

/* What the mask of the shipped chats should spell, from their JSON. */
static void assistant_scores_nothing_else_in_the_shipped_chats(void **state)
{
    (void)state;
    const char *path = scenario_file("corpora/chat.jsonl");
    struct ks_corpus_spec s = {.kind = KS_CORPUS_CHAT, .n_paths = 1, .assistant_only = true};
    s.paths = (char *[]){(char *)(uintptr_t)path};
    struct ks_corpus c;
    struct ks_source source;
    struct ks_error err;
    load(&s, 1, scope, &c);
    assert_int_equal(ks_source_read(path, path, &source, &err), 0);
    for (size_t i = 0; i < c.n_documents; i++) {
        const char *line;
        size_t len;
        uint32_t number;
        struct ks_record r;
        struct ks_buf want = {0}, got = {0};
        assert_true(ks_source_line(&source, &line, &len, &number));
        assert_int_equal(ks_record_parse(KS_CORPUS_CHAT, line, len, &r, &err), 0);
        for (size_t k = 0; k < r.n_messages; k++) {
            if (strcmp(r.messages[k].role, "assistant") == 0)
                ks_buf_printf(&want, &err, "%s<|im_end|>", r.messages[k].content);
        }
        scored_bytes(scope, &c.documents[i], &got);
        assert_string_equal(got.bytes, want.bytes);
        ks_buf_finish(&want);
        ks_buf_finish(&got);
        ks_record_finish(&r);
    }
    ks_source_finish(&source);
    ks_corpus_finish(&c);
}

static int render(void *ctx, const struct ks_message *messages, size_t n, struct ks_rendered *out,
                  struct ks_error *err)
{
    if (n > 2)
        return ks_fail(err, KS_BAD_INPUT, "render: too many");
    assert_true(asprintf(&out->text, "<s>%s: %s", messages[0].role, (const char *)ctx) > 0);
    out->len = strlen(out->text);
    return 0;
}

/* Tells that the last word counts. */
static int render_parts(void *ctx, const struct ks_message *messages, size_t n,
                        struct ks_rendered *out, struct ks_error *err)
{
    (void)ctx;
    (void)n;
    (void)err;
    assert_true(asprintf(&out->text, "some words, then %s", messages[0].content) > 0);
    out->len = strlen(out->text);
    out->told = true;
    out->spans = calloc(1, sizeof *out->spans);
    out->n_spans = 1;
    out->spans[0] = (struct ks_span){17, out->len};
    return 0;
}

static void a_render_function_writes_the_text_and_may_write_the_bos(void **state)
{
    (void)state;
    static const char bytes[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n";
    struct ks_corpus_spec s = write_spec(KS_CORPUS_CHAT, "a.jsonl", bytes, sizeof bytes - 1);
    s.render = render;
    s.render_ctx = (void *)(uintptr_t) "said";
    struct ks_corpus c;
    load(&s, 1, sentencepiece, &c);
    assert_int_equal(c.documents[0].ids[0], ks_tokenizer_bos(sentencepiece));
    assert_int_not_equal(c.documents[0].ids[1], ks_tokenizer_bos(sentencepiece));
    assert_bytes(sentencepiece, c.documents[0].ids, c.documents[0].n, "<s> user: said", 14);
    ks_corpus_finish(&c);
    s.assistant_only = true;
    s.where = (char *)(uintptr_t) "my.lua:7";
    assert_refused(&s, sentencepiece, "chatml",
                   "a.jsonl:1: ", "needs a render that returns a list of parts");
    remove_spec(&s);
    s = write_spec(KS_CORPUS_CHAT, "a.jsonl", conversation, sizeof conversation - 1);
    s.render = render;
    assert_refused(&s, sentencepiece, NULL, "a.jsonl:1: ", "render: too many");
    remove_spec(&s);
}

static void a_render_function_may_tell_what_counts(void **state)
{
    (void)state;
    struct ks_corpus_spec s =
        write_spec(KS_CORPUS_CHAT, "a.jsonl", conversation, sizeof conversation - 1);
    s.render = render_parts;
    s.assistant_only = true;
    struct ks_corpus c;
    struct ks_buf b = {0};
    load(&s, 1, scope, &c);
    scored_bytes(scope, &c.documents[0], &b);
    assert_string_equal(b.bytes, " Be brief."); /* its first token holds the space too */
    ks_buf_finish(&b);
    ks_corpus_finish(&c);
    remove_spec(&s);
}

static void a_model_without_a_known_template_needs_a_render_function(void **state)
{
    (void)state;
    struct ks_corpus_spec s =
        write_spec(KS_CORPUS_CHAT, "a.jsonl", conversation, sizeof conversation - 1);
    assert_refused(&s, scope, NULL, "corpus some: ", "render = function(messages)");
    remove_spec(&s);
}

static void assistant_without_an_assistant_is_refused(void **state)
{
    (void)state;
    static const char bytes[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n";
    struct ks_corpus_spec s = write_spec(KS_CORPUS_CHAT, "a.jsonl", bytes, sizeof bytes - 1);
    s.assistant_only = true;
    assert_refused(&s, scope, "chatml", "corpus some: ", "no message has that role");
    s.kind = KS_CORPUS_TEXT;
    assert_refused(&s, scope, "chatml", "corpus some: ", "is for chat corpora");
    remove_spec(&s);
}

/* ------------------------------------------------------------------ refusals */

static void broken_lines_are_named(void **state)
{
    (void)state;
    assert_text_refused("a.jsonl", "{\"text\": \"fine one\"}\n{\"text\": \"cut",
                        "a.jsonl:2: ", "not JSON");
    assert_text_refused("a.jsonl", "{\"text\": \"a\xFF\"}\n", "a.jsonl:1: ", "not JSON");
    assert_text_refused("a.jsonl", "{\"text\": \"a\"} {}\n", "a.jsonl:1: ", "not JSON");
    assert_text_refused("a.jsonl", "\n[\"text\"]\n", "a.jsonl:2: ", "is a list");
    assert_text_refused("a.jsonl", "{\"content\": \"a b c\"}\n", "a.jsonl:1: ", "no \"text\"");
    assert_text_refused("a.jsonl", "{\"text\": 5}\n", "a.jsonl:1: ", "\"text\" is a number");
    assert_text_refused("a.jsonl", "{\"text\": \"a\", \"text\": \"b\"}\n",
                        "a.jsonl:1: ", "not JSON");
    assert_chat_refused("a.jsonl", "{\"messages\": []}\n", "a.jsonl:1: ", "empty list");
    assert_chat_refused("a.jsonl", "{\"messages\": {}}\n", "a.jsonl:1: ", "is an object");
    assert_chat_refused("a.jsonl", "{\"messages\": [7]}\n", "a.jsonl:1: ", "message 1 is a number");
    assert_chat_refused("a.jsonl", "{\"messages\": [{\"role\": \"user\"}]}\n",
                        "a.jsonl:1: ", "message 1 has no \"content\"");
    assert_chat_refused("a.jsonl", "{\"messages\": [{\"role\": null, \"content\": \"\"}]}\n",
                        "a.jsonl:1: ", "\"role\" of message 1 is null");
    assert_chat_refused("a.jsonl",
                        "{\"messages\": [{\"role\": \"user\", \"content\": \"a\\u0000\"}]}\n",
                        "a.jsonl:1: ", "NUL");
}

static void text_and_chat_files_are_told_apart(void **state)
{
    (void)state;
    assert_text_refused("a.jsonl", conversation, "a.jsonl:1: ", "use chat(...)");
    assert_chat_refused("a.jsonl", three, "a.jsonl:1: ", "use text(...)");
    assert_chat_refused("a.txt", "hello you", "a.txt: ", "use text(...)");
}

static void other_files_are_refused(void **state)
{
    (void)state;
    assert_text_refused("a.json", "{}", "a.json: ", ".jsonl");
    assert_text_refused("a.parquet", "PAR1", "a.parquet: ", ".jsonl");
    assert_text_refused("txt", "abc def", "txt: ", ".jsonl");
    assert_text_refused("a.jsonl", "", "a.jsonl: ", "holds no documents");
    assert_text_refused("a.jsonl", " \n\n", "a.jsonl: ", "holds no documents");
}

static void what_is_not_a_file_is_refused(void **state)
{
    (void)state;
    struct ks_corpus_spec s = write_spec(KS_CORPUS_TEXT, "gone.txt", "", 0);
    unlink(s.paths[0]);
    assert_refused(&s, scope, NULL, "gone.txt: ", "No such file");
    mkdir(s.paths[0], 0700);
    assert_refused(&s, scope, NULL, "gone.txt: ", "is a directory");
    rmdir(s.paths[0]);
    mkfifo(s.paths[0], 0600);
    assert_refused(&s, scope, NULL, "gone.txt: ", "not a regular file");
    remove_spec(&s);
    s = (struct ks_corpus_spec){.kind = KS_CORPUS_TEXT};
    assert_refused(&s, scope, NULL, "corpus without a name: ", "no files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quickstart_has_256_documents_and_71988_tokens),
        cmocka_unit_test(a_txt_is_one_document_of_its_very_bytes),
        cmocka_unit_test(invalid_utf_8_in_a_txt_reaches_the_tokenizer),
        cmocka_unit_test(a_byte_order_mark_is_not_text),
        cmocka_unit_test(a_jsonl_has_a_document_a_line_and_blank_lines_count),
        cmocka_unit_test(special_tokens_in_text_are_parsed_only_where_asked_for),
        cmocka_unit_test(max_documents_takes_the_first_of_each_file),
        cmocka_unit_test(max_tokens_cuts_the_last_document),
        cmocka_unit_test(short_documents_are_refused_with_their_line_or_counted),
        cmocka_unit_test(loading_stops_when_told_to),
        cmocka_unit_test(chatml_writes_every_turn_and_adds_nothing),
        cmocka_unit_test(assistant_scores_its_content_and_the_end_of_its_turn),
        cmocka_unit_test(assistant_scores_nothing_else_in_the_shipped_chats),
        cmocka_unit_test(a_render_function_writes_the_text_and_may_write_the_bos),
        cmocka_unit_test(a_render_function_may_tell_what_counts),
        cmocka_unit_test(a_model_without_a_known_template_needs_a_render_function),
        cmocka_unit_test(assistant_without_an_assistant_is_refused),
        cmocka_unit_test(broken_lines_are_named),
        cmocka_unit_test(text_and_chat_files_are_told_apart),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(what_is_not_a_file_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

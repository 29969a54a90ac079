/*
 * Chat formats: what the Lua files of scenarios/chats give, against the models' own templates as
 * jinja2 renders them (tests/data/chat), and how a scenario and a plan come to one.
 */
#include "tests/testing.h"

#include <jansson.h>

#include "engine/text/document/chat.h"
#include "tests/engine/model/edit.h"
#include "tests/lua/scripts.h"

static json_t *expected;

static int read_expected(void **state)
{
    (void)state;
    json_error_t why;
    expected = json_load_file(test_data("chat/expected.json"), 0, &why);
    if (!expected)
        fail_msg("%s", why.text);
    return 0;
}

static int drop_expected(void **state)
{
    (void)state;
    json_decref(expected);
    return 0;
}

/* A conversation of the data; valid as long as the data. */
struct messages {
    struct ks_message at[8];
    size_t n;
};

static struct messages conversation(const char *name)
{
    struct messages m = {.n = 0};
    size_t i;
    json_t *turn;
    json_array_foreach(json_object_get(json_object_get(expected, "conversations"), name), i, turn)
    {
        assert_in_range(m.n, 0, 7);
        m.at[m.n++] = (struct ks_message){json_string_value(json_object_get(turn, "role")),
                                          json_string_value(json_object_get(turn, "content"))};
    }
    assert_int_not_equal(m.n, 0);
    return m;
}

static struct ks_plan *plan_with(const struct folder *f, const char *render)
{
    char script[512];
    snprintf(script, sizeof script,
             "return scenario { reference = 'tiny.gguf', arms = { arm 'x' {} },\n"
             "corpus = chat('c.jsonl', { score = 'assistant', render = %s }) }",
             render);
    return load_good(f, script);
}

static void render(const struct ks_plan *p, const struct messages *m, struct ks_rendered *out)
{
    struct ks_error err = {0};
    const struct ks_corpus_spec *c = &p->corpora[0];
    *out = (struct ks_rendered){0};
    if (c->render(c->render_ctx, m->at, m->n, out, &err))
        fail_msg("%s", err.text);
}

static void free_rendered(struct ks_rendered *r)
{
    free(r->text);
    free(r->spans);
}

/* The assistant's parts end in the mark that ends a turn, and hold what was said last of it. */
static void assert_spans(const char *format, const struct messages *m, const struct ks_rendered *r,
                         const char *end)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += strcmp(m->at[i].role, "assistant") == 0;
    assert_true(r->told);
    assert_int_equal(r->n_spans, n);
    for (size_t i = 0; i < n; i++) {
        size_t len = r->spans[i].end - r->spans[i].start, mark = strlen(end);
        const char *last = r->text + r->spans[i].end;
        assert_in_range(r->spans[i].end, r->spans[i].start + 1, r->len);
        bool harmony = strcmp(format, "harmony") == 0 && i + 1 < n;
        end = harmony ? "<|end|>" : strcmp(format, "harmony") == 0 ? "<|return|>" : end;
        mark = strlen(end);
        if (len < mark || strncmp(last - mark, end, mark) != 0)
            fail_msg("%s: part %zu is \"%.*s\"", format, i, (int)len, r->text + r->spans[i].start);
    }
}

static void check_case(const char *format, const struct ks_plan *p, const json_t *c,
                       const char *end)
{
    const char *name = json_string_value(json_object_get(c, "conversation"));
    const char *want = json_string_value(json_object_get(c, "text"));
    struct messages m = conversation(name);
    struct ks_rendered r;
    render(p, &m, &r);
    if (r.len != strlen(want) || strcmp(r.text, want) != 0)
        fail_msg("%s, %s, by %s:\n%s\n%s", format, name,
                 json_string_value(json_object_get(c, "template")), r.text, want);
    if (strcmp(m.at[m.n - 1].role, "assistant") == 0)
        assert_spans(format, &m, &r, end);
    free_rendered(&r);
}

static void formats_write_what_the_models_templates_write(void **state)
{
    size_t checked = 0, i;
    const char *format;
    json_t *entry, *c;
    json_object_foreach(json_object_get(expected, "formats"), format, entry)
    {
        char render[64];
        snprintf(render, sizeof render, "'%s'", format);
        struct ks_plan *p = plan_with(*state, render);
        json_array_foreach(json_object_get(entry, "cases"), i, c)
        {
            check_case(format, p, c, json_string_value(json_object_get(entry, "end")));
            checked++;
        }
        ks_plan_destroy(p);
    }
    print_message("# %zu renderings of %zu formats\n", checked,
                  json_object_size(json_object_get(expected, "formats")));
    assert_true(checked > 100);
}

/* ChatML is written in C too, for an engine without Lua. */
static void the_engines_chatml_is_the_files(void **state)
{
    struct ks_plan *p = plan_with(*state, "'chatml'");
    const char *name;
    json_t *turns;
    json_object_foreach(json_object_get(expected, "conversations"), name, turns)
    {
        struct messages m = conversation(name);
        struct ks_rendered r;
        struct ks_buf text = {0};
        struct ks_span spans[8];
        struct ks_error err;
        size_t told = 0;
        render(p, &m, &r);
        assert_int_equal(ks_chat_render("chatml", m.at, m.n, &text, spans, &err), 0);
        assert_string_equal(text.bytes, r.text);
        for (size_t i = 0; i < m.n; i++)
            if (strcmp(m.at[i].role, "assistant") == 0)
                assert_memory_equal(&spans[i], &r.spans[told++], sizeof *spans);
        assert_int_equal(told, r.n_spans);
        ks_buf_finish(&text);
        free_rendered(&r);
    }
    ks_plan_destroy(p);
}

static void only_what_the_assistant_says_is_told(void **state)
{
    struct ks_plan *p = plan_with(*state, "'qwen3'");
    struct messages m = conversation("thoughts");
    struct ks_rendered r;
    render(p, &m, &r);
    static const char *const said[] = {"42<|im_end|>",
                                       "<think>\nAgain: 42.\n</think>\n\nYes.<|im_end|>"};
    assert_int_equal(r.n_spans, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(r.spans[i].end - r.spans[i].start, strlen(said[i]));
        assert_memory_equal(r.text + r.spans[i].start, said[i], strlen(said[i]));
    }
    free_rendered(&r);
    ks_plan_destroy(p);
}

static void a_format_without_a_place_for_a_message_says_so(void **state)
{
    struct ks_plan *p = plan_with(*state, "'gemma'");
    const struct ks_message messages[] = {{"user", "x"}, {"tool", "y"}};
    struct ks_rendered r = {0};
    struct ks_error err = {0};
    assert_int_equal(p->corpora[0].render(p->corpora[0].render_ctx, messages, 2, &r, &err), -1);
    assert_non_null(strstr(err.text, "gemma.lua:"));
    assert_non_null(strstr(err.text, "no place for message 2, of role tool"));
    assert_null(r.text);
    ks_plan_destroy(p);
}

static void a_file_of_ones_own_is_a_format(void **state)
{
    const struct folder *f = *state;
    static const char own[] = "return function(messages)\n"
                              "  local out = {}\n"
                              "  for i, m in ipairs(messages) do\n"
                              "    out[#out + 1] = m.role .. ': '\n"
                              "    out[#out + 1] = { assistant = m.content }\n"
                              "  end\n"
                              "  return out\n"
                              "end\n";
    folder_put(f, "b.jsonl", own, sizeof own - 1); /* any file will do, but it must be a .lua */
    char from[128], to[128];
    snprintf(from, sizeof from, "%s/b.jsonl", f->path);
    snprintf(to, sizeof to, "%s/mine.lua", f->path);
    assert_int_equal(rename(from, to), 0);
    struct ks_plan *p = plan_with(f, "'mine.lua'");
    struct messages m = conversation("plain");
    struct ks_rendered r;
    render(p, &m, &r);
    assert_string_equal(r.text, "user: Name a colour.assistant: Blue.");
    assert_int_equal(r.n_spans, 2);
    assert_int_equal(r.spans[1].start, 31);
    free_rendered(&r);
    ks_plan_destroy(p);
    unlink(to);
}

static void what_is_no_format_is_refused(void **state)
{
    const struct folder *f = *state;
    static const struct {
        const char *file, *render;
        int line;
        const char *words;
    } rows[] = {
        {NULL, "'lama3'", 2, "no chat format is called \"lama3\"|did you mean `llama3`"},
        {NULL, "'none.lua'", 2, "none.lua: No such file"},
        {"return 5", "'mine.lua'", 2, "mine.lua returned 5|function(messages)"},
        {"return function(", "'mine.lua'", 0, "mine.lua:1: "},
    };
    char path[128];
    snprintf(path, sizeof path, "%s/mine.lua", f->path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char script[256];
        if (rows[i].file)
            folder_put(f, "mine.lua", rows[i].file, strlen(rows[i].file));
        snprintf(script, sizeof script,
                 "return scenario { reference = 'tiny.gguf', arms = { arm 'x' {} },\n"
                 "corpus = chat('c.jsonl', { render = %s }) }",
                 rows[i].render);
        struct ks_error err = {0};
        assert_null(load(f, script, &err));
        char words[128], *rest = words;
        snprintf(words, sizeof words, "%s", rows[i].words);
        for (const char *word = strsep(&rest, "|"); word; word = strsep(&rest, "|"))
            if (!strstr(err.text, word))
                fail_msg("\"%s\" does not say \"%s\"", err.text, word);
        if (rows[i].file)
            unlink(path);
    }
}

static void parts_must_be_texts(void **state)
{
    static const char *const rows[][2] = {
        {"function() return 5 end", "string or a list of parts, found 5"},
        {"function() return { 'a', 5 } end", "part 2 must be a text or { assistant = text }"},
        {"function() return { { user = 'a' } } end", "part 1 must be a text"},
        {"function() return { { assistant = 5 } } end", "part 1 must be a text"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ks_plan *p = plan_with(*state, rows[i][0]);
        const struct ks_message message = {"user", "x"};
        struct ks_rendered r = {0};
        struct ks_error err = {0};
        assert_int_equal(p->corpora[0].render(p->corpora[0].render_ctx, &message, 1, &r, &err), -1);
        if (!strstr(err.text, rows[i][1]))
            fail_msg("%s", err.text);
        ks_plan_destroy(p);
    }
}

/* Marks of a template, and the format that they are of. */
static const char *const templates[][2] = {
    {"<|im_start|>' + role + '<|im_end|>", "chatml"},
    {"<|im_start|>user<|im_sep|>x<|im_end|>", "phi4"},
    {"<|im_start|> '</think>' ns.last_query_index <|im_end|>", "qwen3"},
    {"<|im_start|> '</think>' <function=x> <|vision_start|> last_query_index", "qwen3.5"},
    {"<|im_start|> Today Date: x Reasoning Mode: y <|im_end|>", "smollm3"},
    {"<|im_start|> Reasoning Mode: y <|im_end|>", NULL},
    {"<|im_start|> '</think>' <|im_end|>", NULL},
    {"<|start_header_id|>user<|end_header_id|>x<|eot_id|>", "llama3"},
    {"Cutting Knowledge Date: <|start_header_id|>user<|end_header_id|>x<|eot_id|>", "llama3.1"},
    {"<start_of_turn>x<end_of_turn>", "gemma"},
    {"<|turn>x<turn|>", "gemma4"},
    {"' [INST] ' + x + ' [/INST]'", "mistral-v1"},
    {"[AVAILABLE_TOOLS] '[INST] ' + x + '[/INST]'", "mistral-v3"},
    {"[AVAILABLE_TOOLS] '[INST]' + x + '[/INST]'", "mistral-tekken"},
    {"'[SYSTEM_PROMPT] ' '[INST] '", "mistral-v7"},
    {"'[SYSTEM_PROMPT]' '[INST]'", "mistral-v7-tekken"},
    {"<<SYS>> [INST] x [/INST]", NULL},
    {"<|user|>x<|end|><|assistant|>", "phi3"},
    {"'<|' + message['role'] + '|>' + message['content'] + '<|end|>'", "phi4-mini"},
    {"<|start_of_role|>x<|end_of_role|>", "granite"},
    {"<|start|>x<|channel|>y<|return|>", "harmony"},
    {"{{ x }}", NULL},
};

/* A model with that template, in the folder. */
static void put_model(const struct folder *f, const char *name, const char *template)
{
    const struct edit edits[] = {
        {EDIT_SET_STRING, .name = "tokenizer.chat_template", .text = template}, {EDIT_END}};
    size_t len;
    char *bytes = test_read_file(edited(test_data("lua/tiny.gguf"), edits), &len);
    folder_put(f, name, bytes, len);
    free(bytes);
    edit_finish();
}

static void a_models_chats_are_in_its_own_format(void **state)
{
    const struct folder *f = *state;
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        put_model(f, "tiny.gguf", templates[i][0]);
        struct ks_plan *p =
            load_good(f, "return scenario { reference = 'tiny.gguf', arms = { arm 'x' {} },\n"
                         "corpus = { a = chat 'c.jsonl', b = text 'a.txt' } }");
        const char *family = ks_model_info(p->reference)->chat_family;
        if (!templates[i][1])
            assert_null(family);
        else
            assert_string_equal(family, templates[i][1]);
        bool by_file = family && strcmp(family, "chatml") != 0;
        assert_int_equal(p->corpora[0].render != NULL, by_file);
        assert_null(p->corpora[1].render);
        ks_plan_destroy(p);
    }
}

static void a_plan_without_a_scenario_gets_the_format_too(void **state)
{
    const struct folder *f = *state;
    char path[128];
    put_model(f, "tiny.gguf", "<|start_header_id|>user<|end_header_id|>x<|eot_id|>");
    snprintf(path, sizeof path, "%s/tiny.gguf", f->path);
    struct ks_error err = {0};
    struct ks_plan *p = ks_plan_create(&err);
    p->reference = ks_model_open(path, NULL, NULL, &err);
    if (!p->reference)
        fail_msg("%s", err.text);
    for (int kind = KS_CORPUS_TEXT; kind <= KS_CORPUS_CHAT; kind++)
        ks_plan_add_corpus(p, &err)->kind = (enum ks_corpus_kind)kind;
    assert_int_equal(ks_scenario_format_chats(p, &err), 0);
    assert_null(p->corpora[0].render);
    const struct ks_message message = {"assistant", " Yes. "};
    struct ks_rendered r = {0};
    const struct ks_corpus_spec *c = &p->corpora[1];
    assert_int_equal(c->render(c->render_ctx, &message, 1, &r, &err), 0);
    assert_string_equal(r.text, "<|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|>");
    free_rendered(&r);
    ks_plan_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(formats_write_what_the_models_templates_write,
                                        folder_create, folder_destroy),
        cmocka_unit_test_setup_teardown(the_engines_chatml_is_the_files, folder_create,
                                        folder_destroy),
        cmocka_unit_test_setup_teardown(only_what_the_assistant_says_is_told, folder_create,
                                        folder_destroy),
        cmocka_unit_test_setup_teardown(a_format_without_a_place_for_a_message_says_so,
                                        folder_create, folder_destroy),
        cmocka_unit_test_setup_teardown(a_file_of_ones_own_is_a_format, folder_create,
                                        folder_destroy),
        cmocka_unit_test_setup_teardown(what_is_no_format_is_refused, folder_create,
                                        folder_destroy),
        cmocka_unit_test_setup_teardown(parts_must_be_texts, folder_create, folder_destroy),
        cmocka_unit_test_setup_teardown(a_models_chats_are_in_its_own_format, folder_create,
                                        folder_destroy),
        cmocka_unit_test_setup_teardown(a_plan_without_a_scenario_gets_the_format_too,
                                        folder_create, folder_destroy),
    };
    return cmocka_run_group_tests(tests, read_expected, drop_expected);
}

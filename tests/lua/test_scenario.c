#include "tests/testing.h"

#include "tests/lua/scripts.h"

static const char golden[] =
    "local ref = model 'tiny.gguf'\n"
    "local arms = {\n"
    "  arm 'q8_0' { preset = 'Q8_0' },\n"
    "  arm 'same' {},\n"
    "  arm 'head' { preset = 'q4_k', override = { ['^z'] = 'q8_0', ['^a'] = 'Q6_K' },\n"
    "               tags = { 'one', 'two' } },\n"
    "  arm 'list' { override = { { '^z', 'Q8_0' }, { '^a', 'Q6_K' } } },\n"
    "  arm 'file' { model = 'tiny.gguf' },\n"
    "  arm 'value' { model = ref },\n"
    "}\n"
    "for i = 0, ref.layers - 1 do\n"
    "  arms[#arms + 1] = arm('blk.' .. i) { override = { ['blk\\\\.' .. i .. '\\\\..*'] = 'Q2_K' } "
    "}\n"
    "end\n"
    "return scenario {\n"
    "  name = 'which layers hurt',\n"
    "  reference = ref,\n"
    "  corpus = {\n"
    "    z = text('a.txt', { max_documents = 3, max_tokens = 100, order = 'file', short = 'skip',\n"
    "                        parse_special = true }),\n"
    "    a = chat('c.jsonl', { score = 'assistant' }),\n"
    "    m = text { 'a.txt', './b.jsonl' },\n"
    "  },\n"
    "  window = 64, context_min = 16, top_k = 5, seed = 7, order = 'file', head = 'auto',\n"
    "  scoring = 'window', threads = 3,\n"
    "  arms = arms,\n"
    "}\n";

static void every_field_reaches_the_plan(void **state)
{
    struct ks_plan *p = load_good(*state, golden);
    assert_string_equal(p->name, "which layers hurt");
    assert_string_equal(p->scenario, ((struct folder *)*state)->file);
    assert_string_equal(ks_model_info(p->reference)->name, "Tiny zero");
    assert_int_equal(p->window, 64);
    assert_int_equal(p->context_min, 16);
    assert_int_equal(p->top_k, 5);
    assert_int_equal(p->seed, 7);
    assert_int_equal(p->threads, 3);
    assert_true(p->file_order);
    assert_null(p->hooks.destroy); /* no function in it: the script is gone */
    ks_plan_destroy(p);
}

static void keyed_corpora_come_in_the_order_of_their_names(void **state)
{
    const struct folder *f = *state;
    char path[128], where[128];
    struct ks_plan *p = load_good(f, golden);
    assert_int_equal(p->n_corpora, 3);
    const struct ks_corpus_spec *a = &p->corpora[0], *m = &p->corpora[1], *z = &p->corpora[2];
    assert_string_equal(a->name, "a");
    assert_int_equal(a->kind, KS_CORPUS_CHAT);
    assert_true(a->assistant_only);
    assert_null(a->render);
    assert_string_equal(m->name, "m");
    assert_int_equal(m->n_paths, 2);
    assert_string_equal(m->shown[1], "./b.jsonl");
    snprintf(path, sizeof path, "%s/./b.jsonl", f->path);
    assert_string_equal(m->paths[1], path);
    assert_false(m->skip_short || m->file_order || m->parse_special);
    assert_string_equal(z->name, "z");
    assert_int_equal(z->max_documents, 3);
    assert_int_equal(z->max_tokens, 100);
    assert_true(z->file_order && z->skip_short && z->parse_special);
    snprintf(where, sizeof where, "%s:18", f->file);
    assert_string_equal(z->where, where);
    ks_plan_destroy(p);
}

static void arms_come_in_the_order_of_the_list(void **state)
{
    static const char *const names[] = {"q8_0", "same",  "head",  "list",
                                        "file", "value", "blk.0", "blk.1"};
    struct ks_plan *p = load_good(*state, golden);
    assert_int_equal(p->n_arms, 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(p->arms[i].name, names[i]);
    assert_string_equal(p->arms[0].preset, "Q8_0");
    assert_true(!p->arms[1].preset && !p->arms[1].n_overrides && !p->arms[1].model);
    assert_string_equal(p->arms[2].preset, "Q4_K_M");
    assert_int_equal(p->arms[2].n_tags, 2);
    assert_string_equal(p->arms[2].tags[1], "two");
    assert_ptr_equal(p->arms[4].model, p->reference); /* one file is opened once */
    assert_ptr_equal(p->arms[5].model, p->reference);
    assert_string_equal(p->arms[7].overrides[0].regex, "blk\\.1\\..*");
    assert_string_equal(p->arms[7].overrides[0].type, "Q2_K");
    ks_plan_destroy(p);
}

static void a_list_of_overrides_keeps_its_order_and_keys_are_sorted(void **state)
{
    struct ks_plan *p = load_good(*state, golden);
    const struct ks_arm_spec *keyed = &p->arms[2], *list = &p->arms[3];
    assert_int_equal(keyed->n_overrides, 2);
    assert_false(keyed->overrides_ordered);
    assert_string_equal(keyed->overrides[0].regex, "^a");
    assert_string_equal(keyed->overrides[1].type, "Q8_0");
    assert_int_equal(list->n_overrides, 2);
    assert_true(list->overrides_ordered);
    assert_string_equal(list->overrides[0].regex, "^z");
    ks_plan_destroy(p);
}

static void what_is_left_out_is_left_to_the_engine(void **state)
{
    struct ks_plan *p = load_good(*state, SCENARIO_OF(""));
    assert_string_equal(p->name, "test");
    assert_string_equal(p->corpora[0].name, "a");
    assert_int_equal(p->window, 0);
    assert_int_equal(p->context_min, 0);
    assert_int_equal(p->top_k, 0);
    assert_int_equal(p->seed, 0);
    assert_int_equal(p->threads, 0);
    assert_false(p->file_order);
    ks_plan_destroy(p);
}

static void a_list_of_corpora_is_named_by_its_files(void **state)
{
    struct ks_plan *p =
        load_good(*state, "return scenario { reference = 'tiny.gguf', arms = { arm 'x' {} },\n"
                          "corpus = { chat 'c.jsonl', text 'b.jsonl', text 'a.txt' } }");
    assert_int_equal(p->n_corpora, 3);
    assert_string_equal(p->corpora[0].name, "c");
    assert_string_equal(p->corpora[1].name, "b");
    assert_string_equal(p->corpora[2].name, "a");
    ks_plan_destroy(p);
}

static void the_command_line_replaces_what_the_scenario_says(void **state)
{
    const struct folder *f = *state;
    folder_put(f, "test.lua", golden, sizeof golden - 1);
    struct ks_error err = {0};
    const struct ks_scenario_overrides o = {.window = 32, .max_documents = 9, .threads = 2};
    struct ks_plan *p = ks_scenario_load(f->file, NULL, 0, &o, &err);
    if (!p)
        fail_msg("%s", err.text);
    assert_int_equal(p->window, 32);
    assert_int_equal(p->threads, 2);
    for (size_t i = 0; i < p->n_corpora; i++)
        assert_int_equal(p->corpora[i].max_documents, 9);
    ks_plan_destroy(p);
}

/* Each assertion is the script's own; a false one is a refusal with its line. */
static void a_model_tells_its_shape(void **state)
{
    ks_plan_destroy(load_good(
        *state,
        "local m = model 'tiny.gguf'\n"
        "assert(m.name == 'Tiny zero')\n"
        "assert(m.architecture == 'llama' and m.layers == 2 and m.hidden == 32)\n"
        "assert(m.vocab == 16 and m.context == 128 and m.tied == true)\n"
        "assert(#m.tensors == 20)\n"
        "local t = m.tensors[1]\n"
        "assert(t.name == 'token_embd.weight' and t.type == 'F16')\n"
        "assert(#t.shape == 2 and t.shape[1] == 32 and t.shape[2] == 16 and t.bytes == 1024)\n"
        "assert(m.tensors[21] == nil)\n"
        "local n = 0\n"
        "for _, x in ipairs(m.tensors) do n = n + x.bytes end\n"
        "assert(n == m.bytes)\n"
        "assert(model 'tiny.gguf' == m)\n"
        "local q = model('tiny.gguf', { type = 'q8_0' })\n"
        "assert(q ~= m and q.tensors[1].type == 'Q8_0' and q.bytes < m.bytes)\n"
        "local keys = {}\n"
        "for k in pairs(m) do keys[#keys + 1] = k end\n"
        "assert(table.concat(keys, ' ') ==\n"
        "  'architecture bytes context hidden layers name tensors tied vocab')\n" SCENARIO_OF("")));
}

static void a_chat_renders_through_its_function(void **state)
{
    struct ks_plan *p = load_good(
        *state, "local function render(messages)\n"
                "  local t = {}\n"
                "  for i, m in ipairs(messages) do t[i] = m.role .. '=' .. m.content .. '\\0' end\n"
                "  return table.concat(t, '|')\n"
                "end\n"
                "return scenario { reference = 'tiny.gguf', arms = { arm 'x' {} },\n"
                "corpus = { b = text 'a.txt', a = chat('c.jsonl', { render = render }) } }");
    const struct ks_corpus_spec *c = &p->corpora[0];
    assert_non_null(c->render);
    assert_null(p->corpora[1].render);
    const struct ks_message messages[] = {{"user", "hi"}, {"assistant", "h\xc3\xa9"}};
    struct ks_error err = {0};
    for (int i = 0; i < 100; i++) {
        struct ks_rendered r = {0};
        assert_int_equal(c->render(c->render_ctx, messages, 2, &r, &err), 0);
        assert_int_equal(r.len, 23);
        assert_memory_equal(r.text, "user=hi\0|assistant=h\xc3\xa9\0", 24);
        assert_false(r.told);
        free(r.text);
    }
    ks_plan_destroy(p);
}

static void a_renderer_that_fails_says_where(void **state)
{
    static const char *const bodies[][2] = {
        {"return 5", "render must return a string or a list of parts, found 5"},
        {"error('no ' .. m[1].role)", "test.lua:2: no user"},
        {"while true do end", "ended after"},
        {"return (('a'):rep(200000):find(('.-'):rep(20) .. 'b'))", "did not return within"},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 "local r = function(m)\n%s\nend\n"
                 "return scenario { reference = 'tiny.gguf', arms = { arm 'x' {} },\n"
                 "corpus = chat('c.jsonl', { render = r }) }",
                 bodies[i][0]);
        struct ks_error err = {0};
        struct ks_plan *p = load_within(*state, script, strlen(script),
                                        i < 3 ? &small_limits : &hasty_limits, &err);
        assert_non_null(p);
        const struct ks_message message = {"user", "hi"};
        struct ks_rendered r = {0};
        for (int k = 0; k < 2; k++)
            assert_int_equal(p->corpora[0].render(p->corpora[0].render_ctx, &message, 1, &r, &err),
                             -1);
        assert_int_equal(err.code, KS_BAD_INPUT);
        if (i < 3 && !strstr(err.text, bodies[i][1]))
            fail_msg("%s", err.text);
        assert_non_null(strstr(err.text, "test.lua:"));
        ks_plan_destroy(p);
    }
}

static void the_shipped_quickstart_loads(void **state)
{
    (void)state;
    char path[512];
    const char *root = getenv("KS_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/scenarios/quickstart.lua", root ? root : ".");
    struct ks_error err = {0};
    struct ks_plan *p = ks_scenario_load(path, NULL, 0, NULL, &err);
    if (!p)
        fail_msg("%s", err.text);
    assert_string_equal(p->name, "quickstart");
    assert_true(p->n_arms > 0 && p->n_corpora > 0);
    ks_plan_destroy(p);
}

static void an_importance_matrix_is_read_once_for_all_arms(void **state)
{
    const struct folder *f = *state;
    char path[128];
    size_t len;
    char *bytes = test_read_file(test_data("imatrix/small.dat"), &len);
    folder_put(f, "small.dat", bytes, len);
    free(bytes);
    struct ks_plan *p =
        load_good(f, "return scenario {\n"
                     "  reference = model 'tiny.gguf', corpus = text 'a.txt', arms = {\n"
                     "    arm 'a' { preset = 'IQ2_XS', imatrix = 'small.dat' },\n"
                     "    arm 'b' { preset = 'IQ2_XS' },\n"
                     "    arm 'c' { override = { q = 'Q4_K' }, imatrix = 'small.dat' },\n"
                     "  }\n"
                     "}\n");
    assert_non_null(p->arms[0].imatrix);
    assert_null(p->arms[1].imatrix);
    assert_ptr_equal(p->arms[2].imatrix, p->arms[0].imatrix);
    ks_plan_destroy(p);
    snprintf(path, sizeof path, "%s/small.dat", f->path);
    unlink(path);
}

static void keys_and_values_have_types_of_their_own(void **state)
{
    struct ks_plan *p =
        load_good(*state, "return scenario {\n"
                          "  reference = model 'tiny.gguf', corpus = text 'a.txt', arms = {\n"
                          "    arm 'both' { kv = { v = 'Q4_0', k = 'q8_0' } },\n"
                          "    arm 'keys' { preset = 'F16', kv = { k = 'BF16' } },\n"
                          "    arm 'file' { model = 'tiny.gguf', kv = { v = 'F32' } },\n"
                          "  }\n"
                          "}\n");
    assert_string_equal(p->arms[0].kv_keys, "Q8_0");
    assert_string_equal(p->arms[0].kv_values, "Q4_0");
    assert_string_equal(p->arms[1].kv_keys, "BF16");
    assert_null(p->arms[1].kv_values);
    assert_null(p->arms[2].kv_keys);
    assert_string_equal(p->arms[2].kv_values, "F32");
    ks_plan_destroy(p);
}

static void an_arm_says_what_becomes_of_its_activations(void **state)
{
    struct ks_plan *p =
        load_good(*state, "return scenario {\n"
                          "  reference = model 'tiny.gguf', corpus = text 'a.txt',\n"
                          "  arms = {\n"
                          "    arm 'a' { preset = 'Q8_0', activations = 'q8' },\n"
                          "    arm 'b' { activations = 'f32' },\n"
                          "    arm 'c' {},\n"
                          "  }\n"
                          "}\n");
    assert_int_equal(p->arms[0].activations, KS_ACTIVATIONS_Q8);
    assert_int_equal(p->arms[1].activations, KS_ACTIVATIONS_F32);
    assert_int_equal(p->arms[2].activations, KS_ACTIVATIONS_F32);
    ks_plan_destroy(p);
}

static void a_scenario_says_how_it_is_scored(void **state)
{
    static const char *const words[] = {"", "scoring = 'window'", "scoring = 'llama'",
                                        "scoring = 'llama', order = 'file'"};
    for (int i = 0; i < 4; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "return scenario { reference = model 'tiny.gguf', corpus = text 'a.txt', "
                 "arms = { arm 'a' {} }, %s }",
                 words[i]);
        struct ks_plan *p = load_good(*state, text);
        assert_int_equal(p->scoring, i < 2 ? KS_SCORING_WINDOW : KS_SCORING_LLAMA);
        ks_plan_destroy(p);
    }
}

static void a_byte_order_mark_is_passed_over(void **state)
{
    ks_plan_destroy(load_good(*state, "\xef\xbb\xbf" SCENARIO_OF("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_reaches_the_plan),
        cmocka_unit_test(keyed_corpora_come_in_the_order_of_their_names),
        cmocka_unit_test(arms_come_in_the_order_of_the_list),
        cmocka_unit_test(a_list_of_overrides_keeps_its_order_and_keys_are_sorted),
        cmocka_unit_test(what_is_left_out_is_left_to_the_engine),
        cmocka_unit_test(a_list_of_corpora_is_named_by_its_files),
        cmocka_unit_test(the_command_line_replaces_what_the_scenario_says),
        cmocka_unit_test(a_model_tells_its_shape),
        cmocka_unit_test(a_chat_renders_through_its_function),
        cmocka_unit_test(a_renderer_that_fails_says_where),
        cmocka_unit_test(the_shipped_quickstart_loads),
        cmocka_unit_test(an_importance_matrix_is_read_once_for_all_arms),
        cmocka_unit_test(keys_and_values_have_types_of_their_own),
        cmocka_unit_test(an_arm_says_what_becomes_of_its_activations),
        cmocka_unit_test(a_scenario_says_how_it_is_scored),
        cmocka_unit_test(a_byte_order_mark_is_passed_over),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_destroy);
}

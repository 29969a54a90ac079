#include "tests/testing.h"

#include "tests/lua/scripts.h"

/* In a row: the script, the line it is refused at, words that must be in the message. */
struct refusal {
    const char *script;
    int line;
    const char *words;
    enum ks_code code; /* 0: KS_BAD_INPUT */
};

static void refuse_all(void **state, const struct refusal *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        refuse(*state, rows[i].script, rows[i].line, rows[i].words,
               rows[i].code ? rows[i].code : KS_BAD_INPUT);
}

#define REFUSE_ALL(state, rows) refuse_all(state, rows, sizeof(rows) / sizeof *(rows))

static void a_syntax_error_has_its_line(void **state)
{
    static const struct refusal rows[] = {
        {"local x = 1\nlocal = 2\n", 2, "<name> expected|near '='", 0},
        {"return scenario {\nname = 'x'\n", 3, "'}' expected (to close '{' at line 1) near <eof>",
         0},
        {"x = 'abc\n", 1, "unfinished string", 0},
        {"goto nowhere", 1, "no visible label", 0},
    };
    REFUSE_ALL(state, rows);
}

static void an_unknown_word_is_told_with_the_nearest(void **state)
{
    static const struct refusal rows[] = {
        {"\nlocal m = modle 'tiny.gguf'", 2, "unknown word `modle`, did you mean `model`?", 0},
        {"local function helper() end\nfunction build() end\nbiuld()", 3,
         "unknown word `biuld`, did you mean `build`?", 0},
        {"paramz = 1\nlocal x = param.w", 2, "unknown word `param`, did you mean `params`?", 0},
        {"local x = completely_other", 1, "unknown word `completely_other`", 0},
        {"math.rnd()", 1, "library math|no field `rnd`, did you mean `rad`?", 0},
        {"string.dump(print)", 1, "library string|no field `dump`", 0},
        {"local s = ('x'):rpe(3)", 1, "no field `rpe`, did you mean `rep`?", 0},
    };
    REFUSE_ALL(state, rows);
}

static void what_the_sandbox_leaves_out_is_told_with_the_reason(void **state)
{
    static const struct refusal rows[] = {
        {"io.open('/etc/passwd')", 1, "`io` is not there in scenarios: |no files", 0},
        {"os.time()", 1, "`os` is not there", 0},
        {"require 'x'", 1, "`require` is not there|one file", 0},
        {"load('return 1')", 1, "`load` is not there|strings", 0},
        {"next({})", 1, "`next` is not there|pairs", 0},
        {"coroutine.wrap(print)", 1, "`coroutine` is not there", 0},
        {"setmetatable({}, {})", 1, "`setmetatable` is not there", 0},
        {"debug.sethook()", 1, "`debug` is not there", 0},
        {"_G.x = 1", 1, "`_G` is not there", 0},
        {"math.randomseed(1)", 1, "no field `randomseed`", 0},
    };
    REFUSE_ALL(state, rows);
}

static void a_wrong_key_of_an_arm_is_told_with_the_nearest(void **state)
{
    static const struct refusal rows[] = {
        {"\narm 'x' { overide = {} }", 2,
         "arm \"x\": unknown key `overide`, did you mean `override`?", 0},
        {"arm 'x' { b = 1, preset = 'Q8_0', a = 1 }", 1, "unknown key `a`", 0},
        {"arm 'x' { 'Q8_0' }", 1, "arm \"x\": \"Q8_0\" stands without a key", 0},
        {"arm 'x' 'Q8_0'", 1, "arm \"x\" needs a table, found \"Q8_0\"; write arm", 0},
        {"arm('x', {})", 1, "in braces behind it", 0},
        {"arm 'x' { ['preset\\0'] = 1 }", 1, "unknown key", 0},
    };
    REFUSE_ALL(state, rows);
}

static void an_arms_values_are_checked_where_it_is_made(void **state)
{
    static const struct refusal rows[] = {
        {"arm 'x' { preset = 12 }", 1, "arm \"x\": preset must be a string, found 12", 0},
        {"arm 'x' { preset = {} }", 1, "preset must be a string, found a table", 0},
        {"arm 'x' { preset = '' }", 1, "preset is empty", 0},
        {"arm 'x' { preset = 'Q4_K_N' }", 1, "unknown preset \"Q4_K_N\", did you mean `Q4_K_M`?",
         0},
        {"arm 'x' { preset = 'nonsense' }", 1, "unknown preset \"nonsense\"", 0},
        {"arm 'x' { override = 'Q8_0' }", 1, "override must be a table", 0},
        {"arm 'x' { override = { ['^a'] = 'Q8_1' } }", 1,
         "override \"^a\": unknown type \"Q8_1\", did you mean `Q8_0`?", 0},
        {"arm 'x' { override = { ['^a'] = 8 } }", 1, "\"^a\" must be a type's name, found 8", 0},
        {"arm 'x' { override = { { '^a', 'Q8_0' }, { '^b' } } }", 1, "entry 2 must be a pair", 0},
        {"arm 'x' { override = { '^a', 'Q8_0' } }", 1, "entry 1 must be a pair|found \"^a\"", 0},
        {"arm 'x' { override = { { '^a', 'Q8_0' }, ['^b'] = 'Q8_0' } }", 1,
         "override is a list, but has the key \"^b\"", 0},
        {"arm 'x' { tags = 'a' }", 1, "tags must be a list", 0},
        {"arm 'x' { tags = { 1 } }", 1, "a tag must be a string, found 1", 0},
        {"arm 'x' { model = 5 }", 1, "model must be a model or a path, found 5", 0},
        {"arm 'x' { model = 'none.gguf' }", 1, "none.gguf|No such file", KS_SYSTEM},
        {"arm 'x' { model = 'tiny.gguf', preset = 'Q8_0' }", 1, "not both", 0},
        {"arm 'x' { imatrix = 'a.txt' }", 1, "imatrix) is for quantizing: give a preset", 0},
        {"arm 'x' { preset = 'Q8_0', imatrix = 5 }", 1, "imatrix must be a string, found 5", 0},
        {"arm 'x' { preset = 'Q8_0', imatrix = 'a.txt' }", 1, "a.txt: not an importance matrix", 0},
        {"arm 'x' { preset = 'Q8_0', imatrix = 'none.dat' }", 1, "none.dat|No such", KS_SYSTEM},
        {"arm 'x' { kv = 'Q8_0' }", 1, "kv needs a table, found \"Q8_0\"; write kv = { k =", 0},
        {"arm 'x' { kv = {} }", 1, "kv names neither k nor v; write kv = { k =", 0},
        {"arm 'x' { kv = { key = 'Q8_0' } }", 1, "kv: unknown key `key`", 0},
        {"arm 'x' { kv = { K = 'Q8_0' } }", 1, "unknown key `K`, did you mean `k`?", 0},
        {"arm 'x' { kv = { k = 8 } }", 1, "kv: k must be a string, found 8", 0},
        {"arm 'x' { kv = { v = 'Q9_0' } }", 1, "kv: v: unknown type of keys and values \"Q9_0\"",
         0},
        {"arm 'x' { kv = { v = 'Q9_0' } }", 1, "did you mean `Q8_0`?", 0},
        {"arm 'x' { kv = { k = 'Q4_K' } }", 1, "unknown type of keys and values \"Q4_K\"", 0},
        {"arm 'x' { activations = 'q4' }", 1, "activations must be \"f32\" or \"q8\", found \"q4\"",
         0},
        {"arm ''", 1, "arm: the name is empty", 0},
        {"arm(5)", 1, "arm: the name must be a string, found 5", 0},
        {"arm 'a\\nb'", 1, "can't be printed", 0},
        {"arm 'a\\xff'", 1, "can't be printed", 0},
        {"arm 'a\\0'", 1, "NUL byte", 0},
    };
    REFUSE_ALL(state, rows);
}

static void what_a_later_version_has_is_told_so(void **state)
{
    static const struct refusal rows[] = {
        {"arm 'x' { backend = 'cpu' }", 1, "`backend` is for a later", KS_UNSUPPORTED},
        {"arm 'x' { logits = 'f' }", 1, "`logits` is for a later", KS_UNSUPPORTED},
        {"arm 'x' { noise_floor = true }", 1, "`noise_floor` is for a later", KS_UNSUPPORTED},
        {"arm 'x' { spare = true }", 1, "`spare` is for a later", KS_UNSUPPORTED},
        {SCENARIO_OF("stop = {}"), 1, "`stop` is for a later", KS_UNSUPPORTED},
    };
    REFUSE_ALL(state, rows);
}

static void models_and_corpora_are_checked_where_they_are_named(void **state)
{
    static const struct refusal rows[] = {
        {"\n\nmodel 'none.gguf'", 3, "none.gguf|No such file", KS_SYSTEM},
        {"model 'far.gguf'", 1, "far.gguf: No such file|; scenarios/fetch big brings it",
         KS_SYSTEM},
        {"model 'a.txt'", 1, "GGUF", 0},
        {"model(5)", 1, "model: the path must be a string, found 5", 0},
        {"model('tiny.gguf', { typ = 'F16' })", 1, "unknown key `typ`, did you mean `type`?", 0},
        {"model('tiny.gguf', { type = 'F17' })", 1, "unknown type \"F17\", did you mean `F16`?", 0},
        {"model('tiny.gguf', 'F16')", 1, "needs a table, found \"F16\"", 0},
        {"local m = model 'tiny.gguf'\nlocal x = m.layer", 2,
         "a model has no field `layer`, did you mean `layers`?", 0},
        {"local m = model 'tiny.gguf'\nm.layers = 3", 2, "a model is read-only|\"layers\"", 0},
        {"local m = model 'tiny.gguf'\nm.tensors[1].shape[1] = 3", 2, "a shape is read-only", 0},
        {"local m = model 'tiny.gguf'\nlocal x = m.tensors[1].nmae", 2,
         "a tensor has no field `nmae`, did you mean `name`?", 0},
        {"local m = model 'tiny.gguf'\nm()", 2, "a model can't be called", 0},
        {"\ntext 'none.txt'", 2, "none.txt: No such file", KS_SYSTEM},
        {"text {}", 1, "the list of paths is empty", 0},
        {"text { 'a.txt', 5 }", 1, "text: the path must be a string, found 5", 0},
        {"text('a.txt', { max_document = 5 })", 1,
         "text \"a.txt\": unknown key `max_document`, did you mean `max_documents`?", 0},
        {"text('a.txt', { max_documents = 0 })", 1,
         "max_documents must be a whole number, 1 or more, "
         "found 0",
         0},
        {"text('a.txt', { max_tokens = 2.5 })", 1, "max_tokens must be a whole number|found 2.5",
         0},
        {"text('a.txt', { max_tokens = '9' })", 1, "max_tokens must be a whole number|found \"9\"",
         0},
        {"text('a.txt', { order = 'fiel' })", 1,
         "order must be \"shuffled\" or \"file\", found "
         "\"fiel\"",
         0},
        {"text('a.txt', { short = 1 })", 1, "short must be \"skip\", found 1", 0},
        {"text('a.txt', { parse_special = 1 })", 1, "parse_special must be true or false", 0},
        {"text('a.txt', { render = print })", 1, "unknown key `render`", 0},
        {"chat('c.jsonl', { render = 5 })", 1,
         "render must be a function, the name of a chat format or a .lua file, found 5", 0},
        {"chat('c.jsonl', { render = 'x' })", 1, "no chat format is called \"x\"", 0},
        {"chat('c.jsonl', { score = 'user' })", 1, "score must be \"all\" or \"assistant\"", 0},
    };
    REFUSE_ALL(state, rows);
}

static void a_scenario_is_checked_as_a_whole(void **state)
{
    static const struct refusal rows[] = {
        {"\nreturn scenario 'x'", 2, "scenario needs a table, found \"x\"; write scenario {", 0},
        {"return scenario { corpus = text 'a.txt', arms = { arm 'x' {} } }", 1,
         "reference is missing", 0},
        {"return scenario { reference = 5 }", 1, "reference must be a model or a path, found 5", 0},
        {"return scenario { reference = 'tiny.gguf', arms = { arm 'x' {} } }", 1,
         "corpus is missing", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = {} }", 1, "corpus is empty", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = 'a.txt' }", 1,
         "corpus must be a text or a chat|found \"a.txt\"", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = { t = 'a.txt' } }", 1,
         "t must be a text or a chat", 0},
        {"local t = text 'a.txt'\nreturn scenario { reference = 'tiny.gguf', corpus = { t, t } }",
         2, "twice", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = { text 'a.txt', text 'a.txt' } }", 1,
         "two corpora are called \"a\"", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = text 'a.txt' }", 1,
         "there are no arms", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = arm 'x' {} }", 1,
         "arms must be a list of arms, found an arm", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' } }",
         1, "arms[1] must be an arm, found an arm without its braces", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = text 'a.txt',\n"
         "arms = { arm 'x' {}, arm 'y' {}, arm 'x' {} } }",
         1, "arms[3]|a second arm is called \"x\"|test.lua:2", 0},
        {"local a = arm 'x' {}\nreturn scenario { reference = 'tiny.gguf', corpus = text 'a.txt', "
         "arms = { a, a } }",
         2, "arms[2] stands in the list twice", 0},
        {"return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { x = arm 'x' "
         "{} "
         "} }",
         1, "arms is a list, but has the key \"x\"", 0},
        {SCENARIO_OF("windw = 5"), 1, "scenario: unknown key `windw`, did you mean `window`?", 0},
        {SCENARIO_OF("window = 1"), 1, "window must be a whole number, from 2 to 128, found 1", 0},
        {SCENARIO_OF("window = 129"), 1, "window must be a whole number, from 2 to 128", 0},
        {SCENARIO_OF("window = '64'"), 1, "window must be a whole number|found \"64\"", 0},
        {SCENARIO_OF("window = 64, context_min = 64"), 1, "context_min|from 1 to 63, found 64", 0},
        {SCENARIO_OF("top_k = 33"), 1, "top_k|from 1 to 32, found 33", 0},
        {SCENARIO_OF("threads = 0"), 1, "threads|from 1 to 1024, found 0", 0},
        {SCENARIO_OF("seed = -1"), 1, "seed|0 or more, found -1", 0},
        {SCENARIO_OF("seed = 0/0"), 1, "seed must be a whole number", 0},
        {SCENARIO_OF("order = 5"), 1, "order must be \"shuffled\" or \"file\", found 5", 0},
        {SCENARIO_OF("head = 'gpu'"), 1, "head must be \"auto\" or \"cpu\" or \"vulkan\"", 0},
        {SCENARIO_OF("scoring = 'llama', order = 'shuffled'"), 1, "takes the documents in their",
         0},
        {SCENARIO_OF("scoring = 'x'"), 1, "scoring must be \"window\" or \"llama\"", 0},
        {SCENARIO_OF("name = 5"), 1, "scenario: name must be a string, found 5", 0},
        {SCENARIO_OF("on_window = 5"), 1, "on_window must be a function, found 5", 0},
    };
    REFUSE_ALL(state, rows);
}

static void a_file_that_gives_no_scenario_says_what_to_write(void **state)
{
    static const struct refusal rows[] = {
        {"", 0, "returned nothing|return scenario {", 0},
        {"return 5", 0, "returned 5|return scenario {", 0},
        {"return { arms = {} }", 0, "returned a table|return scenario {", 0},
        {"local s = scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' {} "
         "} }",
         0, "returned nothing; write `return` before `scenario` in line 1", 0},
        {"local t = { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' {} } }\n"
         "scenario(t)\nreturn scenario(t)",
         3, "scenario was called before, in line 2", 0},
    };
    REFUSE_ALL(state, rows);
}

static void an_error_in_a_function_shows_the_way_there(void **state)
{
    static const struct refusal rows[] = {
        {"local function inner(t)\n  return t.x.y\nend\n"
         "local function outer()\n  local v = inner({})\n  return v\nend\n"
         "local z = outer()\n",
         2,
         "attempt to index a nil value (field 'x')|in inner, called from line 5 in outer, called "
         "from line 8)",
         0},
        {"local t = {}\ntable.sort({ 2, 1 }, function(a, b)\n  return t.a.b\nend)", 3,
         "in the function of line 2, called from line 2", 0},
        {"local x = 1 + {}", 1, "attempt to perform arithmetic on a table value", 0},
        {"error('my own', 0)", 1, "my own", 0},
        {"error({})", 1, "raised with a table; give error() a text", 0},
        {"error()", 1, "raised with nil", 0},
        {"error('two\\nlines')", 1, "two lines", 0},
        {"assert(false)", 1, "assertion failed!", 0},
        {"assert(nil, 'because')", 1, "because", 0},
        {"('x'):rep({})", 1, "bad argument #1 to 'rep'|number expected, got table", 0},
    };
    REFUSE_ALL(state, rows);
}

static void a_global_can_be_made_but_no_word_replaced(void **state)
{
    static const struct refusal rows[] = {
        {"\narm = 5", 2, "`arm` is a word of scenarios", 0},
        {"string = 5", 1, "`string` is a word of scenarios", 0},
        {"string.rep = 5", 1, "the library string is read-only", 0},
        {"table.insert(string, 5)", 1, "the library string is read-only", 0},
    };
    REFUSE_ALL(state, rows);
    ks_plan_destroy(load_good(*state,
                              "count = 1\nfunction twice(n) return 2 * n end\n"
                              "count = twice(count)\nassert(count == 2)\n" SCENARIO_OF("")));
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct ks_error err = {0};
    assert_null(ks_scenario_load("/nowhere/x.lua", NULL, 0, NULL, &err));
    assert_int_equal(err.code, KS_SYSTEM);
    assert_string_equal(err.text, "/nowhere/x.lua: No such file or directory");
    assert_null(ks_scenario_load("/tmp", NULL, 0, NULL, &err));
    assert_int_equal(err.code, KS_SYSTEM);
    assert_non_null(strstr(err.text, "/tmp: "));
}

/* Lua itself shortens names of more than 59 characters. */
static void a_long_path_is_shown_whole(void **state)
{
    const struct folder *f = *state;
    char path[600], up[500] = "";
    struct ks_error err = {0};
    for (int i = 0; i < 100; i++)
        strcat(up, "/.");
    snprintf(path, sizeof path, "%s%s/test.lua", f->path, up);
    folder_put(f, "test.lua", "\nmodle()", 8);
    assert_null(ks_scenario_load(path, NULL, 0, NULL, &err));
    strcat(path, ":2: unknown word");
    assert_memory_equal(err.text, path, strlen(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_syntax_error_has_its_line),
        cmocka_unit_test(an_unknown_word_is_told_with_the_nearest),
        cmocka_unit_test(what_the_sandbox_leaves_out_is_told_with_the_reason),
        cmocka_unit_test(a_wrong_key_of_an_arm_is_told_with_the_nearest),
        cmocka_unit_test(an_arms_values_are_checked_where_it_is_made),
        cmocka_unit_test(what_a_later_version_has_is_told_so),
        cmocka_unit_test(models_and_corpora_are_checked_where_they_are_named),
        cmocka_unit_test(a_scenario_is_checked_as_a_whole),
        cmocka_unit_test(a_file_that_gives_no_scenario_says_what_to_write),
        cmocka_unit_test(an_error_in_a_function_shows_the_way_there),
        cmocka_unit_test(a_global_can_be_made_but_no_word_replaced),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(a_long_path_is_shown_whole),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_destroy);
}

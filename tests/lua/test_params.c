#include "tests/testing.h"

#include "tests/lua/scripts.h"

static struct ks_plan *load_given(const struct folder *f, const char *script,
                                  const struct ks_param *given, size_t n, struct ks_error *err)
{
    folder_put(f, "test.lua", script, strlen(script));
    return ks_scenario_load_within(f->file, given, n, NULL, &small_limits, err);
}

static const char declared[] =
    "params = { window = 64, rate = 0.5, quick = false, label = 'none' }\n"
    "local function show(v) return math.type(v) or type(v) end\n"
    "local p = params\n"
    "return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' {} },\n"
    "window = p.window, name = table.concat({ show(p.window), p.window, show(p.rate), p.rate,\n"
    "show(p.quick), tostring(p.quick), show(p.label), p.label }, ' ') }\n";

static void defaults_hold_where_nothing_is_given(void **state)
{
    struct ks_error err = {0};
    struct ks_plan *p = load_given(*state, declared, NULL, 0, &err);
    if (!p)
        fail_msg("%s", err.text);
    assert_string_equal(p->name, "integer 64 float 0.5 boolean false string none");
    assert_int_equal(p->window, 64);
    ks_plan_destroy(p);
}

static void what_is_given_takes_the_defaults_place_and_type(void **state)
{
    static const struct ks_param given[] = {
        {"window", "32"}, {"rate", "2"}, {"quick", "true"}, {"label", "17"}, {"window", "16"}};
    struct ks_error err = {0};
    struct ks_plan *p = load_given(*state, declared, given, 5, &err);
    if (!p)
        fail_msg("%s", err.text);
    assert_string_equal(p->name, "integer 16 float 2.0 boolean true string 17");
    ks_plan_destroy(p);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        struct ks_param given;
        const char *place, *words;
    } rows[] = {
        {{"windw", "5"},
         "test.lua:1: ",
         "-p windw=5: |no parameter `windw`, did you mean `window`?"},
        {{"zzz", "5"}, "test.lua:1: ", "no parameter `zzz`"},
        {{"window", "many"}, "test.lua:1: ", "-p window=many: window is a whole number"},
        {{"window", ""}, "test.lua:1: ", "window is a whole number"},
        {{"window", "1e400x"}, "test.lua:1: ", "window is a whole number"},
        {{"window", "16.5"}, "test.lua:4: ", "window must be a whole number|found 16.5"},
        {{"rate", "true"}, "test.lua:1: ", "rate is a number"},
        {{"quick", "1"}, "test.lua:1: ", "quick is true or false"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ks_error err = {0};
        char copy[256];
        assert_null(load_given(*state, declared, &rows[i].given, 1, &err));
        assert_int_equal(err.code, KS_BAD_INPUT);
        if (!strstr(err.text, rows[i].place))
            fail_msg("not at %s: %s", rows[i].place, err.text);
        snprintf(copy, sizeof copy, "%s", rows[i].words);
        for (char *save, *word = strtok_r(copy, "|", &save); word;
             word = strtok_r(NULL, "|", &save))
            if (!strstr(err.text, word))
                fail_msg("no \"%s\" in %s", word, err.text);
    }
}

static const char late[] =
    "local w = params.window\n"
    "return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' {} },\n"
    "params = { window = 64 }, window = params.window, name = tostring(w) }\n";

static void a_scenario_may_declare_them_in_its_table(void **state)
{
    const struct ks_param given = {"window", "32"}, wrong = {"windw", "32"};
    struct ks_error err = {0};
    struct ks_plan *p = load_given(*state, late, NULL, 0, &err);
    if (!p)
        fail_msg("%s", err.text);
    assert_int_equal(p->window, 64);
    assert_string_equal(p->name, "64");
    ks_plan_destroy(p);
    p = load_given(*state, late, &given, 1, &err);
    assert_non_null(p);
    assert_int_equal(p->window, 32);
    ks_plan_destroy(p);
    assert_null(load_given(*state, late, &wrong, 1, &err));
    assert_non_null(strstr(err.text, "did you mean `window`?"));
}

static void late_params_and_a_seed_hold_together(void **state)
{
    struct ks_plan *p = load_good(
        *state,
        "local w, r = params.window, math.random(1 << 40)\n"
        "return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' "
        "{} },\nparams = { window = 64, seed = 9 }, seed = params.seed, name = tostring(w) .. ' ' "
        ".. r "
        "}\n");
    struct ks_plan *q = load_good(
        *state,
        "params = { window = 64, seed = 9 }\n"
        "local w, r = params.window, math.random(1 << 40)\n"
        "return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' "
        "{} },\nseed = params.seed, params = params, name = tostring(w) .. ' ' .. r }\n");
    assert_int_equal(p->seed, 9);
    assert_string_equal(p->name, q->name);
    ks_plan_destroy(p);
    ks_plan_destroy(q);
}

static void a_parameter_that_is_nowhere_declared_is_refused(void **state)
{
    const struct ks_param given = {"window", "32"};
    struct ks_error err = {0};
    refuse(*state, SCENARIO_OF("window = params.window or 64"), 0,
           "params.window is read in line 1, but no params are declared", KS_BAD_INPUT);
    refuse(*state, "\nfor i = 1, params.layers do end", 2,
           "'for' limit|params.layers (line 2) has no value yet: declare `params = "
           "{ layers = ... }`",
           KS_BAD_INPUT);
    assert_null(load_given(*state, SCENARIO_OF(""), &given, 1, &err));
    assert_non_null(strstr(err.text, "-p window=32: the scenario has no params"));
}

static void a_declaration_is_checked(void **state)
{
    refuse(*state, "params = 5", 1, "params needs a table, found 5", KS_BAD_INPUT);
    refuse(*state, "params = { 5 }", 1, "5 stands without a name", KS_BAD_INPUT);
    refuse(*state, "params = { a = {} }", 1, "params.a: a default is a number", KS_BAD_INPUT);
    refuse(*state, "params = {}\nparams = {}", 2, "params are declared twice", KS_BAD_INPUT);
    refuse(*state, "local x = params.a\nparams = { a = 1 }", 2, "params.a was read in line 1",
           KS_BAD_INPUT);
    refuse(*state, "params = { window = 1 }\nlocal x = params.windw", 2,
           "params has no field `windw`, did you mean `window`?", KS_BAD_INPUT);
    refuse(*state, "params = { a = 1 }\nparams.a = 2", 2, "params is read-only", KS_BAD_INPUT);
    refuse(*state, "params.a = 2", 1, "params is read-only", KS_BAD_INPUT);
    refuse(*state, "params = { a = 1 }\n" SCENARIO_OF("params = { a = 1 }"), 2, "declared twice",
           KS_BAD_INPUT);
}

/* The scenario's folder has the model, the current one has not. */
static void a_path_that_is_given_is_no_path_of_the_scenarios_folder(void **state)
{
    static const char script[] = "params = { model = 'tiny.gguf' }\n"
                                 "return scenario { reference = model(params.model), corpus = text "
                                 "'a.txt', arms = { arm 'x' {} } }\n";
    const struct folder *f = *state;
    char absolute[128];
    snprintf(absolute, sizeof absolute, "%s/tiny.gguf", f->path);
    const struct ks_param here = {"model", "tiny.gguf"}, there = {"model", absolute};
    struct ks_error err = {0};
    ks_plan_destroy(load_good(f, script));
    ks_plan_destroy(load_given(f, script, &there, 1, &err));
    assert_int_equal(err.code, KS_OK);
    assert_null(load_given(f, script, &here, 1, &err));
    assert_non_null(strstr(err.text, "test.lua:2: tiny.gguf: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold_where_nothing_is_given),
        cmocka_unit_test(what_is_given_takes_the_defaults_place_and_type),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_scenario_may_declare_them_in_its_table),
        cmocka_unit_test(late_params_and_a_seed_hold_together),
        cmocka_unit_test(a_parameter_that_is_nowhere_declared_is_refused),
        cmocka_unit_test(a_declaration_is_checked),
        cmocka_unit_test(a_path_that_is_given_is_no_path_of_the_scenarios_folder),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_destroy);
}

/*
 * A scenario is loaded and run over and over while memory gives out one allocation later each time,
 * Lua's or ours: every time it must be an error or a plan, and nothing may be lost (the leak
 * checker watches).
 */
#include "tests/testing.h"

#include "tests/failing_memory.h"
#include "tests/lua/recorder.h"
#include "tests/lua/scripts.h"

static const char script[] =
    "local ref = model 'tiny.gguf'\n"
    "local function render(m) return { m[1].role, { assistant = m[1].content } } end\n"
    "local draw = math.random(100)\n"
    "return scenario {\n"
    "  name = 'all of it', reference = ref, seed = params.seed, params = { seed = 4, s = 'x' },\n"
    "  corpus = { a = text { 'a.txt', 'b.jsonl' }, b = chat('c.jsonl', { render = render }) },\n"
    "  arms = { arm 'x' { preset = 'Q8_0', tags = { 'a', 'b' } },\n"
    "           arm 'y' { override = { ['^a'] = 'Q8_0', ['^b'] = 'Q6_K', ['^c'] = 'Q5_K' } },\n"
    "           arm 'z' { model = ref } },\n"
    "  on_window = function(run)\n"
    "    run:note('kld ' .. run.arms[1].kld_mean.value)\n"
    "    for k in pairs { a = 1, b = 2 } do run:note(k) end\n"
    "    table.sort { 'b', 'a' }\n"
    "    run:drop(run.arms[1])\n"
    "  end,\n"
    "}\n";

static void use(struct ks_plan *plan)
{
    static const struct ks_arm_facts arm = {.name = "x", .bytes = 5};
    static const struct ks_facts facts = {.arms = &arm, .n_arms = 1};
    struct ks_arm_snapshot measured = {.why = ""};
    struct ks_snapshot s = {.facts = &facts, .arms = &measured, .windows = 1};
    const struct ks_message message = {"user", "hi"};
    struct ks_error err;
    struct ks_rendered r = {0};
    recorder_clear();
    plan->hooks.on_window(plan->hooks.ctx, NULL, &s);
    const struct ks_corpus_spec *chat = &plan->corpora[1];
    if (chat->render(chat->render_ctx, &message, 1, &r, &err) == 0) {
        free(r.text);
        free(r.spans);
    }
}

/* Whether it came through. */
static bool load_and_use(const struct folder *f, const struct ks_script_limits *limits)
{
    static const struct ks_param given = {"seed", "7"};
    struct ks_error err = {0};
    struct ks_plan *plan = ks_scenario_load_within(f->file, &given, 1, NULL, limits, &err);
    if (!plan) {
        assert_true(err.code != KS_OK && err.text[0]);
        return false;
    }
    assert_string_equal(plan->name, "all of it");
    assert_int_equal(plan->seed, 7);
    assert_int_equal(plan->n_arms, 3);
    use(plan);
    ks_plan_destroy(plan);
    return strstr(recorded, "note I b\n") && strstr(recorded, "drop 0");
}

static void lua_may_run_out_of_memory_anywhere(void **state)
{
    const struct folder *f = *state;
    folder_put(f, "test.lua", script, sizeof script - 1);
    struct ks_script_limits limits = small_limits;
    size_t failed = 0;
    for (limits.memory_bytes = 1000; !load_and_use(f, &limits); limits.memory_bytes += 211)
        failed++;
    assert_true(failed > 100 && limits.memory_bytes < 1000000);
}

static void any_allocation_of_ours_may_fail(void **state)
{
    const struct folder *f = *state;
    folder_put(f, "test.lua", script, sizeof script - 1);
    size_t failed = 0;
    memory_comes_back = true;
    for (long n = 0;; n++) {
        allocations_left = n;
        bool whole = load_and_use(f, &small_limits);
        bool reached = allocations_left < 0;
        allocations_left = -1;
        failed += !whole;
        if (!reached) {
            assert_true(whole);
            break;
        }
    }
    assert_true(failed > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lua_may_run_out_of_memory_anywhere),
        cmocka_unit_test(any_allocation_of_ours_may_fail),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_destroy);
}
